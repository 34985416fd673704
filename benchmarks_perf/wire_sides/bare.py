"""A blocking socket with TCP_NODELAY that sends the images and gets 256 bytes back: what the machine can do."""

from __future__ import annotations

import platform
import socket
import sys

import numpy as np
from observations import images, serve_measurements

SIZE = 2 * 256 * 256 * 3


def fill(sock: socket.socket, view: memoryview) -> None:
    """Read until the view is full."""
    done = 0
    while done < len(view):
        count = sock.recv_into(view[done:])
        if not count:
            sys.exit(0)
        done += count


def serve() -> None:
    """Answer 256 bytes to each pair of images."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        sock, _ = listening.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    view, answer = memoryview(np.empty(SIZE, np.uint8)), bytes(256)
    while True:
        fill(sock, view)
        sock.sendall(answer)


def ask(port: str) -> None:
    """Measure on request."""
    sock = socket.create_connection(("127.0.0.1", int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    front, wrist = (image.tobytes() for image in images().values())
    answer = memoryview(bytearray(256))

    def once() -> None:
        sock.sendall(front)
        sock.sendall(wrist)
        fill(sock, answer)

    serve_measurements(f"socket of Python {platform.python_version()}", once)


if __name__ == "__main__":
    serve() if sys.argv[1] == "server" else ask(sys.argv[2])
