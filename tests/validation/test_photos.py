"""A network that nobody here trained, on photos that nobody here took: which of them may be turned, and how far.

Needs PyTorch, EfficientNet-Lite0 and scikit-image: ``make test-validation``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vlassess.campaign import CampaignConfig
from vlassess.campaign.events import SilentWatcher
from vlassess.catalog import Catalog
from vlassess.pipeline.validating import Validated, start_campaign
from vlassess.pipeline.validation_store import CampaignDirectory
from vlassess.robustness.perturbations import family, sources
from vlassess_link.data import Observation
from vlassess_link.loading import load_target
from vlassess_link.policies.model import PredictModelServer, SessionContext

data = pytest.importorskip("skimage.data", reason="needs PyTorch and photos: run `make test-validation`")
pytestmark = pytest.mark.timeout(1200)
PHOTOS = ("coffee", "astronaut", "chelsea")
CLASSIFIER = Path(__file__).with_name("classifier.py")
RADII = (1.0, 4.0, 10.0, 20.0, 45.0, 90.0)


def photo(name: str) -> np.ndarray:
    """Return the middle of a photo, seven eighths of its shorter side, as the network was trained to be shown it."""
    whole = Image.fromarray(getattr(data, name)())
    side = round(0.875 * min(whole.size))
    left, top = (whole.width - side) // 2, (whole.height - side) // 2
    return np.asarray(whole.crop((left, top, left + side, top + side)).resize((224, 224), Image.Resampling.BICUBIC))


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Validated:
    folder = tmp_path_factory.mktemp("photos")
    for name in PHOTOS:
        Image.fromarray(photo(name)).save(folder / f"{name}.png")
    values: dict[str, Any] = {
        "policies": {"lite0": {"local": f"{CLASSIFIER}:Lite0"}},
        "observations": {"images": str(folder)},
        "families": [{"family": "rotation", "radii": list(RADII)}],
        "specification": {"kind": "answers"},
        "solver": {"budget": 600, "cover": 0.01},
        "draws": 30,
        "output": str(folder / "campaigns"),
    }
    return start_campaign(CampaignConfig.model_validate(values), Catalog({}, {}), SilentWatcher())


def radius(campaign: Validated, name: str) -> tuple[float, float]:
    (kind,) = campaign.summary.policies[0].families
    found = next(one for one in kind.brackets if one.source == f"{name}.png")
    return found.robust_to or 0.0, found.adversarial_from or np.inf


def test_coffee_may_be_turned_far_and_the_others_may_not(campaign: Validated) -> None:
    assert campaign.exit_code == 0
    radii = {name: radius(campaign, name) for name in PHOTOS}
    assert radii["coffee"][0] >= 45.0
    for name in ("astronaut", "chelsea"):
        assert radii[name][1] <= 10.0
        assert radii[name][0] < radii["coffee"][0]


def test_brute_force_contradicts_no_certificate(campaign: Validated) -> None:
    model: Any = load_target(f"{CLASSIFIER}:Lite0", PredictModelServer, {})
    model.load()
    rotation = family("rotation")
    directory = CampaignDirectory.open(campaign.folder)
    for named in directory.observations():
        reach = radius(campaign, named.source.removesuffix(".png"))[0]
        if not reach:
            continue
        clean = int(np.argmax(directory.manifest.policies["lite0"].clean[named.id]))
        thetas = np.linspace(-np.radians(reach), np.radians(reach), 512)[:, None]
        views = sources(named.observation.images)
        for part in np.array_split(thetas, 16):
            (pictures,) = rotation.perturbed(views, part)
            seen = [Observation({"image": picture}, "") for picture in pictures]
            answers = model.predict_batch(seen, [SessionContext("test")] * len(seen))
            assert all(int(np.argmax(answer.extras["logits"])) == clean for answer in answers)
