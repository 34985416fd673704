"""One function a tracker, behind one type; their libraries are imported when they are used."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vlassess.schema.config import TrackerConfig
from vlassess.tracking.entry import Entry
from vlassess_link.errors import ContractError, VlassessError

Tracker = Callable[[Entry, TrackerConfig], None]
"""Tells one tracker one result; raises whatever its library raises."""

MODULES = {"wandb": "wandb", "mlflow": "mlflow", "tensorboard": "tensorboardX"}
"""Kind -> the module that its extra brings."""


class TrackerUnavailableError(VlassessError):
    """A tracker is named whose library is not installed."""


def require(trackers: Sequence[TrackerConfig]) -> None:
    """Refuse a tracker that could not be told anything, before the run.

    Raises:
        TrackerUnavailableError: names the library and the line that installs it.
    """
    for tracker in trackers:
        if importlib.util.find_spec(MODULES[tracker.kind]) is None:
            raise TrackerUnavailableError(
                f"tracking names {tracker.kind}, and {MODULES[tracker.kind]} is not installed: "
                f"pip install 'vlassess[{tracker.kind}]', or leave it out"
            )


def track(entry: Entry, trackers: Sequence[TrackerConfig], known: Mapping[str, Tracker] | None = None) -> list[str]:
    """Tell every tracker; return one sentence for each that failed. A result never fails by its tracker.

    Args:
        entry: What they are told.
        trackers: Who is told.
        known: Kind -> how it is told; None: `TRACKERS`.
    """
    problems = []
    for tracker in trackers:
        try:
            (known or TRACKERS)[tracker.kind](entry, tracker)
        except Exception as error:
            problems.append(
                f"{tracker.kind} was not told the result ({type(error).__name__}: {error}); the run is whole"
            )
    return problems


def to_wandb(entry: Entry, config: TrackerConfig) -> None:
    """Log into the W&B run of this process, if it has one, else into one of its own."""
    import wandb

    own = wandb.run is None
    settings = wandb.Settings(silent=True, console="off")
    run = wandb.run or wandb.init(
        project=config.project,
        name=entry.run_id,
        dir=config.where,
        config={"vlassess": dict(entry.config)},
        mode="offline" if config.offline else None,
        settings=settings,
    )
    run.log(dict(entry.numbers), step=config.step)
    run.summary.update({f"vlassess/{name}": text for name, text in entry.texts.items()})
    if own:
        run.finish()


def to_mlflow(entry: Entry, config: TrackerConfig) -> None:
    """Log one finished run of an experiment; the process's own active run is left alone."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param, RunTag

    client = MlflowClient(tracking_uri=config.where)
    experiment = client.get_experiment_by_name(config.project)
    experiment_id = experiment.experiment_id if experiment else client.create_experiment(config.project)
    run = client.create_run(experiment_id, run_name=entry.run_id)
    step, now = config.step or 0, run.info.start_time
    metrics = [Metric(name, value, now, step) for name, value in entry.numbers.items()]
    tags = [RunTag(f"vlassess.{name}", text) for name, text in entry.texts.items()]
    params = [Param(name, str(entry.config[name])[:500]) for name in ("benchmark", "episodes", "repeats", "seed")]
    for begin in range(0, len(metrics), 1000):  # the most that one call takes
        client.log_batch(run.info.run_id, metrics=metrics[begin : begin + 1000])
    client.log_batch(run.info.run_id, params=params, tags=tags)
    client.set_terminated(run.info.run_id)


def to_tensorboard(entry: Entry, config: TrackerConfig) -> None:
    """Write one event file.

    Raises:
        ContractError: neither a folder nor a run directory is there to hold it.
    """
    from tensorboardX import SummaryWriter

    if config.where is None and entry.run_dir is None:
        raise ContractError("tracking.where is missing: a run in memory has no folder for TensorBoard's file")
    folder = Path(config.where, entry.run_id) if config.where is not None else Path(entry.run_dir or "", "tensorboard")
    with SummaryWriter(str(folder)) as writer:
        for name, value in entry.numbers.items():
            writer.add_scalar(name, value, config.step or 0)
        for name, text in entry.texts.items():
            writer.add_text(f"vlassess/{name}", text, config.step or 0)


TRACKERS: Mapping[str, Tracker] = {"wandb": to_wandb, "mlflow": to_mlflow, "tensorboard": to_tensorboard}
"""Kind -> how it is told."""
