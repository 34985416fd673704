"""openpi: its client, and a server made as its own, which is not published: asyncio, metadata first, its codec."""

from __future__ import annotations

import asyncio
import importlib.metadata
import sys
import time

import numpy as np
import websockets.asyncio.server
from observations import images, serve_measurements, state
from openpi_client import msgpack_numpy
from openpi_client.websocket_client_policy import WebsocketClientPolicy

ACTIONS = np.zeros((1, 7), np.float32)


async def handle(websocket) -> None:
    """Answer the same action at once."""
    packer = msgpack_numpy.Packer()
    await websocket.send(packer.pack({}))
    while True:
        begun = time.monotonic()
        try:
            msgpack_numpy.unpackb(await websocket.recv())
        except websockets.ConnectionClosed:
            return
        timing = {"infer_ms": (time.monotonic() - begun) * 1000}
        await websocket.send(packer.pack({"actions": ACTIONS, "server_timing": timing}))


async def serve() -> None:
    """Serve until killed."""
    async with websockets.asyncio.server.serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


def ask(port: str) -> None:
    """Measure on request."""
    client = WebsocketClientPolicy("127.0.0.1", int(port))
    front, wrist = images().values()
    obs = {"observation/image": front, "observation/wrist_image": wrist, "observation/state": state(), "prompt": "go"}
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("openpi-client", "websockets", "numpy")]
    serve_measurements(", ".join(versions), lambda: client.infer(obs))


if __name__ == "__main__":
    asyncio.run(serve()) if sys.argv[1] == "server" else ask(sys.argv[2])
