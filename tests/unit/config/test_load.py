from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from vlassess.config import ConfigError, bundled_configs, load_config, override_config
from vlassess.schema.config import PolicySource, RunConfig

LEAST = "benchmark: tabletop-v1\npolicy: random\n"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")


def load(tmp_path: Path, text: str, overrides: Sequence[str] = (), **environment: str) -> RunConfig:
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(str(path), overrides, environment)


def problems_of(tmp_path: Path, text: str, overrides: Sequence[str] = (), **environment: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, overrides, **environment)
    return caught.value.problems


def test_the_least_config(tmp_path: Path) -> None:
    config = load(tmp_path, LEAST)
    assert config.benchmark.name == "tabletop-v1"
    assert config.policies == {"random": PolicySource(name="random")}
    assert config.output == tmp_path / "cwd" / "runs"


def test_three_mistakes_are_three_sentences(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, LEAST + "episdoes: 5\nseed: -1\ngates: {min_success: high}\n")
    assert caught.value.problems == (
        "seed is -1; it must be at least 0",
        "gates.min_success is 'high'; it must be a number",
        "episdoes is not a known key; did you mean 'episodes'?",
    )
    assert str(caught.value).splitlines()[0].endswith("run.yaml: 3 mistakes")
    assert len(str(caught.value).splitlines()) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("policy: random", ["benchmark is missing", "measured on"]),
        ("benchmark: a", ["policies is missing"]),
        (LEAST + "suites: pick", ["suites is 'pick'", "a list"]),
        (LEAST + "suites: []", ["suites is []", "at least one entry"]),
        (LEAST + "episodes: 0", ["episodes is 0", "at least 1"]),
        (LEAST + "execution: {deadlines: {step: 1e300}}", ["deadlines.step is 1e+300", "at most 604800"]),
        ("benchmark: {name: a, env: {B=C: d}}\npolicy: random", ["benchmark: env has 'B=C'", "no '='"]),
        (LEAST + "episodes: true", ["episodes is true", "a whole number"]),
        (LEAST + "episodes: '5'", ["episodes is '5'", "a whole number"]),
        (LEAST + "episodes: 1e-4", ["episodes is 0.0001", "a whole number"]),
        (LEAST + "execution: {deadlines: {rest: 1}}", ["execution.deadlines.rest", "did you mean 'reset'?"]),
        (LEAST + "execution: {deadlines: {reset: 0}}", ["execution.deadlines.reset is 0", "greater than 0"]),
        (LEAST + "gates: {min_success: 1.5}", ["gates.min_success is 1.5", "at most 1"]),
        (LEAST + "cells: [{axis: x}]", ["cells.0.level is missing"]),
        (LEAST + "cells: [{axis: x, level: 3}]", ["cells.0.level is 3", "a text"]),
        (LEAST + "name: a/b", ["name: 'a/b' must be letters"]),
        (LEAST + "execution: 3", ["execution is 3", "a section"]),
        (LEAST + "zzz: 3", ["zzz is not a known key", "valid: name, benchmark", "policy"]),
        (LEAST + "policies: {a: random}", ["policy and policies are both given"]),
        ("benchmark: {}\npolicy: a", ["benchmark: give exactly one of name and target"]),
        ("benchmark: a\npolicies: {}", ["policies is {}", "at least one entry"]),
        ("benchmark: a\npolicies: {'a b': x}", ["policies.a b: 'a b' must be letters"]),
        ("benchmark: a\npolicies: {p: {nam: x}}", ["policies.p.nam", "did you mean 'name'?"]),
        ("benchmark: a\npolicies: {p: {name: x, local: 'm:C'}}", ["policies.p: give exactly one of", "name and local"]),
        ("benchmark: a\npolicies: [x, x]", ["policies has two entries labelled 'x'"]),
        ("benchmark: a\npolicy: 'http://host'", ["policies.host.url: 'http://host' is no address", "ws://"]),
        ("benchmark: a\npolicy: gone.py:C", ["policies.C.serve is 'gone.py:C'", "there is no file"]),
        ("benchmark: gone.py:C\npolicy: a", ["benchmark.target is 'gone.py:C'", "there is no file"]),
        ("benchmark: a\npolicy: {url: 'ws://h', params: {a: 1}}", ["policies.h: params cannot reach"]),
        ("benchmark: a\npolicy: {url: []}", ["policies.policy.url: []: a list must name at least one address"]),
        ("benchmark: a\npolicy: {url: ['ws://h', 'ws://h']}", ["policies.h.url", "none twice"]),
        ("benchmark: a\npolicy: {url: ['ws://h', 3]}", ["policies.h.url: 3 is no address"]),
        ("benchmark: a\npolicy: {url: 'ws://h', replicas: 2}", ["policies.h: replicas and max_batch are for"]),
        ("benchmark: a\npolicy: {local: 'm:C', max_batch: 2}", ["policies.C: replicas and max_batch are for"]),
        ("benchmark: a\npolicy: {serve: 'm:C', token_file: t}", ["policies.C: token_file and ca_file are for"]),
        ("benchmark: a\npolicy: {serve: 'm:C', ensemble: gone.py:f}", ["policies.C.ensemble", "there is no file"]),
        ("benchmark: a\npolicy: ${env:GONE}", ["policy needs the environment variable GONE"]),
        ("- a", ["the file holds ['a']"]),
        ("", ["the file holds null"]),
        ("a: [", ["line 1", "not YAML"]),
    ],
)
def test_one_mistake_is_one_sentence(tmp_path: Path, text: str, words: list[str]) -> None:
    (problem,) = problems_of(tmp_path, text)
    for word in words:
        assert word in problem


