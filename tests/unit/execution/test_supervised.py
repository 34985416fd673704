"""A kit in a process of its own: whatever becomes of that process, there is a report or a sentence."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from vlassess.execution import supervised_kit
from vlassess_link.errors import PluginError
from vlassess_link.testing.kit import KitReport

PLAN = 'say({"planned": [["a", "A holds."], ["b", "B holds."], ["c", "C holds."]], "kit": "policy", "subject": "it"})\n'
DONE = '{"name": "%s", "sentence": "Holds.", "status": "passed"}'
FIRST = f'say({{"begun": "a"}}); say({{"ended": {DONE % "a"}}}); say({{"begun": "b"}})\n'


def supervised(folder: Path, code: str, seconds: float = 30.0) -> KitReport:
    head = "import json, os, sys, time\ndef say(what): print(json.dumps(what), flush=True)\n"
    return supervised_kit([sys.executable, "-c", head + code], dict(os.environ), folder / "kit.log", seconds)


def test_a_whole_report_is_the_kits_own(tmp_path: Path) -> None:
    told = '{"kit": "policy", "subject": "it", "results": [%s]}' % (DONE % "a")
    report = supervised(tmp_path, PLAN + FIRST + f'print("noise")\nsay([1])\nsay({{"report": {told}}})')
    assert (report.subject, [result.name for result in report.results], report.ok) == ("it", ["a"], True)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("os._exit(9)", "it ended the process (exit code 9); its last words: it said nothing"),
        ("os.kill(os.getpid(), 11)", "it ended the process (signal 11)"),
        (
            "sys.stderr.buffer.write(b'bad \\xff luck'); os._exit(1)",
            "its last words: bad \N{REPLACEMENT CHARACTER} luck",
        ),
    ],
)
def test_the_check_that_ends_the_process_fails_and_the_rest_is_not_tried(tmp_path: Path, end: str, words: str) -> None:
    report = supervised(tmp_path, PLAN + FIRST + end)
    assert [(result.name, result.status) for result in report.results] == [
        ("a", "passed"),
        ("b", "failed"),
        ("c", "skipped"),
    ]
    assert words in report.results[1].reason
    assert report.results[2].reason.startswith("not tried: it ended the process")
    assert (report.kit, report.subject, report.ok) == ("policy", "it", False)


def test_the_check_that_hangs_fails_and_the_process_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    begun = time.monotonic()
    code = f"open({str(file)!r}, 'w').write(str(os.getpid()))\n{PLAN}{FIRST}time.sleep(60)"
    report = supervised(tmp_path, code, seconds=5.0)
    assert time.monotonic() - begun < 40
    assert report.results[1].status == "failed"
    assert "it did not end within 5 s" in report.results[1].reason
    assert "--seconds" in report.results[1].reason
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("sys.exit('error: there is no such class')", "^there is no such class$|ended the process"),
        ("sys.stderr.write('error: there is no such class\\n'); sys.exit(2)", "^there is no such class$"),
        ("os._exit(5)", r"loading it ended the process \(exit code 5\): it said nothing"),
        ("time.sleep(60)", "loading it did not end within 2 s"),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence(tmp_path: Path, code: str, words: str) -> None:
    with pytest.raises(PluginError, match=words):
        supervised(tmp_path, code, seconds=2.0 if "sleep" in code else 30.0)
