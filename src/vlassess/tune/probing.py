"""Asks a policy server over HTTP what it has counted, and sets its batch size."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from vlassess_link.wire.access import Access

TIMEOUT = 10.0


class ServerProbe:
    """The HTTP side of a policy server.

    Args:
        url: Its websocket's url.
        access: Token and trusted certificates.
    """

    def __init__(self, url: str, access: Access) -> None:
        self._base = "http" + url[2:]
        self._access = access
        self._context = access.context(url)

    def metric(self, name: str) -> float:
        """Return one value of ``/metrics``.

        Raises:
            OSError: the server does not answer.
            KeyError: it counts no such thing.
        """
        for line in self._get("/metrics").splitlines():
            if line.startswith(f"vlassess_{name} "):
                return float(line.split()[1])
        raise KeyError(name)

    def set_batch(self, size: int) -> bool:
        """Set the most observations of one batch; returns whether the server took it."""
        try:
            answer: dict[str, Any] = json.loads(self._get(f"/config?max_batch_size={size}"))
        except (OSError, ValueError):
            return False
        return bool(answer.get("applied", {}).get("max_batch_size") == size)

    def _get(self, path: str) -> str:
        request = urllib.request.Request(self._base + path, headers=self._access.headers())
        with urllib.request.urlopen(request, timeout=TIMEOUT, context=self._context) as answer:
            text: str = answer.read().decode()
            return text
