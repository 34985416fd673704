"""A real browser, headless, driven over its own debugging protocol."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)


class Tab:
    """One page.

    Attributes:
        complaints: What the page threw or the browser logged against it: errors, refused scripts, missing files.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.complaints: list[str] = []
        self.loaded = False
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=30))
            if message.get("id") == number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._hear(message)

    def open(self, file: Path, fragment: str = "") -> None:
        """Open a file and wait until it is loaded."""
        self._go("about:blank")  # to another fragment of the same page nothing would be loaded
        self._go(file.resolve().as_uri() + fragment)

    def _go(self, address: str) -> None:
        self.loaded = False
        self.call("Page.navigate", url=address)
        until = time.monotonic() + 30
        while not self.loaded:
            assert time.monotonic() < until, "the page did not load"
            self.ask("0")

    def ask(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript, of JSON types."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def type(self, selector: str, text: str) -> None:
        """Click into a field, empty it, and type."""
        self.ask(f"document.querySelector({json.dumps(selector)}).select()")
        self.call("Input.insertText", text=text)

    def resize(self, width: int, height: int, dark: bool) -> None:
        """Show the page as on a screen of this size, in light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)

    def _hear(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message.get("method") == "Page.loadEventFired":
            self.loaded = True
        elif message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif message.get("method") == "Page.javascriptDialogOpening":
            self.complaints.append("a dialog opened")


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """Start a browser with a new profile and yield its one tab; ends it at the end."""
    assert PROGRAM is not None
    command = [PROGRAM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            port, _ = _answer(profile / "DevToolsActivePort").splitlines()
            target = _tab_of(int(port))
            with connect(target, max_size=2**26, compression=None, open_timeout=20) as socket:
                yield Tab(socket)
        finally:
            process.kill()


def _answer(file: Path) -> str:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if file.exists() and file.read_text(encoding="utf-8").count("\n"):
            return file.read_text(encoding="utf-8")
        time.sleep(0.05)
    raise AssertionError("the browser did not start")


def _tab_of(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=20) as answer:
        tabs = json.loads(answer.read())
    address: str = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
    return address
