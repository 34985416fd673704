"""What a policy server answers over plain HTTP, and whom it lets in: no sockets here."""

from __future__ import annotations

import hmac
import json
import urllib.parse
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from vlassess_link.errors import ContractError
from vlassess_link.jsonable import to_json
from vlassess_link.policies.inference import ModelHost

SCHEMES = ("bearer", "api-key")
"""How a token may be announced; the second is openpi's."""
PLAIN_TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

Gauges = Callable[[], Mapping[str, Tuple[str, float]]]


class HttpAnswer(NamedTuple):
    """Status, content type and body of an answer."""

    status: int
    kind: str
    body: str


class Endpoints:
    """Answers ``/health``, ``/spec``, ``/config`` and ``/metrics``, and guards the way to the websocket.

    Args:
        host: The model.
        token: Whoever shows another, or none, gets 401 for everything but ``/health``; None: all are let in.
        gauges: What `/metrics` says of the server beside what was counted.
    """

    def __init__(self, host: ModelHost, token: Optional[str], gauges: Gauges) -> None:
        self._host = host
        self._token = token
        self._gauges = gauges

    def answer(self, target: str, authorization: Optional[str]) -> Optional[HttpAnswer]:
        """Return the answer to ``GET target``, None where a websocket may be opened instead.

        Args:
            target: Path and query.
            authorization: The header of that name, None where there is none.
        """
        parts = urllib.parse.urlsplit(target)
        if parts.path == "/health":
            return self._health()
        if parts.path == "/healthz":
            ready = self._status() == "ok"
            return HttpAnswer(200 if ready else 503, PLAIN_TEXT, "OK\n" if ready else f"{self._status()}\n")
        if not self._allowed(authorization):
            self._host.metrics.count("refused")
            return HttpAnswer(401, JSON, _body({"error": "give the server's token: Authorization: Bearer TOKEN"}))
        if parts.path == "/metrics":
            return HttpAnswer(200, PROMETHEUS, self._metrics())
        if not self._host.ready or self._host.draining:
            return HttpAnswer(503, JSON, _body({"status": self._status()}))
        if parts.path == "/spec":
            return HttpAnswer(200, JSON, _body(to_json(self._host.spec)))
        if parts.path == "/config":
            return self._config(parts.query)
        return None

    def _allowed(self, authorization: Optional[str]) -> bool:
        if self._token is None:
            return True
        scheme, _, given = (authorization or "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token.encode())
        return scheme.lower() in SCHEMES and same

    def _status(self) -> str:
        if self._host.ready:
            return "draining" if self._host.draining else "ok"
        loaded = self._host.loaded
        return "failed" if loaded.done() and loaded.exception() is not None else "loading"

    def _health(self) -> HttpAnswer:
        body: Dict[str, Any] = {"status": self._status()}
        if self._host.ready:
            identity = self._host.spec.identity
            running = self._host.running
            now = None if running is None else {"sessions": list(running.sessions), "seconds": running.seconds}
            body.update(policy=identity.name, identity=identity.digest, queued=self._host.queued, running=now)
        return HttpAnswer(200 if body["status"] == "ok" else 503, JSON, _body(body))

    def _metrics(self) -> str:
        running = self._host.running
        gauges = {
            "ready": ("Whether the policy is loaded and answers.", float(self._host.ready)),
            "queue_length": ("Requests that wait for the model.", float(self._host.queued)),
            "running_seconds": (
                "For how long the model has been busy with what it is busy with.",
                running.seconds if running is not None else 0.0,
            ),
            "max_batch_size": ("Most observations of one batch.", float(self._host.max_batch)),
            **self._gauges(),
        }
        return self._host.metrics.text(gauges)

    def _config(self, query: str) -> HttpAnswer:
        """Change what can be changed while running, as vla-eval's servers do: ``max_batch_size``."""
        applied: Dict[str, int] = {}
        errors: List[str] = []
        for key, value in sorted(urllib.parse.parse_qsl(query, keep_blank_values=True)):
            if key != "max_batch_size":
                errors.append(f"unknown key: {key}")
                continue
            try:
                self._host.max_batch = int(value)
                applied[key] = self._host.max_batch
            except ValueError as error:
                text = str(error) if isinstance(error, ContractError) else f"max_batch_size is {value[:40]!r}"
                errors.append(f"{text}; give a whole number from 1")
        body: Dict[str, Any] = {"applied": applied, "config": {"max_batch_size": self._host.max_batch}}
        return HttpAnswer(422 if errors else 200, JSON, _body({**body, "errors": errors} if errors else body))


def _body(value: Any) -> str:
    return json.dumps(value, allow_nan=False) + "\n"
