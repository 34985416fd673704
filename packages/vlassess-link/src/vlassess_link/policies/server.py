"""Serves a policy from the command line: ``python -m vlassess_link.policies.server TARGET``.

The port is bound before the policy is imported, so a port in use is known at once and ``/health`` answers
503 while weights load. When it is loaded, exactly one line of JSON goes to stdout::

    {"ready": true, "url": "ws://127.0.0.1:40001", "pid": 4711, "policy": "random", "identity": "5f1c..."}

Whatever the policy prints goes to stderr. SIGTERM and Ctrl-C let running episodes end for ``--grace`` seconds, and
say how many had to be cut off; a second one ends everything at once.
Exit codes: 0 stopped as asked, 1 the policy's `load` failed, 2 it could not be found or constructed, or the
address is taken.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import ssl
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from vlassess_link.errors import ContractError, PluginError, VlassessError, WireError
from vlassess_link.loading import construct, load_target
from vlassess_link.policies.model import PredictModelServer
from vlassess_link.wire.access import read_token
from vlassess_link.wire.server import PolicyServer, ServerOptions

Make = Callable[[dict[str, Any]], PredictModelServer]

WAKE_SECONDS = 0.5


def serve(cls: type[PredictModelServer]) -> None:
    """Serve a class as the command line says, then exit: the last line of a policy script."""
    options = _parser(f"Serve the policy {cls.__name__}.").parse_args()
    sys.exit(run(options, lambda params: _as_model(construct(cls, params, cls.__name__))))


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the policy that the command line names and return the exit code."""
    parser = _parser("Serve a policy.")
    parser.add_argument("target", help="file.py:Class, module:Class, or file.py with exactly one policy class")
    options = parser.parse_args(argv)
    return run(options, lambda params: _as_model(load_target(options.target, PredictModelServer, params)))


def run(options: argparse.Namespace, make: Make) -> int:
    """Bind, make the model, load it, say that it is ready, serve until told to stop; return the exit code."""
    out = _set_stdout_aside()
    try:
        params = parse_params(options.params_json, options.set)
        server = PolicyServer(None, options.host, options.port, server_options(options))
    except (WireError, ContractError) as error:
        return _fail(error, 2)
    server.start()
    try:
        # Until there is something to end gracefully, signals end the process as they always do.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if options.exit_with_parent:
            threading.Thread(target=_follow_stdin, name="parent", daemon=True).start()
        model = make(params)
        stop = _Stop()
        server.load(model)
        code = _serve_until(stop, server, out)
        _drain(server, options.grace)
        return code
    except PluginError as error:
        return _fail(error, 2)
    finally:
        server.close()


def server_options(options: argparse.Namespace) -> ServerOptions:
    """Return what the command line says of batches, token and TLS.

    Raises:
        ContractError: a file cannot be read, or only one of certificate and key is given.
    """
    if (options.tls_cert is None) != (options.tls_key is None):
        raise ContractError("--tls-cert and --tls-key belong together; give both or none")
    if options.max_batch is not None and options.max_batch < 1:
        raise ContractError(f"--max-batch is {options.max_batch}; it must be at least 1")
    token = read_token(options.token_file) if options.token_file is not None else None
    tls = _tls(options.tls_cert, options.tls_key)
    mapping = _value(options.mapping) if options.mapping is not None else None
    return ServerOptions(options.max_batch, token, tls, dialect=options.dialect, mapping=mapping)


def _tls(certificate: str | None, key: str | None) -> ssl.SSLContext | None:
    if certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise ContractError(f"--tls-cert {certificate} and --tls-key {key} cannot be used: {error}") from None
    return context


def _drain(server: PolicyServer, grace: float) -> None:
    running = server.drain(0.0)
    if running:
        sys.stderr.write(f"{running} episodes are running; they may end within {grace:g} s, or stop again to end now\n")
        sys.stderr.flush()
        running = server.drain(grace)
    if running:
        sys.stderr.write(f"{running} episodes did not end within {grace:g} s and are cut off\n")


def parse_params(params_json: str, assignments: Sequence[str]) -> dict[str, Any]:
    """Return constructor arguments from ``--params-json`` and ``--set``, the latter winning.

    Raises:
        ContractError: no JSON object, or no ``key=value``.
    """
    try:
        params = json.loads(params_json, parse_constant=_refuse_constant)
    except ValueError as error:
        raise ContractError(f"--params-json is no strict JSON: {error}") from None
    if not isinstance(params, dict):
        raise ContractError(f"--params-json is {params_json[:80]!r}; it must be a JSON object")
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key.isidentifier():
            raise ContractError(f"--set {assignment!r} is no key=value")
        params[key] = _value(text)
    return params


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        return text


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--host", default="127.0.0.1", help="interface to bind (default: loopback only)")
    parser.add_argument("--port", type=int, default=0, help="port to bind (default: any free one)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="one constructor argument")
    parser.add_argument("--params-json", default="{}", metavar="JSON", help="constructor arguments as a JSON object")
    parser.add_argument("--max-batch", type=int, metavar="N", help="observations of one batch (default: the model's)")
    parser.add_argument("--dialect", help="what clients speak: vlassess (and vla-eval; the default) or openpi")
    parser.add_argument("--mapping", help="keys of the dialect's observations: libero, droid, aloha, or JSON")
    parser.add_argument("--token-file", metavar="FILE", help="clients must show the token in this file")
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate chain (PEM); the url then begins with wss://")
    parser.add_argument("--tls-key", metavar="FILE", help="its private key (PEM)")
    parser.add_argument("--grace", type=float, default=30.0, help="seconds for running episodes to end on SIGTERM")
    parser.add_argument("--exit-with-parent", action="store_true", help="stop when stdin is closed")
    return parser


def _as_model(model: Any) -> PredictModelServer:
    if model.spec.privileged:
        raise PluginError(f"{type(model).__name__} is privileged and never crosses a wire: run it as `local`")
    served: PredictModelServer = model
    return served


def _serve_until(stop: _Stop, server: PolicyServer, out: TextIO) -> int:
    loaded = server.hosted.loaded
    loaded.add_done_callback(lambda _: stop.changed.set())
    announced = False
    while not stop.asked:
        # Never for good: a signal that comes just before the lock blocks would be handled only after it.
        stop.changed.wait(WAKE_SECONDS)
        stop.changed.clear()
        if loaded.done() and not announced and not stop.asked:
            failure = loaded.exception()
            if failure is not None:
                return _fail(failure, 1)
            _announce(server, out)
            announced = True
    return 0


def _announce(server: PolicyServer, out: TextIO) -> None:
    identity = server.hosted.spec.identity
    line = {
        "ready": True,
        "url": server.url,
        "pid": os.getpid(),
        "policy": identity.name,
        "identity": identity.digest,
    }
    out.write(json.dumps(line, allow_nan=False) + "\n")
    out.flush()


class _Stop:
    """Remembers that a signal asked to stop; the same signal again then ends the process at once."""

    def __init__(self) -> None:
        self.asked = False
        self.changed = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: object) -> None:
        self.asked = True
        signal.signal(number, signal.SIG_DFL)
        self.changed.set()


def _follow_stdin() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _set_stdout_aside() -> TextIO:
    """Return the real stdout, and point descriptor 1 at stderr for everybody else."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def _fail(error: BaseException, code: int) -> int:
    if error.__cause__ is not None:
        sys.stderr.write("".join(traceback.format_exception(error.__cause__)))
    kind = "" if isinstance(error, VlassessError) else f"{type(error).__name__}: "
    sys.stderr.write(f"error: {kind}{error}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
