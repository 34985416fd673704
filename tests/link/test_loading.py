"""Finding somebody's class: every way to be wrong is one sentence that names the target."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vlassess_link.errors import PluginError
from vlassess_link.loading import load_target
from vlassess_link.policies.base import Policy
from vlassess_link.policies.model import PredictModelServer

HEADER = """
from vlassess_link.policies.model import PredictModelServer
from vlassess_link.specs import PolicyIdentity, PolicySpec
"""
CLASS = """
class {name}(PredictModelServer):
    def __init__(self, value: int = 1, *, fail: bool = False) -> None:
        self.value = value
        self.spec = PolicySpec(PolicyIdentity("{name}"))
        if fail:
            raise ValueError("line one\\nthe last line")
"""


@pytest.fixture(autouse=True)
def _clean_modules() -> Any:
    modules, path = dict(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - set(modules):
        del sys.modules[name]
    sys.path[:] = path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def load(target: object, **params: Any) -> Any:
    return load_target(str(target), PredictModelServer, params)


def test_a_file_with_and_without_a_class_name(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.py", HEADER + CLASS.format(name="Mine"))
    assert type(load(f"{path}:Mine", value=3)).__name__ == "Mine"
    assert load(path, value=3).value == 3
    assert type(load(path)) is type(load(f"{path}:Mine"))


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    for folder in "ab":
        write(tmp_path / folder / "policy.py", HEADER + f"WHERE = {folder!r}" + CLASS.format(name="P"))
    modules = [sys.modules[type(load(tmp_path / folder / "policy.py")).__module__] for folder in "ab"]
    assert [vars(module)["WHERE"] for module in modules] == ["a", "b"]


def test_a_file_in_a_package_is_imported_in_it(tmp_path: Path) -> None:
    write(tmp_path / "kitchen" / "__init__.py", "")
    write(tmp_path / "kitchen" / "sizes.py", "SIZE = 42")
    text = HEADER + "from .sizes import SIZE\nfrom kitchen.sizes import SIZE as AGAIN\n" + CLASS.format(name="Cook")
    path = write(tmp_path / "kitchen" / "policy.py", text)
    assert type(load(f"{path}:Cook")).__module__ == "kitchen.policy"


@pytest.mark.parametrize("taken", ["json", "numpy", "statistics"])
def test_a_package_of_a_taken_name_gets_one_of_its_own(tmp_path: Path, taken: str) -> None:
    """A package that is imported, one that is not, and a module: the adapter of X may be in a folder X."""
    write(tmp_path / taken / "__init__.py", "")
    write(tmp_path / taken / "sizes.py", "SIZE = 42")
    text = HEADER + f"import {taken} as theirs\nfrom .sizes import SIZE\n" + CLASS.format(name="P")
    path = write(tmp_path / taken / "decoder.py", text)
    policy = load(f"{path}:P")
    module = sys.modules[type(policy).__module__]
    assert module.__name__ != f"{taken}.decoder"
    assert vars(module)["SIZE"] == 42
    assert str(tmp_path) not in str(vars(module)["theirs"].__file__)
    assert type(load(f"{path}:P")) is type(policy)


def test_a_neighbour_can_be_imported_and_hides_nothing(tmp_path: Path) -> None:
    write(tmp_path / "secrets.py", "raise RuntimeError('hidden')")
    write(tmp_path / "neighbour.py", "VALUE = 7")
    text = HEADER + "import secrets\nimport neighbour\n" + CLASS.format(name="P")
    assert load(write(tmp_path / "policy.py", text)).spec.identity.name == "P"


def test_a_module_on_the_path(tmp_path: Path) -> None:
    write(tmp_path / "outer" / "__init__.py", "")
    write(tmp_path / "outer" / "inner.py", HEADER + CLASS.format(name="P"))
    sys.path.append(str(tmp_path))
    assert load("outer.inner:P", value=2).value == 2


def test_a_tuple_of_bases() -> None:
    assert isinstance(
        load_target("vlassess_link.testing.fakes:FakePolicy", (Policy, PredictModelServer), {}), PredictModelServer
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import no_such_package_here", "importing it raised ModuleNotFoundError: No module named 'no_such_package"),
        ("1 / 0", "importing it raised ZeroDivisionError: division by zero"),
        ("def (", "importing it raised SyntaxError"),
        ("import sys; sys.exit('bye')", "importing it raised SystemExit: bye"),
        (HEADER, "has no 'P'; it has no such class"),
        (HEADER + CLASS.format(name="Other"), "has no 'P'; it has Other"),
        ("class P: ...", "'P' is not a PredictModelServer"),
        ("P = 3", "'P' is not a PredictModelServer"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path / "bad.py", text)
    with pytest.raises(PluginError) as caught:
        load(f"{path}:P")
    assert str(caught.value).startswith(f"{path}:P: ")
    assert says in str(caught.value)
    assert not [name for name in sys.modules if name.startswith("vlassess_plugin_bad") and says.startswith("import")]


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("/nowhere/policy.py:P", "there is no file /nowhere/policy.py"),
        ("~nobody-here/policy.py:P", "there is no file"),
        ("no_such_module_here:P", "there is no module 'no_such_module_here'"),
        ("vlassess_link.nothing:P", "there is no module 'vlassess_link.nothing'"),
        ("vlassess_link.policies.model:Absent", "has no 'Absent'"),
        ("justaname", "names no class"),
        (":P", "names no class"),
        ("", "names no class"),
    ],
)
def test_a_target_that_leads_nowhere(target: str, says: str) -> None:
    with pytest.raises(PluginError, match=says):
        load(target)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"size": 1}, "P does not take the given parameters: got an unexpected keyword argument 'size'"),
        ({"fail": True}, r"P\(\) raised ValueError: the last line"),
    ],
)
def test_parameters_that_do_not_fit(tmp_path: Path, params: dict[str, Any], says: str) -> None:
    path = write(tmp_path / "policy.py", HEADER + CLASS.format(name="P"))
    with pytest.raises(PluginError, match=says):
        load(path, **params)


def test_several_classes_need_a_name(tmp_path: Path) -> None:
    path = write(tmp_path / "policy.py", HEADER + CLASS.format(name="A") + CLASS.format(name="B"))
    with pytest.raises(PluginError, match="exactly one PredictModelServer, not A, B"):
        load(path)


def test_identity_is_completed_from_file_and_parameters(tmp_path: Path) -> None:
    path = write(tmp_path / "policy.py", HEADER + CLASS.format(name="P"))
    one, same, other = load(path, value=1), load(path, value=1), load(path, value=2)
    assert one.spec.identity == same.spec.identity
    assert one.spec.identity.script_digest == other.spec.identity.script_digest != "unknown"
    assert one.spec.identity.config_digest != other.spec.identity.config_digest


def test_identity_that_is_declared_is_kept(tmp_path: Path) -> None:
    declared = 'PolicyIdentity("P", config_digest="mine", script_digest="this")'
    text = HEADER + f"class P(PredictModelServer):\n    spec = PolicySpec({declared})\n"
    identity = load(write(tmp_path / "policy.py", text)).spec.identity
    assert (identity.config_digest, identity.script_digest) == ("mine", "this")


def test_identity_does_not_depend_on_the_process(tmp_path: Path) -> None:
    path = write(tmp_path / "policy.py", HEADER + CLASS.format(name="P"))
    code = (
        "import sys, json; from vlassess_link.loading import load_target\n"
        "from vlassess_link.policies.model import PredictModelServer\n"
        "print(json.dumps(load_target(sys.argv[1], PredictModelServer, {'value': 2}).spec.identity.digest))"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    assert json.loads(out) == load(path, value=2).spec.identity.digest
