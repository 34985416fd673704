"""A region's certificate on paper: what was asked of whom about what, every query, and what followed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from vlassess.campaign.items import RegionItem
from vlassess.robustness import Certificate
from vlassess.robustness.certificates import digest_of
from vlassess_link.digest import content_hash
from vlassess_link.errors import VlassessError

FOLDER = "certificates"


class PaperError(VlassessError):
    """A file is no certificate of a campaign."""


@dataclass(frozen=True)
class Paper:
    """A certificate with all that is needed to ask again, but for the policy and the observation's pictures.

    Attributes:
        campaign: The campaign's name.
        item: The region.
        views: Cameras that were perturbed, in the order of their parameters.
        quantised: Pictures were rounded to whole grey levels.
        identity: Digest of the policy's identity.
        tolerances: By component.
        clean: The policy's clean answer.
        noise_seed: Seed of the policy's noise.
        run: Every query and the verdict.
        digest: SHA-256 of all of this as canonical JSON.
    """

    campaign: str
    item: RegionItem
    views: tuple[str, ...]
    quantised: bool
    identity: str
    tolerances: dict[str, float]
    clean: tuple[float, ...]
    noise_seed: int
    run: Certificate
    digest: str = ""

    def signed(self) -> Paper:
        """Return it with its digest."""
        return dataclasses.replace(self, digest=paper_digest(self))

    def write(self, folder: Path) -> None:
        """Write it to ``certificates/ITEM.json``, whole or not at all."""
        path = folder / FOLDER / f"{self.item.item_id}.json"
        path.parent.mkdir(exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        partial.write_bytes(_FORM.dump_json(self))
        partial.replace(path)


def paper_digest(paper: Paper) -> str:
    """Return the digest that a paper should have."""
    told = _FORM.dump_python(paper, mode="json")
    del told["digest"]
    return content_hash(told)


def read_paper(path: Path) -> Paper:
    """Return a certificate from its file; whether it holds is for others to say.

    Raises:
        PaperError: it cannot be read, or is none; names the first field that is wrong.
    """
    try:
        return _FORM.validate_json(path.read_bytes())
    except OSError as error:
        raise PaperError(f"{path} cannot be read ({error.strerror}); name a file in a campaign's {FOLDER}/") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise PaperError(f"{path} is no certificate of a campaign: {where}: {first['msg']}") from None


def form_problems(paper: Paper) -> tuple[str, ...]:
    """Return what an alteration has left behind, before anybody is asked."""
    if paper.digest != paper_digest(paper):
        return ("the digest does not fit what the certificate says: something was altered",)
    if paper.run.digest != digest_of(paper.run):
        return ("the digest of the queries does not fit: something was altered",)
    return ()


_FORM: TypeAdapter[Paper] = TypeAdapter(Paper)
