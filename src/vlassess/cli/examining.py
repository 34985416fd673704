"""``vlassess doctor``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rich.text import Text

from vlassess.catalog import BenchmarkEntry, Catalog
from vlassess.cli.options import DoctorOptions
from vlassess.cli.output import console, print_json, say
from vlassess.diagnosis import Check, examine
from vlassess.diagnosis.rendering import rendering_checks
from vlassess.execution import prepare, ready
from vlassess.schema.problems import nearest
from vlassess_link.errors import PluginError

NOT_READY = 3
STATES = {(True, True): "ok", (True, False): "ok", (False, True): "FAILED", (False, False): "not here"}


def doctor(options: DoctorOptions) -> int:
    """Build what is asked for, try everything, show it; return 3 where something that runs need fails, else 0."""
    entries = [entry for _, entry in sorted(Catalog.discover().benchmarks.items()) if entry.interpreter is not None]
    _build(options.build, entries)
    checks = (*examine(options.output, rendering_checks()), *map(environment_check, entries))
    sound = all(check.ok for check in checks if check.needed)
    if options.json:
        print_json({"ready": sound, "checks": [dataclasses.asdict(check) for check in checks]})
    else:
        show(checks, sound)
    return 0 if sound else NOT_READY


def environment_check(entry: BenchmarkEntry) -> Check:
    """Return whether a benchmark's own environment is built; if not, what building it takes and licenses."""
    assert entry.interpreter is not None
    wanted = entry.interpreter
    try:
        found = ready(wanted, entry.name)
    except PluginError as error:
        return Check(entry.name, False, False, "its environment cannot be had", str(error))
    if found is not None:
        return Check(entry.name, True, False, f"its own environment, Python {found.version}: {found.python}")
    size = f"about {wanted.disk_mb} MB of disk" if wanted.disk_mb else "disk of a size that it does not say"
    licences = f"; licences: {wanted.licence}" if wanted.licence else ""
    mend = f"built by its first run, or now: vlassess doctor --build {entry.name}"
    return Check(entry.name, False, False, f"its own environment is not built; it takes {size}{licences}", mend)


def _build(names: Sequence[str], entries: Sequence[BenchmarkEntry]) -> None:
    known = {entry.name: entry.interpreter for entry in entries}
    for name in names:
        wanted = known.get(name)
        if wanted is None:
            raise PluginError(f"--build {name}: no benchmark of that name has an environment; {nearest(name, known)}")
        prepare(wanted, name, say)


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
