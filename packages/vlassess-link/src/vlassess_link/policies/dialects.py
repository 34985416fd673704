"""The dialects, and from a policy source to the client that speaks its.

A dialect is one module for its frames, one `Policy` for its client's end and one session class for its server's,
which `wire.sessions` lists.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Tuple, Union

from vlassess_link.errors import ContractError
from vlassess_link.policies.openpi import OpenpiPolicy
from vlassess_link.policies.remote import RemotePolicy
from vlassess_link.wire.access import Access
from vlassess_link.wire.client import Options

DEFAULT_DIALECT = "vlassess"
DIALECTS: Tuple[str, ...] = (DEFAULT_DIALECT, "openpi")
"""The default one is vla-eval's protocol 1 with what both ends can do beyond it."""

RemoteKinds = (RemotePolicy, OpenpiPolicy)
"""Classes of policies that have a connection, and so `connect`."""


def remote_policy(source: Mapping[str, Any], connect: float, inference: float) -> Union[RemotePolicy, OpenpiPolicy]:
    """Return a connected policy.

    Args:
        source: ``url``, and what else a policy source with one may hold: ``dialect``, ``mapping``, ``images``,
            ``token_file``, ``ca_file``.
        connect: Seconds until a policy must have answered.
        inference: Seconds until each answer must be there.

    Raises:
        ContractError: the source is wrong.
        PolicyUnavailable: nobody answered in time.
        HandshakeError: somebody answered who speaks another protocol.
    """
    access = Access.of(source)
    if require_dialect(source.get("dialect")) == "openpi":
        return OpenpiPolicy(source["url"], source.get("mapping"), connect, inference, access)
    return RemotePolicy(source["url"], connect, inference, access, Options(source.get("images") or "raw"))


def require_dialect(name: Optional[str]) -> str:
    """Return the dialect's name, the default one's for None.

    Raises:
        ContractError: there is none of that name.
    """
    if name is not None and name not in DIALECTS:
        raise ContractError(f"the dialect is {name!r}; it must be one of {', '.join(DIALECTS)}")
    return name or DEFAULT_DIALECT
