from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.unit.report import build
from vlassess.report import summarise, write_report
from vlassess.report.budget import policy_budget, time_budget
from vlassess.report.episodes import LEFT_OUT, TEXTS, episodes_json
from vlassess.report.failures import SHOWN, error_groups
from vlassess.report.html import render_report
from vlassess.schema.items import WorkItem
from vlassess_link.data import EpisodeRecord, ErrorInfo

VOID = {"meta", "br", "input"}
DRAWN_EMPTY = {"path", "use", "rect", "line"}


class Page(HTMLParser):
    """Checks that tags nest, and keeps texts, tags and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.scripts = 0
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.scripts += tag == "script"
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def report(items: Sequence[WorkItem], records: Sequence[EpisodeRecord], **config: Any) -> str:
    manifest = build.manifest(items, **config)
    return render_report(manifest, summarise(items, records, manifest), records)


@pytest.fixture(scope="module")
def html() -> str:
    items = build.plan(("octo", "expert"), episodes=10, cells=({}, {"camera": "far"}))
    return report(items, build.realistic(items), privileged=["expert"], step_limit=120)


def test_a_report_shows_what_a_reader_asks_for(html: str) -> None:
    items = build.plan(("octo", "expert"), episodes=10, cells=({}, {"camera": "far"}))
    manifest = build.manifest(items, privileged=["expert"], step_limit=120)
    summary = summarise(items, build.realistic(items), manifest)
    text = Page(html).text
    overall = summary.policies[0].overall
    interval = overall.rate.clopper_pearson
    assert interval is not None
    assert overall.rate.value is not None
    shown = f"{100 * overall.rate.value:.1f} % 95 % interval {100 * interval.low:.1f} – {100 * interval.high:.1f} %"
    assert f"{shown}, n = {overall.rate.n}" in text
    for words in (
        "privileged: upper bound",
        "incomplete",
        "this is another protocol",
        "physics diverged at step",
        "the connection was lost",
        "pick the red block",
        "camera=far",
        manifest.plan_hash,
        build.IDENTITY.digest,
        build.IDENTITY.weights_digest,
        "step_limit: 120",
        "2 cores",
    ):
        assert words in text
    assert all(notice.message in text for notice in summary.notices)


def test_a_report_needs_nothing_but_itself(html: str) -> None:
    page = Page(html)
    assert page.tags.isdisjoint({"link", "img", "iframe", "object", "base", "form"})
    names = {name for name, _ in page.attributes}
    assert names.isdisjoint({"src", "href", "srcset", "data", "action"})
    linked = [value or "" for name, value in page.attributes if name == "xlink:href"]
    assert linked
    assert all(value.startswith("#") for value in linked)
    assert not any(name.startswith("on") for name in names)
    assert not re.search(r"@import|url\((?!#)", html)


def test_plots_take_their_colours_from_the_page(html: str) -> None:
    assert html.count("<svg") == 3
    assert "#01010" not in html
    used = set(re.findall(r"var\((--[\w-]+)\)", html))
    defined = set(re.findall(r"(--[\w-]+):", html))
    assert {"--series-1", "--series-2", "--ink"} <= used <= defined
    assert "color-scheme: light dark" in html
    assert "prefers-color-scheme: dark" in html


def test_the_same_run_gives_the_same_bytes(html: str) -> None:
    items = build.plan(("octo", "expert"), episodes=10, cells=({}, {"camera": "far"}))
    assert report(items, build.realistic(items), privileged=["expert"], step_limit=120) == html


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></svg><script>",
    "{{ 7 * 7 }}{% raw %}",
    "--><!-- ]]>",
    r"$\frac{$ \def_^ $$",
    "lone \ud800 surrogate \udfff",
    "\x00\x1b[31m\u202e",
    "漢字 العربية 👩‍🚀",
    "<b>" * 3400,
    "",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_shown_harmlessly(text: str, tmp_path: Path) -> None:
    items = build.plan((text,), tasks=[(text, text), ("pick", "red")], episodes=2, cells=({}, {text: text}))
    records = [
        build.record(items[0], instruction=text, identity=text or "unknown"),
        build.failed(items[1], seconds={text: 1.0, "total": 2.0}),
        build.broken(items[2], "policy", message=text),
        build.broken(items[3], "benchmark", message=text, worker=text, host=text),
    ]
    manifest = build.manifest(items, primary=text or "success")
    manifest.versions[text] = text
    manifest.policy_specs[text]["identity"]["name"] = text
    summary = summarise(items, records, manifest)
    write_report(tmp_path / "report.html", manifest, summary, records)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.tags.isdisjoint({"img", "b"})
    assert page.scripts == 2
    assert page.tags <= {*KNOWN_TAGS, *DRAWN_EMPTY}
    beginning = text[:40].encode("ascii", "ignore").decode().translate(dict.fromkeys(range(32)))
    assert beginning.split("  ")[0].strip()[:20] in page.text


KNOWN_TAGS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "main",
    "header",
    "section",
    "article",
    "div",
    "span",
    "h1",
    "h2",
    "h3",
    "p",
    "br",
    "ul",
    "li",
    "strong",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "details",
    "summary",
    "pre",
    "dl",
    "dt",
    "dd",
    "svg",
    "g",
    "defs",
    "text",
    "clippath",
    "code",
    "script",
    "noscript",
    "input",
    "select",
    "option",
    "label",
    "output",
    "button",
}


def test_an_empty_run_has_a_report(tmp_path: Path) -> None:
    items = build.plan()
    for planned in (items, ()):
        page = Page(report(planned, []))
        assert "incomplete" in page.text or not planned


def test_no_outcome_at_all_has_no_distributions() -> None:
    items = build.plan()
    text = report(items, [build.broken(item, "benchmark") for item in items])
    assert text.count("<svg") == 1
    assert "no episode has a result" in Page(text).text


def test_writing_replaces_the_file_whole_or_not_at_all(tmp_path: Path) -> None:
    items = build.plan()
    manifest = build.manifest(items)
    summary = summarise(items, [], manifest)
    path = tmp_path / "report.html"
    path.write_text("old")
    write_report(path, manifest, summary, [])
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="gone"):
        write_report(tmp_path / "gone" / "report.html", manifest, summary, [])


def test_a_big_run_is_quick_and_small() -> None:
    items = build.plan(("a", "b"), tasks=[(f"suite{n % 4}", f"task {n}") for n in range(40)], episodes=25)
    long = "<" * 10_000
    records = [build.record(item, instruction=long) for item in items]
    for n in range(0, len(items), 3):
        error = ErrorInfo("benchmark", "step", f"Kind{n}", long, long)
        records[n] = replace(records[n], outcome=None, error=error)
    assert len(records) == 2000
    begin = time.process_time()
    text = report(items, records)
    assert time.process_time() - begin < 3
    assert len(text.encode()) < 5_000_000
    assert f"{667 - SHOWN} more kinds of error are in episodes.jsonl" in Page(text).text


def test_errors_that_differ_in_numbers_stand_together() -> None:
    items = build.plan()
    records = [build.broken(item, "benchmark", message=f"diverged at {n}") for n, item in enumerate(items)]
    records.append(build.record(items[0], 2))
    records.append(build.broken(items[1], "infrastructure", 2, "gone"))
    first, second = error_groups(records)
    assert (first.messages, first.attempts, first.left, len(first.episodes), first.unnamed) == (12, 12, 10, 8, 4)
    assert first.message == "diverged at 0"
    assert first.episodes[0] == "pick/red 0 (attempt 1)"
    assert (second.origin, second.left) == ("infrastructure", 1)


def test_time_is_shared_out_over_phases() -> None:
    items = build.plan(cells=({}, {"camera": "far"}))
    records = [build.record(item) for item in items]
    (policy,) = summarise(items, records, build.manifest(items)).policies
    rows = policy_budget(policy)
    assert [(row.name, row.seconds) for row in rows] == [
        ("inference", 30.0),
        ("simulation", 24.0),
        ("other", 24.0),
        ("reset", 12.0),
        ("rendering", 6.0),
    ]
    assert sum(row.share for row in rows) == pytest.approx(100)


def test_workers_wait_while_others_run_and_not_while_nobody_does() -> None:
    items = build.plan()

    def at(seconds: float, worker: str, took: float, number: int) -> EpisodeRecord:
        started = (build.BEGIN + timedelta(seconds=seconds)).isoformat()
        return build.record(items[number], worker=worker, started=started, seconds={"step": took, "total": took})

    busy = [at(0, "a", 10, 0), at(0, "b", 2, 1), at(6, "b", 4, 2)]
    after_a_pause = [at(1000, "a", 10, 3), at(1000, "b", 10, 4)]

    shares = {row.name: row.seconds for row in time_budget([*busy, *after_a_pause])}

    assert shares == {"simulation": 36.0, "waiting": 4.0, "other": 0.0}
    assert time_budget([]) == []


def data_in(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="episodes-data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_every_planned_episode_is_in_the_table(tmp_path: Path) -> None:
    items = build.plan(("a", "b"), episodes=2, cells=({}, {"camera": "far"}))
    records = [build.record(items[0]), build.broken(items[1], "policy"), build.broken(items[2], "benchmark")]
    folder = tmp_path / "artifacts" / items[0].item_id
    folder.mkdir(parents=True)
    (folder / "video.mp4").touch()

    data = json.loads(episodes_json(items, [*records, build.failed(items[2], 2)], tmp_path))

    assert len(data["rows"]) == len(items)
    ends = [data["ends"][row[5]] for row in data["rows"]]
    assert ends[:4] == ["success", "failure", "failure", "missing"]
    first, second, third = data["rows"][:3]
    assert data["texts"][first[0]] == "a"
    assert data["texts"][first[1]] == "pick/red"
    assert data["texts"][second[4]] == "camera=far"
    assert data["texts"][second[10]] == "FakeError of the policy in inference: it broke"
    assert (first[6], first[7], first[8], first[12], third[13]) == (40, 1000, 4.0, 1, 2)
    assert data["folders"] == {"0": items[0].item_id}


def test_texts_of_the_table_are_bounded() -> None:
    items = build.plan(("a",), tasks=[(f"suite{n}", "task") for n in range(40)], episodes=50)
    records = [
        build.broken(item, "benchmark", message="<" * 10_000 + str(n), instruction="漢" * 290 + str(n))
        for n, item in enumerate(items)
    ]
    text = episodes_json(items, records, None)
    assert TEXTS < len(text) < TEXTS + 500_000
    assert LEFT_OUT in json.loads(text)["texts"]


def test_without_a_plan_what_was_recorded_is_in_the_table() -> None:
    items = build.plan()
    data = json.loads(episodes_json((), [build.record(item) for item in items[:3]], None))
    assert [row[11] for row in data["rows"]] == [item.item_id[:12] for item in items[:3]]


def test_the_pages_only_script_is_the_one_that_its_policy_names(html: str) -> None:
    named = re.findall(r"script-src ([^;]*);", html)
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert named == [f"'sha256-{digest}'"]
    assert "innerHTML" not in script
    assert "eval(" not in script


def test_an_item_id_that_is_no_id_names_no_folder(tmp_path: Path) -> None:
    (item, *_) = build.plan()
    odd = replace(item, item_id="../elsewhere")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "elsewhere" / "video.mp4").touch()
    data = json.loads(episodes_json([odd], [build.record(odd)], tmp_path))
    assert data["folders"] == {}
