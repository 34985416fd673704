"""A run on paper: what was asked, what was answered, what followed. A finished one is a certificate.

One form serves for both, since solvers are deterministic: without a verdict it is a save to go on from. The digest
tells accidents and careless edits; `vlassess.robustness.checker` recomputes the verdict, and asking the policy again
tells whether the values are true.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from vlassess.robustness.hilbert import Curve, FloatArray
from vlassess.robustness.settings import Settings
from vlassess.robustness.verdicts import Verdict
from vlassess_link.digest import content_hash

CERTIFICATE_SCHEMA = 1
"""Version of the JSON form; readers accept every earlier one."""


@dataclass(frozen=True)
class Certificate:
    """All queries of a run in the order they were made, and what followed.

    Attributes:
        settings: The solver.
        dimension: Number of parameters N.
        terms: Number of terms of the objective.
        positions: Where on the curve was asked, for solvers that use it; else empty.
        points: Where in the unit box was asked, for solvers that use no curve; else empty.
        values: What was answered, a tuple of terms for each query.
        verdict: None for an unfinished run.
        digest: SHA-256 of all of this as canonical JSON.
        schema: `CERTIFICATE_SCHEMA` of the writer.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)

    settings: Settings
    dimension: int
    terms: int
    positions: tuple[float, ...]
    points: tuple[tuple[float, ...], ...]
    values: tuple[tuple[float, ...], ...]
    verdict: Verdict | None
    digest: str = ""
    schema: int = CERTIFICATE_SCHEMA

    def places(self) -> FloatArray:
        """Return where was asked, (n, N) in the unit box: what to replay."""
        if self.positions:
            return Curve(self.dimension, getattr(self.settings, "levels", 32)).points(np.array(self.positions))
        return np.array(self.points, np.float64).reshape(-1, self.dimension)

    def to_json(self) -> str:
        """Return it as JSON; every float is read back as it was."""
        return _FORM.dump_json(self).decode()


def certify(certificate: Certificate) -> Certificate:
    """Return the certificate with its digest."""
    return dataclasses.replace(certificate, digest=digest_of(certificate))


def digest_of(certificate: Certificate) -> str:
    """Return the digest that a certificate should have."""
    told = _FORM.dump_python(certificate, mode="json")
    del told["digest"]
    return content_hash(told)


def read_certificate(text: str | bytes) -> Certificate:
    """Return a certificate from its JSON; whether it holds is the checker's business.

    Raises:
        ValueError: If it is no certificate, with the first field that is wrong.
    """
    try:
        certificate = _FORM.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the text"
        raise ValueError(f"this is no certificate: {where}: {first['msg']}") from None
    if certificate.schema > CERTIFICATE_SCHEMA:
        raise ValueError(
            f"schema is {certificate.schema}, newer than this version knows ({CERTIFICATE_SCHEMA}): update vlassess"
        )
    return certificate


_FORM: TypeAdapter[Certificate] = TypeAdapter(Certificate)
