"""From a server's dialect to the class of its sessions."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Union

from vlassess_link.errors import ContractError
from vlassess_link.policies.dialects import require_dialect
from vlassess_link.policies.inference import ModelHost
from vlassess_link.policies.mapping import mapping_of
from vlassess_link.wire.openpi_session import OpenpiSession
from vlassess_link.wire.session import ServerSession

Session = Union[ServerSession, OpenpiSession]
MakeSession = Callable[[ModelHost, str, Callable[[], bool]], Session]


def session_maker(dialect: Optional[str], mapping: Union[str, Mapping[str, Any], None]) -> MakeSession:
    """Return what makes a server's session of ``(host, session_id, alive)``.

    Raises:
        ContractError: the dialect is unknown, or its mapping is missing or wrong.
    """
    if require_dialect(dialect) == "openpi":
        keys = mapping_of(mapping)
        return lambda host, session_id, alive: OpenpiSession(host, session_id, keys, alive)
    if mapping is not None:
        raise ContractError("a mapping is for dialects whose keys are not ours: give --dialect openpi, or no mapping")
    return ServerSession
