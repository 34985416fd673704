"""``vlassess doctor``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rich.text import Text

from vlassess.cli.options import DoctorOptions
from vlassess.cli.output import console, print_json
from vlassess.diagnosis import Check, examine
from vlassess.diagnosis.rendering import rendering_checks

NOT_READY = 3
STATES = {(True, True): "ok", (True, False): "ok", (False, True): "FAILED", (False, False): "not here"}


def doctor(options: DoctorOptions) -> int:
    """Try everything, show it, and return 3 where something that runs need does not work, else 0."""
    checks = examine(options.output, rendering_checks())
    ready = all(check.ok for check in checks if check.needed)
    if options.json:
        print_json({"ready": ready, "checks": [dataclasses.asdict(check) for check in checks]})
    else:
        show(checks, ready)
    return 0 if ready else NOT_READY


def show(checks: Sequence[Check], ready: bool) -> None:
    """Print a line a check, and its mend below it where it fails."""
    out = console()
    width = max(len(check.name) for check in checks)
    for check in checks:
        state = STATES[check.ok, check.needed]
        out.print(Text(f"{state:<8}  {check.name:<{width}}  {check.found}"), soft_wrap=True)
        if check.mend:
            out.print(Text(f"{'':<8}  {'':<{width}}  mend: {check.mend}"), soft_wrap=True)
    out.print("This machine is ready for runs." if ready else "This machine is not ready: mend what FAILED.")