def test_numbers_may_be_written_as_people_write_them(tmp_path: Path) -> None:
    config = load(tmp_path, LEAST + "execution: {deadlines: {step: 1e-4}}\ngates: {min_success: 1}")
    assert config.execution.deadlines.step == 1e-4
    assert config.gates.min_success == 1.0


@pytest.mark.parametrize(
    ("text", "label", "source"),
    [
        ("policy: random", "random", {"name": "random"}),
        ("policy: ws://localhost:8000", "localhost-8000", {"url": "ws://localhost:8000"}),
        ("policy: my.models:Zero", "Zero", {"serve": "my.models:Zero"}),
        ("policy: {local: 'm:C', horizon: 4}", "C", {"local": "m:C", "horizon": 4}),
        ("policies: {a: random}", "a", {"name": "random"}),
        ("policies: {pi0.5: wss://h/x}", "pi0.5", {"url": "wss://h/x"}),
        ("policies: [do-nothing]", "do-nothing", {"name": "do-nothing"}),
    ],
)
def test_short_forms_of_policies(tmp_path: Path, text: str, label: str, source: dict[str, Any]) -> None:
    config = load(tmp_path, "benchmark: a\n" + text)
    assert config.policies == {label: PolicySource(**source)}


def test_the_label_of_a_policy_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "my model.py").touch()
    config = load(tmp_path, "benchmark: a\npolicy: my model.py")
    assert config.policies == {"my-model": PolicySource(serve=str(tmp_path / "my model.py"))}


