"""What a run is asked to do: frozen, strict models; an unknown key is an error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from vlassess.schema.grounding import GroundingConfig
from vlassess.schema.strict import Count as Count
from vlassess.schema.strict import Number as Number
from vlassess.schema.strict import Strict as Strict

Name = Annotated[str, Field(max_length=100), AfterValidator(lambda text: _file_name(text))]
"""A text that can be part of a file's name."""

Urls = Annotated[str | tuple[str, ...] | None, BeforeValidator(lambda value: _urls(value))]
"""An address of a policy server, or several different ones."""


Size = Annotated[tuple[int, ...] | None, BeforeValidator(lambda value: _size(value))]
"""Height and width in pixels."""


def _size(value: Any) -> Any:
    sides = value if isinstance(value, list | tuple) else ()
    if value is not None and (len(sides) != 2 or not all(type(side) is int and side > 0 for side in sides)):
        raise ValueError(f"{value!r} is no size; write [HEIGHT, WIDTH] in pixels, as [96, 96]")
    return value


def _urls(value: Any) -> Any:
    if value is None:
        return None
    several = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else [None]
    for url in several:
        if not isinstance(url, str) or not url.startswith(("ws://", "wss://")):
            found = value if url is None else url
            raise ValueError(f"{found!r} is no address; it must begin with ws:// or wss://, as ws://localhost:8000")
    if not several or len(set(several)) < len(several):
        raise ValueError(f"{value!r}: a list must name at least one address, and none twice")
    return value if isinstance(value, str) else tuple(several)


def _file_name(text: str) -> str:
    if not re.fullmatch(r"\w[\w.+-]*", text):
        raise ValueError(f"{text!r} must be letters, digits, '_', '-', '+' and '.', and begin with a letter or digit")
    return text


A_WEEK = 7 * 24 * 3600.0
"""What no phase outlasts; the timers of the system end somewhere above."""


class BenchmarkSource(Strict):
    """Which benchmark, and with which parameters."""

    name: str | None = None
    """A bundled or installed benchmark ("tabletop-v1")."""
    target: str | None = None
    """Somebody's own: "package.module:Class" or "path/to/file.py:Class"."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Keyword arguments of its constructor; they come on top of those of its `benchmark.toml`."""
    interpreter: str | None = None
    """Python that its workers run in, by path or name, or a pinned requirements file (`.txt`) from which one is
    built once; None: as its `benchmark.toml` says, else the one that runs vlassess."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables of its workers; they win over those that are set and those of its `benchmark.toml`."""

    @model_validator(mode="after")
    def _one_source(self) -> BenchmarkSource:
        if (self.name is None) == (self.target is None):
            raise ValueError("give exactly one of name and target")
        for name in self.env:
            if not name or "=" in name:
                raise ValueError(f"env has {name!r}, which cannot be a variable's name; it has characters, and no '='")
        return self


