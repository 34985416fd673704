"""How a client shows that it may ask: a token, and whom it trusts when the url is ``wss://``."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import urllib.parse
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional

from vlassess_link.errors import ContractError

TOKEN_VARIABLE = "VLASSESS_TOKEN"


@dataclass(frozen=True)
class Access:
    """What a client needs beside the url.

    Attributes:
        token: Sent as ``Authorization: Bearer``; None: none is sent.
        ca_file: Certificates that are trusted instead of the system's; None: the system's.
    """

    token: Optional[str] = None
    ca_file: Optional[str] = None

    @classmethod
    def of(cls, source: Mapping[str, Any]) -> Access:
        """Return what a policy source says: ``token_file`` (else the variable `TOKEN_VARIABLE`) and ``ca_file``.

        Raises:
            ContractError: a file cannot be read, or holds no token.
        """
        token_file = source.get("token_file")
        token = read_token(token_file) if token_file else os.environ.get(TOKEN_VARIABLE) or None
        return cls(token, source.get("ca_file"))

    def headers(self, scheme: str = "Bearer") -> Dict[str, str]:
        """Return the HTTP headers that carry the token."""
        return {"Authorization": f"{scheme} {self.token}"} if self.token else {}

    def context(self, url: str) -> Optional[ssl.SSLContext]:
        """Return how the server's certificate is checked; None for a url without TLS.

        Raises:
            ContractError: the file with the trusted certificates cannot be read.
        """
        if not url.startswith("wss://"):
            return None
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise ContractError(f"ca_file {self.ca_file!r} cannot be read: {error}; name a PEM file") from None


PLAIN = Access()
"""No token, and the system's certificates."""


def read_token(path: str) -> str:
    """Return the token that a file holds, without the white space around it.

    Raises:
        ContractError: it cannot be read, is empty, or holds more than one line of printable ASCII.
    """
    try:
        with open(path, encoding="ascii") as file:
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ContractError(f"the token file {path} cannot be read: {error}; name another") from None
    if not token or not token.isprintable() or " " in token:
        raise ContractError(f"the token file {path} must hold one word of printable ASCII; write one into it")
    return token


def ask_health(url: str, access: Access, timeout: float = 2.0) -> Optional[Dict[str, Any]]:
    """Return what ``/health`` of the server at a websocket's url says, None where it does not answer in time."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    connection: http.client.HTTPConnection
    context = access.context(url)
    if context is not None:
        connection = http.client.HTTPSConnection(host, parts.port or 443, timeout=timeout, context=context)
    else:
        connection = http.client.HTTPConnection(host, parts.port or 80, timeout=timeout)
    try:
        connection.request("GET", "/health", headers=access.headers())
        answer = json.loads(connection.getresponse().read(100_000))
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return answer if isinstance(answer, dict) else None
