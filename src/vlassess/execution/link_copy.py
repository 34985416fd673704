"""The running harness's copy of ``vlassess_link`` for workers in other interpreters.

It lies in a folder that holds nothing else: were the harness's whole site-packages put on the worker's path,
its numpy would take the place of the simulator's.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import vlassess_link
from vlassess.execution.cache import cache_folder, fresh_folder
from vlassess_link._version import __version__

NAME = "vlassess_link"


def link_folder() -> Path:
    """Return a folder whose one content is this harness's ``vlassess_link``; made on first use.

    Raises:
        PluginError: the cache cannot be written.
    """
    source = Path(vlassess_link.__file__).parent
    folder = cache_folder() / "link" / f"{__version__}-{_digest(source)}"
    if not folder.is_dir():
        with fresh_folder(folder) as made:
            shutil.copytree(source, made / NAME, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _digest(source: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(source.rglob("*.py")):
        total.update(f"{path.relative_to(source)}|{path.stat().st_size}|".encode())
        total.update(path.read_bytes())
    return total.hexdigest()[:16]
