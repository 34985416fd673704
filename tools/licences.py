"""List the licences of everything that an installation brings, and fail on one that Apache-2.0 cannot live with.

Reads the metadata of what is installed: ``python tools/licences.py > docs/licences.md``. The list of what is
accepted is short and by hand; a licence that is not on it needs a person.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from typing import NamedTuple

from packaging.requirements import Requirement

ROOTS = ("vlassess[sim,artifacts,hub]", "vlassess-link[images]")
OURS = ("vlassess", "vlassess-link")
ACCEPTED = re.compile(
    r"MIT|MIT-CMU|HPND|BSD|BSD-2-Clause|BSD-3-Clause|0BSD|Apache-2\.0|Apache|ISC|Zlib|PSF-2\.0|PSF|Python-2\.0|"
    r"Python Software Foundation|MPL-2\.0|CC0-1\.0|Unlicense"
)
ALIASES = {
    "3-clause BSD": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD License": "BSD",
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "ISC License (ISCL)": "ISC",
}

HEADER = """# Licences

vlassess is under the Apache License 2.0. This is what an installation with all extras brings, as the
packages declare it (Linux, Python {python}). All of it may be used together with Apache-2.0 code; none of it is copied
into this repository. The wheels of numpy and scipy also hold OpenBLAS (BSD) and GCC's runtime libraries (GPL with
the runtime library exception); that of av holds FFmpeg with x264 (GPL), which the extra `artifacts` alone brings.

| package | licence | for |
|---|---|---|
"""


class Package(NamedTuple):
    """One installed distribution: its name, its declared licence, and which of our packages need it."""

    name: str
    licence: str
    wanted_by: tuple[str, ...]


def declared(distribution: metadata.Distribution) -> str:
    """Return the licence that a distribution declares, "unknown" where it declares none."""
    meta = distribution.metadata
    if "License-Expression" in meta:
        return str(meta["License-Expression"])
    classifiers = [
        text.rsplit(" :: ", 1)[1] for text in meta.get_all("Classifier") or [] if text.startswith("License :: ")
    ]
    named = [ALIASES.get(text, text) for text in classifiers if text != "OSI Approved"]
    lines = (meta.get_all("License") or [""])[0].strip().splitlines() or ["unknown"]
    return " AND ".join(named) or ALIASES.get(lines[0].strip(), lines[0].strip())


def compatible(licence: str) -> bool:
    """Whether every part of an expression is accepted, one of each choice."""
    terms = re.split(r"\s+AND\s+", licence)
    return all(any(ACCEPTED.fullmatch(choice.strip(" ()")) for choice in re.split(r"\s+OR\s+", t)) for t in terms)


def closure(root: str) -> dict[str, metadata.Distribution]:
    """Return what a requirement brings, itself included: normalised name -> distribution.

    Raises:
        importlib.metadata.PackageNotFoundError: something of it is not installed.
    """
    found: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(root)]
    while waiting:
        requirement = waiting.pop()
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        for extra in requirement.extras or {""}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            found[name] = metadata.distribution(name)
            waiting += [
                dependency
                for dependency in map(Requirement, found[name].requires or [])
                if dependency.marker is None or any(dependency.marker.evaluate({"extra": e}) for e in (extra, ""))
            ]
    return found


def packages() -> list[Package]:
    """Return every third-party package of an installation with all extras, by name."""
    closures = {root: closure(root) for root in ROOTS}
    together = {name: dist for brought in closures.values() for name, dist in brought.items()}
    return [
        Package(name, declared(dist), tuple(root for root in ROOTS if name in closures[root]))
        for name, dist in sorted(together.items())
        if name not in OURS
    ]


def main() -> int:
    """Print the page and return the exit code."""
    found = packages()
    rows = (f"| {p.name} | {p.licence} | {', '.join(f'`{root}`' for root in p.wanted_by)} |\n" for p in found)
    print(HEADER.format(python=".".join(map(str, sys.version_info[:2]))) + "".join(rows), end="")
    refused = [package for package in found if not compatible(package.licence)]
    for package in refused:
        print(f"{package.name} is under {package.licence!r}, which is not on the accepted list.", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
