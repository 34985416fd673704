"""How large the differences of a cell are, where the first observations were kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from vlassess.schema.summary import CellAudit
from vlassess_link.benchmarks.recording import member_name

Arrays = Mapping[str, np.ndarray]
"""Component, as `ComponentChange` names it -> what was delivered."""


def with_sizes(audit: CellAudit, pairs: Iterable[tuple[Arrays, Arrays]]) -> CellAudit:
    """Return an audit whose components say their largest absolute difference over pairs of kept observations.

    A component whose shape differs has none: the numbers of two shapes have no difference.
    """
    largest: dict[str, float] = {}
    for cell, control in pairs:
        for name in cell.keys() & control.keys():
            gap = _gap(cell[name], control[name])
            if gap is not None:
                largest[name] = max(largest.get(name, 0.0), gap)
    components = tuple(
        one.model_copy(update={"largest": largest[one.name]}) if one.name in largest else one
        for one in audit.components
    )
    strange = [one for one in components if one.changed and not one.touched and one.largest is not None]
    notes = (f"{one.name} differs by up to {one.largest:.3g}" for one in strange)
    return audit.model_copy(update={"components": components, "notes": (*audit.notes, *notes)})


def named_arrays(inputs: Mapping[str, np.ndarray], parts: Sequence[tuple[str, int]], cameras: Iterable[str]) -> Arrays:
    """Return the first observation of an episode's ``inputs.npz`` by component.

    Args:
        inputs: As `vlassess_link.benchmarks.recording.input_arrays` names them.
        parts: Components of the delivered state, and how many numbers each has.
        cameras: Names of the benchmark's cameras.
    """
    names = {f"0_image_{member_name(camera)}": f"camera:{camera}" for camera in cameras}
    found = {names[key]: array for key, array in inputs.items() if key in names}
    state = inputs.get("0_state")
    if state is not None and sum(size for _, size in parts) == len(state):
        begin = 0
        for name, size in parts:
            found[f"state:{name}"] = state[begin : begin + size]
            begin += size
    begin_extra = "0_extra_"
    found.update({f"extra:{key[len(begin_extra) :]}": a for key, a in inputs.items() if key.startswith(begin_extra)})
    return found


def _gap(one: np.ndarray, other: np.ndarray) -> float | None:
    if one.shape != other.shape or not one.size:
        return None
    gap = float(np.nanmax(np.abs(one.astype(np.float64) - other.astype(np.float64))))
    return gap if np.isfinite(gap) else None
