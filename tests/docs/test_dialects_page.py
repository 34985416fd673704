"""What the page on dialects shows is true: its configs load, its mappings are mappings, its code runs."""

from __future__ import annotations

import re
from pathlib import Path

from vlassess.config import load_config
from vlassess_link.policies.dialects import DIALECTS
from vlassess_link.policies.mapping import READY_MADE, mapping_of

PAGE = (Path(__file__).parents[2] / "docs/how-to/dialects.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_its_configs_load(tmp_path: Path) -> None:
    found = []
    for number, body in enumerate(blocks("yaml")):
        path = tmp_path / f"{number}.yaml"
        path.write_text("benchmark: tabletop-v1\n" + body, encoding="utf-8")
        found.append(load_config(str(path)).policies["pi"])
    assert [source.dialect for source in found] == ["openpi", "openpi"]
    assert mapping_of(found[0].mapping) == mapping_of("libero")
    assert mapping_of(found[1].mapping).cameras == ("top", "side")
    assert mapping_of(found[1].mapping).horizon == 2


def test_its_code_runs() -> None:
    (code,) = blocks("python")
    exec(compile(code, "dialects.md", "exec"), {})


def test_it_names_what_there_is() -> None:
    assert all(f"`{name}`" in PAGE for name in READY_MADE)
    assert all(name in PAGE for name in DIALECTS)
