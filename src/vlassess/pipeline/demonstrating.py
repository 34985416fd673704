"""From a run to demonstrations: which of its episodes have a whole recording, and which are left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from vlassess.artifacts.reading import Recording
from vlassess.records import RunDirectory
from vlassess.schema.attempts import Entry, entries
from vlassess.schema.collecting import Keep
from vlassess.schema.demonstrations import DatasetAbout, Demonstration
from vlassess_link.errors import ContractError, VlassessError
from vlassess_link.jsonable import from_json
from vlassess_link.spaces import Component, Layout
from vlassess_link.specs import BenchmarkSpec

FAILED, NO_OUTCOME, NOT_RUN = "without success", "that ended with an error", "that were not run"
NO_STEPS, CUT_SHORT = "without recorded steps", "whose recording is not whole"
UNSEEN = "that were looked at only now and then"
HOW = (
    "record with `--set artifacts.steps=true --set artifacts.cameras=true`, or collect demonstrations with "
    "`vlassess collect`"
)


class NothingRecordedError(VlassessError):
    """A run has nothing that a data set could be made of."""


@dataclass(frozen=True)
class Choice:
    """Which of a run's episodes, and what of them.

    Attributes:
        keep: Successes alone, or all that have an outcome.
        policies: Labels; empty: all.
        pictures: Take the cameras too.
    """

    keep: Keep = "successes"
    policies: tuple[str, ...] = ()
    pictures: bool = True


@dataclass
class Sifted:
    """A run's demonstrations, and how many of its episodes are left out.

    Attributes:
        run: The run.
        choice: Which were asked for.
        entries: The chosen policies' episodes, in plan order.
        left_out: Why -> how many; complete once all demonstrations were taken.
    """

    run: RunDirectory
    choice: Choice
    entries: Sequence[Entry]
    left_out: Counter[str] = field(default_factory=Counter)

    def demonstrations(self) -> Iterator[Demonstration]:
        """Yield what is whole and wanted, in plan order; the rest is counted."""
        for entry in self.entries:
            found = self._demonstration(entry)
            if isinstance(found, str):
                self.left_out[found] += 1
            else:
                yield found

    def _demonstration(self, entry: Entry) -> Demonstration | str:
        record = entry.record
        if record is None or record.outcome is None:
            return NOT_RUN if record is None else NO_OUTCOME
        if self.choice.keep == "successes" and not record.outcome.success:
            return FAILED
        recording = Recording.open(self.run.path / "artifacts" / entry.item.item_id)
        steps = {} if recording is None else recording.steps()
        if recording is None or not steps:
            return NO_STEPS
        cameras = recording.cameras if self.choice.pictures else ()
        whole = len(steps["action"]) == record.steps and recording.attempts() <= {record.attempt}
        if not whole or any(camera.count != record.steps + 1 for camera in cameras):
            return CUT_SHORT
        state = steps["state"] if steps["state"].shape[1] else None
        if not steps["observed"].all() or (state is not None and np.isnan(state).any()):
            return UNSEEN
        meant = steps.get("meant")
        label, executed = (steps["action"], None) if meant is None else (meant, steps["action"])
        outcomes = (steps["progress"], steps["success"])
        return Demonstration(entry.item, record, label, executed, state, *outcomes, cameras)


def sift(run: RunDirectory, choice: Choice) -> Sifted:
    """Return a run's demonstrations, to be taken.

    Raises:
        ContractError: the run has no such policy.
    """
    labels = dict.fromkeys(item.policy for item in run.items())
    for label in choice.policies:
        if label not in labels:
            raise ContractError(f"the run has no policy {label!r}; it has {', '.join(labels)}")
    found = entries(run.items(), run.records().records)
    wanted = [entry for entry in found if not choice.policies or entry.item.policy in choice.policies]
    return Sifted(run, choice, wanted)


def nothing_to_write(sifted: Sifted) -> NothingRecordedError:
    """Return why no episode could be taken, as one sentence that says how to record."""
    total = len(sifted.entries)
    why = ", ".join(f"{count} {reason}" for reason, count in sifted.left_out.most_common())
    mends = {
        NO_STEPS: HOW,
        UNSEEN: f"its policy answers several actions at once: {HOW}",
        CUT_SHORT: HOW,
        FAILED: "keep failures too with --keep all",
        NOT_RUN: f"finish it with `vlassess run --resume {sifted.run.path}`",
        NO_OUTCOME: "see report.html for the errors",
    }
    first = sifted.left_out.most_common(1)[0][0] if sifted.left_out else NOT_RUN
    return NothingRecordedError(f"{sifted.run.path}: none of {total} episodes can be exported ({why}); {mends[first]}")


def about(run: RunDirectory) -> DatasetAbout:
    """Return what all demonstrations of a run have in common."""
    manifest = run.manifest
    spec = from_json(BenchmarkSpec, manifest.benchmark_spec)
    origin = {
        "run_id": manifest.run_id,
        "created": manifest.created,
        "benchmark": spec.ref,
        "config": manifest.config.model_dump(mode="json"),
        "policy_specs": manifest.policy_specs,
        "versions": manifest.versions,
        "git": manifest.git,
    }
    state = () if spec.state is None else number_names(spec.state)
    return DatasetAbout(spec.name, spec.control_rate_hz, number_names(spec.action), state, origin)


def number_names(layout: Layout) -> tuple[str, ...]:
    """Return a name for each number of a layout."""
    return tuple(name for component in layout.components for name in _names(component))


def _names(component: Component) -> Sequence[str]:
    if component.size == 1:
        return (component.name,)
    if component.size == 3 and component.kind in ("position", "rotation"):
        return [f"{component.name}_{axis}" for axis in "xyz"]
    return [f"{component.name}_{number}" for number in range(component.size)]