def test_paths_are_relative_to_the_file_that_says_them(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    for name in ("base/bench.py", "base/old.py", "new.py", "cwd/set.py"):
        (tmp_path / name).touch()
    (tmp_path / "base" / "base.yaml").write_text("benchmark: bench.py:B\npolicies: {old: old.py:P}\noutput: out\n")
    config = load(tmp_path, "extends: base/base.yaml\npolicies: {new: {local: 'new.py:P'}}", ["policies.set=set.py:P"])
    assert config.benchmark.target == f"{tmp_path}/base/bench.py:B"
    assert config.policies["old"].serve == f"{tmp_path}/base/old.py:P"
    assert config.policies["new"].local == f"{tmp_path}/new.py:P"
    assert config.policies["set"].serve == f"{tmp_path}/cwd/set.py:P"
    assert config.output == tmp_path / "base" / "out"


@pytest.mark.parametrize(
    ("named", "read"),
    [
        ("venv/bin/python", "{}/venv/bin/python"),
        ("../pinned.txt", "{0.parent}/pinned.txt"),
        ("/opt/sim/bin/python", "/opt/sim/bin/python"),
        ("python3.9", "python3.9"),
    ],
)
def test_an_interpreter_is_relative_to_the_file_too(tmp_path: Path, named: str, read: str) -> None:
    config = load(tmp_path, f"benchmark: {{name: a, interpreter: {named}, env: {{GL: egl}}}}\npolicy: random")
    assert config.benchmark.interpreter == read.format(tmp_path)
    assert config.benchmark.env == {"GL": "egl"}
    config = load(tmp_path, "benchmark: a\npolicy: random", [f"benchmark.interpreter={named}"])
    assert config.benchmark.interpreter == read.format(tmp_path / "cwd")


def test_a_virtual_environments_python_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to("/usr/bin/env")
    config = load(tmp_path, "benchmark: {name: a, interpreter: ./python}\npolicy: random")
    assert config.benchmark.interpreter == f"{tmp_path}/python"


def test_the_home_of_an_unknown_user_is_no_home(tmp_path: Path) -> None:
    assert load(tmp_path, LEAST + "output: ~nobody-here/runs").output == tmp_path / "~nobody-here" / "runs"


def test_the_output_of_the_command_line_is_relative_to_the_current_directory(tmp_path: Path) -> None:
    assert load(tmp_path, LEAST + "output: here").output == tmp_path / "here"
    assert load(tmp_path, LEAST + "output: here", ["output=there"]).output == tmp_path / "cwd" / "there"


def test_extends_merges_sections_and_replaces_the_rest(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        "benchmark: {name: a, params: {size: 1, depth: 2}}\nsuites: [x, y]\nseed: 7\n"
        "policies: {p: {name: random, params: {k: 1}}, q: {url: 'ws://h'}}\n"
    )
    config = load(
        tmp_path,
        "extends: base.yaml\nbenchmark: {params: {size: 9}}\nsuites: [z]\npolicies: {p: {horizon: 2}, q: random}\n",
    )
    assert config.benchmark.params == {"size": 9, "depth": 2}
    assert config.suites == ("z",)
    assert config.seed == 7
    assert config.policies["p"] == PolicySource(name="random", params={"k": 1}, horizon=2)
    assert config.policies["q"] == PolicySource(name="random")


def test_another_source_replaces_the_inherited_one_whole(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("benchmark: {name: a, params: {size: 1}}\npolicies: {p: {name: x}, q: y}\n")
    config = load(tmp_path, "extends: base.yaml\nbenchmark: b\npolicy: {local: 'm:C'}\n")
    assert config.benchmark.params == {}
    assert config.policies == {"C": PolicySource(local="m:C")}


def test_extends_in_a_circle_names_the_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("extends: run.yaml\n")
    (problem,) = problems_of(tmp_path, "extends: a.yaml\n")
    assert "run.yaml -> a.yaml -> run.yaml" in problem


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("extends: gone.yaml", ["extends is 'gone.yaml'", "there is no file"]),
        ("extends: tabletop-quck", ["no config is called 'tabletop-quck'", "did you mean 'tabletop-quick'?"]),
        ("extends: 3", ["extends is 3", "one path or bundled name"]),
        ("extends: cwd", ["is a folder"]),
    ],
)
def test_extends_that_leads_nowhere(tmp_path: Path, text: str, words: list[str]) -> None:
    (problem,) = problems_of(tmp_path, text)
    for word in words:
        assert word in problem


