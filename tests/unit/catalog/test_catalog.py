from __future__ import annotations

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from vlassess.catalog import Catalog
from vlassess.schema.config import BenchmarkSource, PolicySource
from vlassess.schema.interpreter import Interpreter
from vlassess_link.errors import PluginError
from vlassess_link.jsonable import to_json
from vlassess_link.spaces import end_effector_delta
from vlassess_link.specs import BenchmarkSpec, TaskSpec

SPEC = BenchmarkSpec("toy", "2", (TaskSpec("s", "t", 10),), end_effector_delta())
MANIFEST = """
target = "adapter.py:Toy"
requirements = ["mujoco>=3.3"]
[env]
MUJOCO_GL = "egl"
[policies]
expert = "expert.py:Expert"
"""
SCRIPT = "class Helper: ...\nclass RandomPolicy(PredictModelServer): ...\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_benchmark(tmp_path / "benchmarks" / "toy")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "do_nothing.py").write_text("class Still(vlassess_link.PredictModelServer): ...\n")
    (tmp_path / "policies" / "random_.py").write_text(SCRIPT)
    (tmp_path / "policies" / "_shared.py").write_text("not a policy")
    return tmp_path


def make_benchmark(folder: Path, manifest: str = MANIFEST, spec: BenchmarkSpec | None = SPEC) -> Path:
    folder.mkdir(parents=True)
    (folder / "adapter.py").touch()
    (folder / "expert.py").touch()
    (folder / "benchmark.toml").write_text(manifest)
    if spec is not None:
        (folder / "spec.json").write_text(json.dumps(to_json(spec)))
    return folder


def point(name: str, value: str, kind: str = "benchmarks") -> EntryPoint:
    return EntryPoint(name, value, f"vlassess.{kind}")


def discover(root: Path, *points: EntryPoint) -> Catalog:
    return Catalog.discover(root, points)


def test_a_bundled_benchmark_is_found_by_its_specs_name(root: Path) -> None:
    entry = discover(root).resolve_benchmark(BenchmarkSource(name="toy-v2"))
    folder = root / "benchmarks" / "toy"
    assert entry.target == f"{folder}/adapter.py:Toy"
    assert entry.folder == folder
    assert entry.env == {"MUJOCO_GL": "egl"}
    assert entry.requirements == ("mujoco>=3.3",)
    assert entry.spec == SPEC
    assert entry.policies == {"expert": f"{folder}/expert.py:Expert"}
    assert entry.source == "bundled"


def test_parameters_may_change_the_spec_so_the_stored_one_is_dropped(root: Path) -> None:
    entry = discover(root).resolve_benchmark(BenchmarkSource(name="toy-v2", params={"size": 3}))
    assert entry.spec is None


def test_a_benchmark_without_a_stored_spec_is_called_like_its_folder(root: Path) -> None:
    make_benchmark(root / "benchmarks" / "other", spec=None)
    assert discover(root).benchmarks["other"].spec is None


def test_bundled_policies_are_served(root: Path) -> None:
    catalog = discover(root)
    entry = catalog.benchmarks["toy-v2"]
    source = catalog.resolve_policy(PolicySource(name="do-nothing", params={"a": 1}, horizon=3), entry)
    assert source == PolicySource(serve=f"{root}/policies/do_nothing.py:Still", params={"a": 1}, horizon=3)
    assert sorted(catalog.policies) == ["do-nothing", "random"]


def test_the_policies_of_a_benchmark_are_local_to_its_workers(root: Path) -> None:
    catalog = discover(root)
    entry = catalog.benchmarks["toy-v2"]
    source = catalog.resolve_policy(PolicySource(name="expert"), entry)
    assert source == PolicySource(local=f"{root}/benchmarks/toy/expert.py:Expert")


@pytest.mark.parametrize(
    "source", [PolicySource(url="ws://h"), PolicySource(local="m:C"), PolicySource(serve="m:C", horizon=2)]
)
def test_other_policies_stay_as_they_are(root: Path, source: PolicySource) -> None:
    catalog = discover(root)
    assert catalog.resolve_policy(source, catalog.benchmarks["toy-v2"]) is source


def test_a_target_reads_the_manifest_beside_it(root: Path) -> None:
    target = f"{root}/benchmarks/toy/expert.py:Other"
    entry = discover(root).resolve_benchmark(BenchmarkSource(target=target))
    assert entry.target == target
    assert entry.env == {"MUJOCO_GL": "egl"}
    assert list(entry.policies) == ["expert"]


def test_a_target_needs_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "mine.py").touch()
    target = f"{tmp_path}/mine.py:Mine"
    entry = discover(tmp_path).resolve_benchmark(BenchmarkSource(target=target))
    assert (entry.name, entry.target, entry.folder, entry.spec) == (target, target, tmp_path, None)


