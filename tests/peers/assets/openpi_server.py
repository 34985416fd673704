"""A server that speaks openpi's protocol with the codec of its own client package: one step forward, five at a time."""

import asyncio
import sys
import time
import traceback

import numpy as np
import websockets
import websockets.asyncio.server
from openpi_client import msgpack_numpy


def infer(obs):
    assert obs["prompt"].startswith("go to"), obs["prompt"]
    assert obs["observation/image"].shape == (224, 224, 3), obs["observation/image"].shape
    assert obs["observation/state"].dtype == np.float32
    if sys.argv[1:] == ["raises"]:
        raise ValueError("the model is out of luck")
    return {"actions": np.ones((10, 1)), "state": obs["observation/state"], "policy_timing": {"infer_ms": 1.0}}


async def handler(websocket):
    packer = msgpack_numpy.Packer()
    await websocket.send(packer.pack({"name": "somebody's pi"}))
    while True:
        try:
            begun = time.monotonic()
            action = infer(msgpack_numpy.unpackb(await websocket.recv()))
            action["server_timing"] = {"infer_ms": (time.monotonic() - begun) * 1000}
            await websocket.send(packer.pack(action))
        except websockets.ConnectionClosed:
            break
        except Exception:
            await websocket.send(traceback.format_exc())
            await websocket.close(1011, "Traceback included in previous frame.")
            break


async def main():
    async with websockets.asyncio.server.serve(handler, "127.0.0.1", 0, compression=None, max_size=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


asyncio.run(main())
