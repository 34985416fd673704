"""What `vlassess.run` returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from vlassess import pipeline
from vlassess.records import RunDirectory
from vlassess.report import write_report
from vlassess.report.rows import attempt_rows, columns_of
from vlassess.report.text import interval, percent, printable
from vlassess.schema.items import WorkItem
from vlassess.schema.manifest import RunManifest
from vlassess.schema.summary import PolicySummary, Summary
from vlassess_link.data import EpisodeRecord

if TYPE_CHECKING:
    import pandas as pd

DTYPES = {bool: "boolean", int: "Int64", float: "Float64", str: "string"}
"""pandas dtypes that know a missing value, so that an undefined success is not False."""


class Run:
    """A run that has ended: its plan, its records, and every number that is made from them.

    Attributes:
        manifest: Everything that was known before the first episode.
        items: What was planned, in order.
        records: Every attempt, in the order in which they ended.
        run_dir: Where it lies on disk, None for a run in memory.
        reason: Why it was given up, None where it was not.
        answers: Item id -> what a policy said to its question without a robot; None: what the run directory has.
    """

    answers: Mapping[str, str] | None = None

    def __init__(
        self,
        manifest: RunManifest,
        items: Sequence[WorkItem],
        records: Iterable[EpisodeRecord],
        run_dir: Path | None = None,
        reason: str | None = None,
    ) -> None:
        self.manifest = manifest
        self.items = tuple(items)
        self.records = tuple(records)
        self.run_dir = run_dir
        self.reason = reason
        self._summary: Summary | None = None

    @classmethod
    def open(cls, run_dir: str | Path) -> Run:
        """Return a run on disk, as ``vlassess run`` made it.

        Raises:
            RunDirectoryError: the folder holds no run.
        """
        found = RunDirectory.open(Path(run_dir))
        return cls(found.manifest, found.items(), found.records().records, found.path)

    @property
    def complete(self) -> bool:
        """Whether every planned episode has a result."""
        return self.summary().counts.complete

    def summary(self) -> Summary:
        """Return rates with their intervals, counts, means and notices, by policy, suite and task."""
        if self._summary is None:
            self._summary = pipeline.summary_of(self.items, self.records, self.manifest, self.run_dir, self.answers)
        return self._summary

    def frame(self, attempts: str = "counted") -> pd.DataFrame:
        """Return one row an episode and policy, in plan order; what is not defined is NA, never 0 or False.

        Columns are those of ``vlassess export``; ``ended_as`` is "success", "failure" (a policy's own error is one),
        "error" or "missing".

        Args:
            attempts: "counted": the one of each episode that rates are made from; "all": every attempt.

        Raises:
            ValueError: `attempts` is something else.
        """
        import pandas as pd

        if attempts not in ("counted", "all"):
            raise ValueError(f'attempts is {attempts!r}; it must be "counted" or "all"')
        rows = [row for row in attempt_rows(self.items, self.records) if attempts == "all" or row["counted"]]
        columns = columns_of(rows)
        return pd.DataFrame(
            {name: pd.array([row.get(name) for row in rows], dtype=DTYPES[kind]) for name, kind in columns.items()}
        )

    def report(self, path: str | Path | None = None) -> Path:
        """Write the HTML report and return its path.

        Args:
            path: The file; None: ``report.html`` in the run directory.

        Raises:
            ValueError: no path is given for a run in memory.
            OSError: the file cannot be written.
        """
        if path is None and self.run_dir is None:
            raise ValueError("this run has no directory: say where the report goes, as run.report('report.html')")
        target = Path(path) if path is not None else Path(self.run_dir or ".", "report.html")
        write_report(target, self.manifest, self.summary(), self.records, self.items)
        return target

    def __repr__(self) -> str:
        lines = [_line(policy) for policy in self.summary().policies]
        return f"<Run {self.manifest.run_id}: {self._state()}\n  " + "\n  ".join(lines) + ">"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        rows = "".join(_row(policy) for policy in self.summary().policies)
        head = "".join(
            f"<th>{name}</th>" for name in ("policy", "success rate", "95 % interval", "n", "failed", "errors")
        )
        notices = "".join(f"<li>{_text(notice.message)}</li>" for notice in self.summary().notices)
        return (
            f"<div><strong>{_text(self.manifest.run_id)}</strong> on {_text(self.summary().benchmark)}: {self._state()}"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"{f'<ul>{notices}</ul>' if notices else ''}</div>"
        )

    def _state(self) -> str:
        counts = self.summary().counts
        parts = [f"{counts.scored} of {counts.planned} episodes have a result"]
        parts += [f"{counts.error} in error"] if counts.error else []
        parts += [f"{counts.missing} missing"] if counts.missing else []
        return ", ".join(parts)


def _line(policy: PolicySummary) -> str:
    rate, counts = policy.overall.rate, policy.overall.counts
    return f"{policy.label}: {percent(rate.value)} ({interval(rate.clopper_pearson)}), {counts.success}/{rate.n}"


def _row(policy: PolicySummary) -> str:
    rate, counts = policy.overall.rate, policy.overall.counts
    bound = " (privileged: upper bound)" if policy.privileged else ""
    cells = (
        policy.label + bound,
        percent(rate.value),
        interval(rate.clopper_pearson),
        rate.n,
        counts.failure,
        counts.error,
    )
    return "<tr>" + "".join(f"<td>{_text(str(cell))}</td>" for cell in cells) + "</tr>"


def _text(text: str) -> str:
    return escape(printable(text))