class PolicySource(Strict):
    """Where a policy runs. Exactly one of name, url, serve and local."""

    name: str | None = None
    """A bundled policy ("random")."""
    url: Urls = None
    """A policy server that somebody else runs: "ws://host:port", "wss://host:port" with TLS; or a list of such, which
    serve the same policy and share the episodes."""
    serve: str | None = None
    """Started, awaited and stopped by the run: "file.py:Class" or "module:Class"."""
    local: str | None = None
    """Loaded by each worker in its own interpreter: "file.py:Class" or "module:Class"."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Keyword arguments of its constructor (not with url)."""
    horizon: Count | None = Field(default=None, ge=1)
    """Actions executed per chunk; None: as its spec says."""
    ensemble: str | None = None
    """Ask at every step and combine the chunks that overlap on it: "newest", "average", "ema", "file.py:function" or
    "module:function"; None: no ensemble."""
    replicas: Count = Field(default=1, ge=1)
    """How many servers the run starts (with serve, or a bundled policy that is served); they share the episodes."""
    max_batch: Count | None = Field(default=None, ge=1)
    """Most observations that a server of the run answers at once; None: as the policy says."""
    token_file: str | None = None
    """File with the token that the server at `url` asks for; None: what VLASSESS_TOKEN holds, if anything."""
    dialect: Literal["vlassess", "openpi"] | None = None
    """What the server at `url` speaks; None: vlassess, which is vla-eval's protocol too."""
    mapping: str | dict[str, Any] | None = None
    """With another dialect, which camera, state and text goes under which key: "libero", "droid", "aloha" or fields."""
    images: Literal["raw", "png", "jpeg"] | None = None
    """How images go to the server at `url`, for slow networks: png is exact, jpeg changes what the policy sees; None:
    raw."""
    ca_file: str | None = None
    """Certificates (PEM) that are trusted for a `url` with wss; None: the system's."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Where the policy answers; empty for one that is not given by url."""
        return (self.url,) if isinstance(self.url, str) else self.url or ()

    @model_validator(mode="after")
    def _one_source(self) -> PolicySource:
        given = [key for key in ("name", "url", "serve", "local") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of name, url, serve and local, not {' and '.join(given) or 'none'}")
        if self.url is not None and self.params:
            raise ValueError("params cannot reach a policy that is given by url: configure its server instead")
        if (self.url is not None or self.local is not None) and (self.replicas > 1 or self.max_batch is not None):
            raise ValueError(
                "replicas and max_batch are for a policy that the run serves: use serve, or a list of urls"
            )
        if self.url is None and (self.token_file is not None or self.ca_file is not None):
            raise ValueError("token_file and ca_file are for a policy that is given by url")
        if self.url is None and any(value is not None for value in (self.dialect, self.mapping, self.images)):
            raise ValueError("dialect, mapping and images are for a policy that is given by url")
        if (self.dialect == "openpi") != (self.mapping is not None):
            raise ValueError("mapping and dialect: openpi belong together, as mapping: libero; give both or none")
        if self.dialect == "openpi" and self.images is not None:
            raise ValueError("images cannot be chosen with dialect: openpi, which has raw ones only")
        return self


class Cell(Strict):
    """One axis at one level. `camera_pose=far` is the short form."""

    axis: str
    """Name of an axis that the benchmark declares."""
    level: str
    """Name of one of its levels; `*` stands for each of them."""
    within: dict[str, str] = Field(default_factory=dict)
    """Levels of other axes that the cell and its control have in common: the scene in which it is evaluated. Short:
    `object_category=mug within background=wood`."""


class Deadlines(Strict):
    """Seconds that each phase may take before the attempt is ended."""

    load: Number = Field(default=300.0, gt=0, le=A_WEEK)
    """Loading the benchmark in a new worker."""
    connect: Number = Field(default=60.0, gt=0, le=A_WEEK)
    """Reaching the policy server."""
    reset: Number = Field(default=120.0, gt=0, le=A_WEEK)
    """One reset of the simulator."""
    step: Number = Field(default=60.0, gt=0, le=A_WEEK)
    """One control step."""
    render: Number = Field(default=60.0, gt=0, le=A_WEEK)
    """One make_obs()."""
    inference: Number = Field(default=60.0, gt=0, le=A_WEEK)
    """One answer of the policy."""
    artifact: Number = Field(default=60.0, gt=0, le=A_WEEK)
    """One picture, or one write, that only a recording needs."""


class ExecutionConfig(Strict):
    """How the run uses the machine. Nothing here changes a result."""

    workers: Count | None = Field(default=None, ge=1)
    """Worker processes; None: one per core."""
    retries: Count = Field(default=2, ge=0)
    """Further attempts after a benchmark or infrastructure error."""
    deadlines: Deadlines = Deadlines()
    """Seconds per phase."""


class ArtifactsConfig(Strict):
    """What is recorded beside the episodes. Nothing here changes a result."""

    video: Literal["off", "on", "failures", "sample"] = "off"
    """Videos of no episode, all, those without success, or `sample` of them."""
    sample: Count = Field(default=5, ge=1)
    """How many episodes of each policy are filmed with `video: sample`; the same for all, spread over the tasks."""
    fps: Number | None = Field(default=None, gt=0, le=1000)
    """Pictures per second of a video; None: the benchmark's control rate, so that it plays in real time."""
    steps: bool = Field(default=False, strict=True)
    """Keep action, state, progress and times of every control step, as `steps.parquet`."""
    inputs: Count = Field(default=0, ge=0)
    """Keep the first observations that the policy was given, this many an episode, as `inputs.npz`."""
    cameras: bool = Field(default=False, strict=True)
    """Keep every camera's picture of every state, bit for bit, as `camera-NAME.mkv`: `vlassess export` makes data sets
    of them."""
    camera_size: Size = None
    """[height, width] of what is filmed of a policy that looks at no camera; None: each camera's first size."""

    @property
    def wanted(self) -> bool:
        """Whether anything is recorded."""
        return self.video != "off" or self.steps or self.inputs > 0 or self.cameras


class TrackerConfig(Strict):
    """One experiment tracker that is told what the run came to."""

    kind: Literal["wandb", "mlflow", "tensorboard"]
    """Which; each is an extra of the installation."""
    project: str = "vlassess"
    """Project (W&B) or experiment (MLflow) that the run is shown under."""
    where: str | None = None
    """W&B: folder; MLflow: tracking address; TensorBoard: log folder. None: as the tracker's own settings say, for
    TensorBoard the run directory."""
    offline: bool = Field(default=False, strict=True)
    """W&B only: write to disk, for `wandb sync` later."""
    step: Count | None = Field(default=None, ge=0)
    """Training step that the numbers belong to; None: they stand alone."""


class Gates(Strict):
    """Conditions on the result; one that fails gives exit code 4."""

    min_success: Number | None = Field(default=None, ge=0, le=1)
    """Least success rate of each policy, privileged ones included."""


class ComparisonConfig(Strict):
    """How the run will be compared with another, fixed before it: a test chosen afterwards finds what it looks for."""

    test: Literal["exact", "stratified", "progress", "sequential"] = "exact"
    """`exact`: McNemar over pairs, Boschloo without; `stratified`: within tasks (Cochran-Mantel-Haenszel); `progress`:
    permutation of the progress scores; `sequential`: valid at every look."""
    alpha: Number = Field(default=0.05, gt=0, lt=0.5)
    """Chance of a false alarm; 1 - alpha is the confidence of every interval."""
    sides: Literal["two-sided", "greater", "less"] = "two-sided"
    """`greater` asks only whether this run's policy is better than the other, `less` whether it is worse."""
    margin: Number | None = Field(default=None, gt=0, lt=1)
    """What difference still counts as alike, as a share (0.03 is three points), for "not worse" and "reproduced"."""
    against: str | None = None
    """The other arm: a run's folder, or `FOLDER:LABEL` for one of its policies. It is read, not run."""
    stop_when_decided: bool = Field(default=False, strict=True)
    """Stop as soon as the sequential test has decided; needs `test: sequential`."""

    @model_validator(mode="after")
    def _sequential_rule(self) -> ComparisonConfig:
        if self.stop_when_decided and self.test != "sequential":
            raise ValueError(f"stop_when_decided needs test: sequential, not {self.test}, which is valid for one look")
        if self.test == "sequential" and self.sides != "two-sided":
            raise ValueError("the sequential test is two-sided; leave sides out")
        return self


class Lognormal(Strict):
    """Latencies whose logarithm is normally distributed, as those of servers roughly are."""

    median: Number = Field(gt=0)
    """Seconds."""
    sigma: Number = Field(ge=0, le=3)
    """Standard deviation of the logarithm; 0.3 spreads the middle 90 % from 0.6 to 1.6 times the median."""


class LatencyConfig(Strict):
    """Seconds from an observation to its answer. A number alone is a constant."""

    constant: Number | None = Field(default=None, ge=0)
    """The same each time."""
    lognormal: Lognormal | None = None
    """Drawn anew for each answer."""
    empirical: tuple[Annotated[Number, Field(ge=0)], ...] | None = Field(default=None, min_length=1)
    """Measured seconds, of which one is drawn for each answer. `file: latencies.txt` reads them from a file, one a
    line."""

    @model_validator(mode="after")
    def _one_kind(self) -> LatencyConfig:
        given = [key for key in ("constant", "lognormal", "empirical") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of constant, lognormal, empirical and file, not {len(given)}")
        return self


class RealTimeConfig(Strict):
    """How the environment advances at its control rate, whether or not an action came."""

    pace: Literal["wall", "modelled"] = "wall"
    """`wall`: seconds pass as on the robot; `modelled`: latencies are drawn and nothing waits, the same every time."""
    latency: Annotated[
        LatencyConfig | None,
        BeforeValidator(lambda value: {"constant": value} if type(value) in (int, float) else value),
    ] = None
    """`modelled`: how long answers take; `wall`: how long they take at least."""
    await_first: bool = Field(default=False, strict=True)
    """The environment stands still until the first action is there."""
    skip_past: bool = Field(default=False, strict=True)
    """Of a chunk that comes late, skip the actions that were meant for steps already past (never the last one)."""
    asynchronous: bool = Field(default=False, strict=True)
    """Ask again after `horizon` actions and execute the rest of the chunk meanwhile, instead of holding still."""

    @model_validator(mode="after")
    def _latency_is_known(self) -> RealTimeConfig:
        if self.pace == "modelled" and self.latency is None:
            raise ValueError("pace: modelled needs latency, as latency: 0.2")
        return self


class PushConfig(Strict):
    """Now and then the robot is pushed off its way for some steps."""

    rate: Number = Field(gt=0, le=1)
    """Chance in each step that a push begins, where none lasts."""
    size: Number = Field(default=0.5, gt=0)
    """What it adds to a position in each step, in a drawn direction, as a share of half the action's range."""
    steps: Count = Field(default=6, ge=1)
    """How long it lasts."""


class DisturbanceConfig(Strict):
    """What is added to actions before they are executed, so that demonstrations show how to come back.

    Grippers are left alone; what the policy said is recorded beside what was executed.
    """

    noise: Number = Field(default=0.0, ge=0)
    """Standard deviation of what is added to each number in each step, as a share of half the action's range."""
    push: PushConfig | None = None
    """Pushes; None: none."""

    @model_validator(mode="after")
    def _anything(self) -> DisturbanceConfig:
        if not self.noise and self.push is None:
            raise ValueError("give noise above 0, push, or both; or leave disturbance out")
        return self


class RunConfig(Strict):
    """A whole run: one benchmark, one or more policies."""

    name: Name = "run"
    """Used in the run directory's name and the report's title."""
    benchmark: BenchmarkSource
    """What the policies are measured on."""
    suites: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Suites to run; None: all."""
    tasks: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Shell patterns on "suite/task"; None: all tasks of the suites."""
    episodes: Count = Field(default=10, ge=1)
    """Starts per task."""
    repeats: Count = Field(default=1, ge=1)
    """Episodes per start, with different noise of the policy."""
    seed: Count = Field(default=0, ge=0)
    """Base seed of the run."""
    cells: tuple[Cell, ...] = ()
    """Perturbed cells, run beside their controls, which are added; empty: the control alone."""
    grounding: GroundingConfig | None = None
    """Which questions the suites of an answer benchmark ask, and how; None: as its defaults say."""
    audit: Literal["digests", "arrays"] = "digests"
    """How it is checked that each cell's factor, and nothing else, reached the policy: `arrays` keeps the first
    observation of every episode too, so that a cell that fails is shown with the size of each difference."""
    step_limit: Count | None = Field(default=None, ge=1)
    """Replaces every task's step limit; marks the run as another protocol."""
    realtime: RealTimeConfig | None = None
    """Run in real time, as this says; None: the simulator waits for each answer."""
    disturbance: DisturbanceConfig | None = None
    """Execute something else than the policy says, as this says: for demonstrations; None: what it says."""
    policies: dict[Name, PolicySource] = Field(min_length=1)
    """Label -> what to measure. `policy:` is the short form for one."""
    execution: ExecutionConfig = ExecutionConfig()
    """How the run uses the machine."""
    artifacts: ArtifactsConfig = ArtifactsConfig()
    """What is recorded beside the episodes."""
    tracking: tuple[TrackerConfig, ...] = ()
    """Experiment trackers that are told the result when the run has ended."""
    output: Path = Path("runs")
    """Folder that the run directory is made in."""
    gates: Gates = Gates()
    """Conditions on the result."""
    comparison: ComparisonConfig | None = None
    """How it will be compared with another run."""