def test_a_module_target_is_found_without_importing_it(tmp_path: Path) -> None:
    catalog = discover(tmp_path)
    entry = catalog.resolve_benchmark(BenchmarkSource(target="vlassess_link.testing.fakes:FakeBenchmark"))
    assert entry.folder is not None
    assert entry.folder.name == "testing"
    assert catalog.resolve_benchmark(BenchmarkSource(target="not.here:Class")).folder is None


def test_plugins_are_found_by_their_entry_points(root: Path) -> None:
    catalog = discover(
        root,
        point("kitchen-v1", "vlassess_link.testing.fakes:FakeBenchmark"),
        point("octo", "vlassess_link:PredictModelServer", "policies"),
        EntryPoint("other", "some:thing", "console_scripts"),
    )
    assert sorted(catalog.benchmarks) == ["kitchen-v1", "toy-v2"]
    assert catalog.resolve_benchmark(BenchmarkSource(name="kitchen-v1")).target.endswith("fakes:FakeBenchmark")
    source = catalog.resolve_policy(PolicySource(name="octo"), catalog.benchmarks["toy-v2"])
    assert source.serve == "vlassess_link:PredictModelServer"


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([point("bad", "vlassess_link")], ["the plugin 'bad'", "vlassess.benchmarks", "MODULE:CLASS"]),
        ([point("bad", "no_such_package.x:Y")], ["the plugin 'bad'", "'no_such_package.x:Y'", "not installed"]),
        ([point("bad", "nope:Y", "policies")], ["the plugin 'bad'", "vlassess.policies", "not installed"]),
        ([point("toy-v2", "vlassess_link:Benchmark")], ["two plugins are called 'toy-v2'", "(bundled)"]),
        ([point("random", "vlassess_link:Policy", "policies")], ["two plugins are called 'random'"]),
    ],
)
def test_a_broken_plugin_is_an_error_that_names_it(root: Path, points: list[EntryPoint], words: list[str]) -> None:
    with pytest.raises(PluginError) as caught:
        discover(root, *points)
    for word in words:
        assert word in str(caught.value)


def test_unknown_names_lead_to_the_nearest(root: Path) -> None:
    catalog = discover(root)
    entry = catalog.benchmarks["toy-v2"]
    with pytest.raises(PluginError, match=r"no benchmark is called 'toy-v1'; did you mean 'toy-v2'\?"):
        catalog.resolve_benchmark(BenchmarkSource(name="toy-v1"))
    with pytest.raises(PluginError, match=r"no policy is called 'expret' with toy-v2; did you mean 'expert'\?"):
        catalog.resolve_policy(PolicySource(name="expret"), entry)
    with pytest.raises(PluginError, match=r"valid: expert, do-nothing, random"):
        catalog.resolve_policy(PolicySource(name="zzz"), entry)


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ("target = ", ["benchmark.toml cannot be read"]),
        ("", ["target is missing", "adapter.py:MyBenchmark"]),
        ('target = "adapter.py:Toy"\ntargt = 1', ["targt is not a known key", "did you mean 'target'?"]),
        ("target = 3", ["target is 3", "a text"]),
        ('target = "adapter"', ["FILE.py:CLASS"]),
        ('target = "gone.py:Toy"', ["there is no file"]),
        ('target = "~nosuchuser/gone.py:Toy"', ["there is no file"]),
        ('target = "adapter.py:Toy"\n[env]\nA = 1', ["env is {'A': 1}", "a table of texts"]),
        ('target = "adapter.py:Toy"\nrequirements = "a"', ["requirements is 'a'", "a list of texts"]),
        ('target = "adapter.py:Toy"\n[policies]\nx = "gone.py:X"', ["policies.x", "there is no file"]),
        ('name = "toy"\ntarget = "adapter.py:Toy"', ["name is 'toy'", "'toy-v2'"]),
    ],
)
def test_a_mistake_in_a_manifest_names_file_and_key(tmp_path: Path, manifest: str, words: list[str]) -> None:
    make_benchmark(tmp_path / "benchmarks" / "toy", manifest)
    with pytest.raises(PluginError) as caught:
        discover(tmp_path)
    for word in [str(tmp_path), *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize("text", ["{", '{"id": "toy"}', '{"idd": 1}'])
def test_a_broken_spec_names_its_file(root: Path, text: str) -> None:
    path = root / "benchmarks" / "toy" / "spec.json"
    path.write_text(text)
    with pytest.raises(PluginError, match=r"spec\.json cannot be read"):
        discover(root)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class A(", ["cannot be parsed"]),
        ("class A: ...", ["exactly one class", "it has none"]),
        ("class A(PredictModelServer): ...\nclass B(PredictModelServer): ...", ["it has A, B"]),
    ],
)
def test_a_script_that_defines_no_policy(root: Path, text: str, words: list[str]) -> None:
    (root / "policies" / "random_.py").write_text(text)
    with pytest.raises(PluginError) as caught:
        discover(root)
    for word in ["random_.py", *words]:
        assert word in str(caught.value)


