"""What the help of several commands says alike."""

from __future__ import annotations

EXIT_CODES = (
    "Exit codes: 0 complete; 2 usage or config; 3 incomplete, errors left, or nothing but policy errors; "
    "4 a gate failed; 5 a cell is invalid, its factor was not delivered alone; 130 interrupted."
)


def examples(*lines: str, note: str = "") -> str:
    """Return an epilog that shows each line as an example."""
    shown = [f"  {line}".replace("[", r"\[") for line in lines]
    return "\n\n".join(["[bold]Examples[/bold]", *shown, *([note] if note else [])])
