from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.functional.cli.conftest import FAKES, Invoke

ASSETS = Path(__file__).parents[2] / "assets" / "imports"


def write_csv(path: Path, policy: str, good: int, n: int = 40) -> None:
    rows = [f"{policy},{task},{i},{int(i < good)}" for task in ("to-4", "to-5") for i in range(n)]
    path.write_text("policy,task,episode,success\n" + "\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture
def tables(tmp_path: Path) -> None:
    """Three tables of results in the current folder."""
    for name, good in (("good", 36), ("fair", 20), ("poor", 18)):
        write_csv(tmp_path / f"{name}.csv", name, good)


def walk(invoke: Invoke, output: str, stride: float, *more: str) -> Path:
    policies = f"policies={{{output}: {{local: '{FAKES}:FakePolicy', params: {{stride: {stride}, name: {output}}}}}}}"
    limit = ("--set", "benchmark.params={image: 0, tasks: 2, step_limit: 6}", "--set", "artifacts.steps=false")
    said = invoke("run", "walk.yaml", "--set", policies, *limit, "--output", output, "--json", *more)
    assert said.code == 0, said.err
    return Path(json.loads(said.out)["run_dir"])


def test_two_runs_are_compared_paired(invoke: Invoke, tmp_path: Path) -> None:
    fast, slow = walk(invoke, "fast", 1.0, "--set", "episodes=12"), walk(invoke, "slow", 0.7, "--set", "episodes=12")
    artifacts = slow / "artifacts"
    found = json.loads(invoke("compare", fast, slow, "--json").out)["comparisons"][0]
    assert found["pairing"]["design"] == "paired"
    assert found["pairing"]["pairs"] == 24
    assert found["overall"]["rate_a"] == 1.0
    assert found["overall"]["only_a"] == len(found["discordant"]) > 0
    item = found["discordant"][0]["item_b"]
    (artifacts / item).mkdir(parents=True)
    (artifacts / item / "video.mp4").write_bytes(b"not looked into")

    said = invoke("compare", fast, slow, "--html", "pages/x.html")
    assert said.code == 2
    assert "the system refuses: No such file or directory" in said.err
    said = invoke("compare", fast, slow, "--html", "x.html")
    assert said.code == 0, said.err
    for words in ("fast against slow", "24 starts are shared", "fast is better than slow", "page: x.html"):
        assert words in " ".join(said.out.split())
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert f'<video controls preload="none" src="slow/{slow.name}/artifacts/{item}/video.mp4">' in page
    assert "walk/to-5" in page
    assert "<svg" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")

    budget = json.loads(invoke("budget", "--delta", "0.2", "--pilot", fast, slow, "--json").out)
    (by_pilot, safe) = budget["plans"][-2:]
    assert f"{found['overall']['only_a']} of 24 pairs differ" in by_pilot["note"]
    assert safe["n"] > by_pilot["n"]


@pytest.mark.usefixtures("tables")
def test_gates(invoke: Invoke) -> None:
    assert invoke("compare", "good.csv", "fair.csv", "--require-better").code == 0
    said = invoke("compare", "fair.csv", "poor.csv", "--require-better")
    assert said.code == 4
    assert "FAILS: --require-better is not shown against poor" in said.out
    assert invoke("compare", "good.csv", "fair.csv", "--require-not-worse", "0.03").code == 0
    assert invoke("compare", "fair.csv", "poor.csv", "--require-not-worse", "0.03").code == 4
    assert invoke("compare", "good.csv", "fair.csv", "poor.csv", "--require-better").code == 0


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("rate", "n", "verdict", "code"),
    [("0.5", "500", "approximate", 0), ("0.842", "500", "not reproduced", 4), ("0.5", None, "approximate", 0)],
)
def test_a_published_rate(invoke: Invoke, rate: str, n: str | None, verdict: str, code: int) -> None:
    size = () if n is None else ("--published-n", n)
    said = invoke("compare", "fair.csv", "--published", rate, *size, "--json")
    (found,) = json.loads(said.out)["reproductions"]
    assert (said.code, found["verdict"]) == (code, verdict)


@pytest.mark.usefixtures("tables")
def test_many_policies_get_ranks(invoke: Invoke) -> None:
    said = invoke("compare", "good.csv", "fair.csv", "poor.csv", "--html", "x.html")
    assert said.code == 0
    assert "Not told apart: fair = poor" in " ".join(said.out.split())
    assert "are compared unpaired" in " ".join(said.out.split())
    assert "a CSV records no initial states" in " ".join(said.out.split())