def test_what_is_bundled_is_whole() -> None:
    catalog = Catalog.discover(points=())
    assert "tabletop-v1" in catalog.benchmarks
    assert {"random", "do-nothing"} <= set(catalog.policies)
    for name, entry in catalog.benchmarks.items():
        assert entry.source == "bundled"
        if name != "gymnasium":  # declares nothing until a config says which environment
            assert entry.spec is not None
            assert entry.spec.name == name


INTERPRETER = """
[interpreter]
requirements = "requirements.txt"
requires-python = ">=3.10"
disk_mb = 350
licence = "MIT"
[params]
size = 3
"""


def own_interpreter(root: Path, text: str = INTERPRETER) -> Path:
    folder = make_benchmark(root / "benchmarks" / "own", f'name = "own-v1"\n{MANIFEST}{text}', spec=None)
    (folder / "requirements.txt").write_text("numpy==2.2.6\n")
    return folder


def test_a_benchmark_says_its_interpreter_and_its_parameters(root: Path) -> None:
    folder = own_interpreter(root)
    entry = discover(root).resolve_benchmark(BenchmarkSource(name="own-v1", params={"colour": "red"}))
    assert entry.interpreter == Interpreter(None, folder / "requirements.txt", ">=3.10", 350, "MIT")
    assert entry.params == {"size": 3, "colour": "red"}


def test_a_virtual_environments_python_is_not_followed_out_of_it(root: Path, tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    own_interpreter(root, f'[interpreter]\npython = "{python}"\n')
    entry = discover(root).benchmarks["own-v1"]
    assert entry.interpreter == Interpreter(python)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (None, ("requirements", "requirements.txt")),
        ("python3", ("python", "python3")),
        ("mine.txt", ("requirements", "mine.txt")),
    ],
)
def test_a_config_may_name_another_interpreter(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str | None, expected: tuple[str, str]
) -> None:
    own_interpreter(root)
    for name in ("python3", "mine.txt"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    interpreter = discover(root).resolve_benchmark(BenchmarkSource(name="own-v1", interpreter=named)).interpreter
    key, name = expected
    found = getattr(interpreter, key)
    assert found.name == name
    assert getattr(interpreter, "python" if key == "requirements" else "requirements") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('interpreter = "python3"', "interpreter is 'python3'; it must be a table"),
        ("[interpreter]\ndisk_mb = 3", "must have exactly one of python and requirements"),
        ('[interpreter]\npython = "x"\nrequirements = "y"', "must have exactly one of python and requirements"),
        ('[interpreter]\npyhton = "x"', "interpreter.pyhton is not a known key; did you mean 'python'?"),
        ('[interpreter]\nrequirements = "none.txt"', "there is no file .*none.txt; mend the path"),
        ('[interpreter]\npython = "no/such/python"', "there is no file .*no/such/python"),
        ('[interpreter]\npython = "~nosuchuser/bin/python"', "there is no file .*~nosuchuser/bin/python"),
        ('[interpreter]\nrequirements = ["numpy"]', "interpreter.requirements is .*; it must be a text"),
        ('[interpreter]\ndisk_mb = "big"', "interpreter.disk_mb is 'big'; it must be a number of megabytes"),
        ("[interpreter]\ndisk_mb = true", "interpreter.disk_mb is true; it must be a number of megabytes"),
        ("params = 3", "params is 3; it must be a table"),
    ],
)
def test_a_mistake_in_an_interpreter_is_named(root: Path, text: str, said: str) -> None:
    manifest = f'target = "adapter.py:Toy"\n{text}\n'
    make_benchmark(root / "benchmarks" / "own", manifest, spec=None)
    with pytest.raises(PluginError, match=said):
        discover(root)


def test_the_bundled_benchmarks_read_well() -> None:
    entries = Catalog.discover(points=()).benchmarks
    assert {name for name in entries if not name.startswith("tabletop")} >= {
        "gymnasium",
        "fetch-v1",
        "pusht-v1",
        "metaworld-v1",
    }
    assert [name for name in entries if name.startswith("tabletop")] == [
        "tabletop-v1",
        "tabletop-answers-v1",
        "tabletop-answers-single-v1",
        "tabletop-bimanual-v1",
    ]
    assert all(entry.interpreter is not None for name, entry in entries.items() if name.startswith(("f", "p", "m")))
