"""The radii that the published validation of VLMs and VLAs used (Aron et al. 2026), by kind of model and family.

Brightness as a share of the range, rotation in degrees; a composition pairs its parts' radii by index.
"""

from __future__ import annotations

from collections.abc import Mapping

_VLM_BRIGHTNESS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
_VLM_ROTATION = (1.0, 2.0, 4.0, 10.0, 15.0, 30.0, 45.0, 60.0, 75.0, 90.0)
_VLA_BRIGHTNESS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)
_VLA_ROTATION = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 10.0, 15.0, 20.0)

Radii = tuple[tuple[float, ...], ...]


def _single(radii: tuple[float, ...]) -> Radii:
    return tuple((radius,) for radius in radii)


GRIDS: Mapping[str, Mapping[str, Radii]] = {
    "vlm": {
        "brightness": _single(_VLM_BRIGHTNESS),
        "rotation": _single(_VLM_ROTATION),
        "brightness+rotation": tuple(zip(_VLM_BRIGHTNESS, _VLM_ROTATION, strict=True)),
    },
    "vla": {
        "brightness": _single(_VLA_BRIGHTNESS),
        "dual-rotation": _single(_VLA_ROTATION),
        "brightness+dual-rotation": tuple(zip(_VLA_BRIGHTNESS, _VLA_ROTATION, strict=True)),
    },
}
"""Preset -> family -> radii."""