def test_a_mistake_in_an_extended_file_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(LEAST + "seed: 1\nseed: 2\n")
    (problem,) = problems_of(tmp_path, "extends: base.yaml\n")
    assert problem == "base.yaml: seed is given twice; keep one of them (line 4)"


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("episodes=3", "episodes", 3),
        ("execution.workers=2", "execution.workers", 2),
        ("execution.deadlines.step=1e-3", "execution.deadlines.step", 1e-3),
        ("suites=[x, y]", "suites", ("x", "y")),
        ("suites.1=z", "suites", ("a", "z")),
        ("suites=null", "suites", None),
        ("cells.0.level=far", "cells.0.level", "far"),
        ("benchmark.params.size=224", "benchmark.params", {"size": 224, "depth": 2}),
        ("benchmark.params={x: 1}", "benchmark.params", {"x": 1}),
        ("benchmark.params.new.deep=1", "benchmark.params", {"size": 1, "depth": 2, "new": {"deep": 1}}),
        ("benchmark=other-v1", "benchmark.params", {}),
        ("policies.pi0.5.horizon=3", "policies.pi0.5.horizon", 3),
        ("policies.pi0.5=ws://h", "policies.pi0.5.url", "ws://h"),
        ("policies={only: random}", "policies", {"only": PolicySource(name="random")}),
        ("policy=random", "policies", {"random": PolicySource(name="random")}),
        ("name='7'", "name", "7"),
    ],
)
def test_set_overrides_one_place(tmp_path: Path, override: str, path: str, value: Any) -> None:
    text = (
        "benchmark: {name: a, params: {size: 1, depth: 2}}\nsuites: [a, b]\ncells: [{axis: camera, level: near}]\n"
        "policies: {pi0.5: {name: x, params: {k: 1}}, q: y}\n"
    )
    found: Any = load(tmp_path, text, [override])
    for key in path.replace("pi0.5", "pi0_5").split("."):
        name = key.replace("_5", ".5")
        found = (
            found[int(key)]
            if isinstance(found, tuple)
            else found[name]
            if isinstance(found, dict)
            else getattr(found, name)
        )
    assert found == value


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("episods=3", ["episods is not a known key", "did you mean 'episodes'?"]),
        ("execution.worker=3", ["execution.worker is not a known key", "did you mean 'workers'?"]),
        ("seed.x=3", ["seed is {'x': 3}", "a whole number"]),
        ("suites.5=z", ["--set suites.5=z", "suites has entries 0 to 0", "'5' is none of them"]),
        ("suites.first=z", ["'first' is none of them"]),
        ("episodes", ["--set episodes", "PATH=VALUE"]),
        ("=3", ["--set =3", "PATH=VALUE"]),
        ("suites=[a", ["--set suites=[a", "not YAML"]),
        ("policy.horizon=3", ["policies.LABEL.horizon"]),
        ("policy=gone.py:C", ["--set policy=gone.py:C", "there is no file"]),
        ("seed=${env:GONE}", ["--set seed=${env:GONE}", "needs the environment variable GONE"]),
    ],
)
def test_set_that_leads_nowhere(tmp_path: Path, override: str, words: list[str]) -> None:
    (problem,) = problems_of(tmp_path, LEAST + "suites: [a]", [override])
    for word in words:
        assert word in problem


def test_the_last_set_wins(tmp_path: Path) -> None:
    assert load(tmp_path, LEAST, ["seed=1", "seed=2"]).seed == 2


def test_a_reference_is_looked_up_in_the_environment(tmp_path: Path) -> None:
    assert load(tmp_path, LEAST + "seed: ${env:SEED}", SEED="11").seed == 11


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("tabletop-quik", ["no config is called 'tabletop-quik'", "did you mean 'tabletop-quick'?"]),
        ("gone.yaml", ["there is no file", "tabletop-quick"]),
        (".", ["is a folder"]),
    ],
)
def test_a_source_that_leads_nowhere(source: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(source)
    for word in words:
        assert word in caught.value.problems[0]


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read as UTF-8"):
        load_config(str(tmp_path / "run.yaml"))


@pytest.mark.parametrize("name", sorted(bundled_configs()))
def test_bundled_configs_load_by_name(name: str, tmp_path: Path) -> None:
    config = load_config(name)
    assert config.name == name
    assert config.output == tmp_path / "cwd" / "runs"


def test_a_loaded_config_can_be_overridden_and_written_back(tmp_path: Path) -> None:
    config = load(tmp_path, "benchmark: a\npolicies: {p: {name: x, params: {k: 1}}}\nexecution: {workers: 2}")
    changed = override_config(config, ["execution.workers=5", "policies.p.horizon=2"])
    assert changed.execution.workers == 5
    assert changed.policies["p"] == PolicySource(name="x", params={"k": 1}, horizon=2)
    assert override_config(config, []) == config
    (tmp_path / "again.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json")))
    assert load_config(str(tmp_path / "again.yaml")) == config