def test_results_of_other_tools(invoke: Invoke) -> None:
    said = invoke("compare", ASSETS / "vla-eval-recording.sqlite", ASSETS / "vla-eval-0.1.0.json", "--json")
    found = json.loads(said.out)
    assert said.code == 0
    assert [arm["errors"] for arm in found["arms"]] == [2, 0]
    assert found["comparisons"][0]["pairing"]["design"] == "unpaired"
    assert [group["name"] for group in found["comparisons"][0]["tasks"]] == ["to-2", "to-4"]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare"], "Missing argument"),
        (["compare", "good.csv"], "has one policy, 'good'; give another run"),
        (["compare", "good.csv", "good.csv"], "two arms are called"),
        (["compare", "gone", "good.csv"], "gone does not exist"),
        (["compare", "good.csv:bad", "fair.csv"], "has no policy 'bad'; it has good"),
        (["compare", "good.csv", "walk.yaml"], "neither SQLite, CSV nor JSON"),
        (["compare", "good.csv", "--published-n", "5"], "it belongs to --published RATE"),
        (["compare", "good.csv", "fair.csv", "--alpha", "0.7"], "alpha is 0.7; input should be less than 0.5"),
        (["budget", "--pilot", "good.csv", "fair.csv"], "the pilot's runs have no pair"),
        (["budget", "--pilot", "good.csv", "fair.csv", "--n", "5"], "leave --correlation and --n out"),
        (["run", "walk.yaml", "--continue"], "it belongs to --resume DIR"),
        (["run", "walk.yaml", "--stop-when-decided", "0.05"], "is not alpha=SHARE"),
        (["run", "walk.yaml", "--stop-when-decided", "alpha=0.05"], "compares two arms, and there are 1"),
        (["run", "walk.yaml", "--stop-when-decided", "alpha=0.9"], "comparison.alpha is 0.9"),
        (["run", "walk.yaml", "--compare-with", "gone", "--stop-when-decided", "alpha=0.05"], "gone does not exist"),
        (
            ["run", "walk.yaml", "--compare-with", "good.csv", "--stop-when-decided", "alpha=0.05", "--shard", "1/2"],
            "leave --shard and --limit out",
        ),
        (
            [
                "run",
                "walk.yaml",
                "--compare-with",
                "good.csv",
                "--stop-when-decided",
                "alpha=0.05",
                "--set",
                "repeats=2",
            ],
            "it must be 1: repeats of a start are no new evidence",
        ),
        (
            ["run", "walk.yaml", "--compare-with", "good.csv", "--stop-when-decided", "alpha=0.05"],
            "has no result for any task and start of this plan",
        ),
    ],
)
def test_usage_errors(invoke: Invoke, arguments: list[str], words: str) -> None:
    said = invoke(*arguments)
    assert (said.code, said.out) == (2, "")
    assert words in " ".join(said.err.replace("│", " ").split())
    assert "Traceback" not in said.err


def test_two_policies_of_one_run_race_until_they_are_told_apart(invoke: Invoke) -> None:
    both = ", ".join(
        f"{label}: {{local: '{FAKES}:FakePolicy', params: {{stride: {stride}, name: {label}}}}}"
        for label, stride in (("fast", 1.0), ("slow", 0.4))
    )
    said = invoke(
        *("run", "walk.yaml", "--set", f"policies={{{both}}}", "--stop-when-decided", "alpha=0.05", "--json"),
        *("--set", "benchmark.params={image: 0, step_limit: 6}", "--set", "episodes=60"),
    )
    result = json.loads(said.out)
    assert said.code == 0, said.err
    assert result["complete"] is False
    assert "fast is better than slow" in result["decision"]
    assert "1 of" not in result["decision"].partition(":")[0].split("block")[0]
    assert all(notice["code"] != "incomplete" for notice in result["summary"]["notices"])
    found = json.loads(invoke("compare", result["run_dir"], "--json").out)
    assert found["comparisons"][0]["better"] == "fast"
    assert found["comparisons"][0]["sequential"]["decided"] is True
    changed = invoke("run", "--resume", result["run_dir"], "--continue", "--set", "comparison.alpha=0.2")
    assert changed.code == 2
    assert "its stopping rule is false if it is changed now" in changed.err


def test_an_episode_in_error_holds_its_block_until_a_resume_has_its_result(invoke: Invoke, tmp_path: Path) -> None:
    write_csv(tmp_path / "none.csv", "none", 0, n=12)
    named = (tmp_path / "none.csv").read_text(encoding="utf-8").replace("none,to", "none,walk,to")
    (tmp_path / "none.csv").write_text(named.replace("policy,", "policy,suite,"), encoding="utf-8")
    struck = tmp_path / "struck"
    params = f"{{image: 0, fault: reset_raises, fault_indices: [0,1,2,3,4,5,6,7,8,9,10,11], fault_once_file: {struck}}}"
    rule = ("--compare-with", "none.csv", "--stop-when-decided", "alpha=0.05", "--workers", "1")
    settings = ("--set", f"benchmark.params={params}", "--set", "execution.retries=0", "--set", "episodes=12")
    said = invoke("run", "walk.yaml", *rule, *settings)
    assert said.code == 3, said.err
    (folder,) = tmp_path.glob("runs/walk-*")
    assert "not decided after 0 of 12 blocks" in said.out
    assert "the comparison waits for block 1, which lacks walk/to-" in said.err
    assert len((folder / "episodes.jsonl").read_text(encoding="utf-8").splitlines()) == 24
    again = invoke("run", "--resume", folder)
    assert again.code == 0, again.err
    assert "walker is better than none" in again.out
    found = json.loads(invoke("compare", folder, "none.csv", "--json").out)
    assert found["comparisons"][0]["sequential"]["blocks"] == 12
    assert found["comparisons"][0]["pairing"]["design"] == "unpaired"
