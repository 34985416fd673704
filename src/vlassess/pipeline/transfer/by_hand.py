"""A study's trials by hand: the operator's sheet, the file that comes back, and the opening of the codes."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vlassess.catalog import Catalog
from vlassess.pipeline.states import Asked, starts_of_config
from vlassess.pipeline.transfer.store import Study, now, open_study, tell
from vlassess.records import RunDirectoryError
from vlassess.records.lines import write_atomically
from vlassess.report.start_sheet import joined, png
from vlassess.report.transfer_sheet import SheetTrial, render_sheet
from vlassess.schema.config import RunConfig
from vlassess.schema.events import Listener
from vlassess.transfer import Deviation, HandRecord, HandTrial, deviations, read_trials, sheet_csv

MOST_BYTES = 32 * 2**20
"""Of a file of trials."""
PICTURES = (".png", ".jpg", ".jpeg")


@dataclass(frozen=True)
class Imported:
    """What came of entering a file.

    Attributes:
        new: Results that were entered.
        known: Results that had been entered before, exactly so.
        planned: Trials of the plan.
        done: Trials of the plan that have a result now.
        deviations: Every way in which what was done is not what was locked, over all files.
    """

    new: int
    known: int
    planned: int
    done: int
    deviations: tuple[Deviation, ...]


def import_trials(study: Study, file: Path) -> Imported:
    """Enter a file of trials and compare everything that has been entered with the plan; nothing is dropped.

    A file that grew since it was entered last is entered as a whole: what is known already is not entered twice.

    Raises:
        TrialsError: the file has mistakes; nothing is entered then.
        RunDirectoryError: the study plans no trials by hand, or the file cannot be read.
    """
    real = study.config.real
    if real is None:
        raise RunDirectoryError(f"{study.path} plans no trials by hand; give it a `real` section by an amendment")
    data = _read(file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RunDirectoryError(f"{file} is not UTF-8 text ({error.reason}); save it as CSV in UTF-8") from None
    found = read_trials(text, real.stages, hashlib.sha256(data).hexdigest(), now())
    with study.directory.lock():
        study = open_study(study.path)  # it may have been amended until now
        before = [record.content for record in study.directory.read()[0]]
        new = [record for record in found if record.content not in before]
        with closing(study.directory.log()) as log:
            log.append(new)
        tell(study, "import", f"{file.name}: {len(new)} new results of {len(found)}")
    done = study.done_by_hand()
    return Imported(
        new=len(new),
        known=len(found) - len(new),
        planned=done.planned,
        done=done.done,
        deviations=deviations_of(study, study.directory.read()[0]),
    )


def deviations_of(study: Study, records: Sequence[HandRecord]) -> tuple[Deviation, ...]:
    """Return every way in which the trials by hand are not what was locked."""
    return deviations(study.by_hand, records, tuple(study.config.policies), study.opened)


def write_hand_sheet(study: Study, folder: Path, catalog: Catalog, listener: Listener) -> list[Path]:
    """Write the operator's sheet, ``sheet.csv`` and ``sheet.html``, and return both.

    Reference pictures are those of the study's folder of pictures; where it names none, the benchmark draws the start.

    Raises:
        VlassessError: the study plans no trials by hand, or the benchmark cannot draw its starts.
    """
    trials = study.by_hand
    if not trials:
        raise RunDirectoryError(f"{study.path} plans no trials by hand; give it a `real` section by an amendment")
    pictures = _pictures(study, trials, catalog, listener)
    shown = [
        SheetTrial(trial.item_id, trial.block, trial.policy, trial.cell, trial.start, pictures.get(trial.start))
        for trial in trials
    ]
    assert study.config.real is not None
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "sheet.csv", folder / "sheet.html"]
    write_atomically(files[0], sheet_csv(trials).encode())
    page = render_sheet(study.config.name, study.lock, study.config.real.stages, shown)
    write_atomically(files[1], page.encode())
    tell(study, "sheet", str(folder))
    return files


def unblind(study: Study) -> Study:
    """Open the codes, write down when that was, and return the study; a second time changes nothing."""
    if study.opened is not None:
        return study
    done = study.done_by_hand()
    return tell(study, "unblind", f"{done.done} of {done.planned} trials by hand had a result")


def _read(file: Path) -> bytes:
    if not file.is_file():
        raise RunDirectoryError(f"there is no file {file}; give the filled-in sheet as CSV")
    if file.stat().st_size > MOST_BYTES:
        raise RunDirectoryError(f"{file} has more than {MOST_BYTES >> 20} MiB; a sheet of trials is smaller")
    return file.read_bytes()


def _pictures(study: Study, trials: Sequence[HandTrial], catalog: Catalog, listener: Listener) -> dict[str, bytes]:
    """Return the picture of each start that has one, PNG or JPEG."""
    real = study.config.real
    names = list(dict.fromkeys(trial.start for trial in trials))
    if real is not None and real.pictures is not None:
        files = {name: [real.pictures / f"{name}{suffix}" for suffix in PICTURES] for name in names}
        chosen = {name: next((file for file in several if file.is_file()), None) for name, several in files.items()}
        absent = [name for name, path in chosen.items() if path is None]
        if absent:
            listener.note(f"{len(absent)} starts have no picture in {real.pictures} ({', '.join(absent[:5])})")
        return {name: path.read_bytes() for name, path in chosen.items() if path is not None}
    return {} if study.config.benchmark is None else _drawn(study, names, catalog, listener)


def _drawn(study: Study, names: Sequence[str], catalog: Catalog, listener: Listener) -> dict[str, bytes]:
    """Return the starts that the benchmark draws, without anything varied, as PNG."""
    part = study.design.parts[0]
    with tempfile.TemporaryDirectory(prefix="vlassess-transfer-") as folder:
        config: RunConfig = part.config.model_copy(update={"cells": (), "output": Path(folder)})
        sheet = starts_of_config(config, Asked(config.episodes), catalog, listener)
    drawn = {
        f"{start.episode.suite}-{start.episode.task}-{start.episode.index + 1}": start.pictures
        for start in sheet.starts
    }
    return {name: png(joined(drawn[name])) for name in names if drawn.get(name)}
