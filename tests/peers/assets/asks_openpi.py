"""openpi's own client asks a server and prints the actions."""

import json
import sys

import numpy as np
from openpi_client.image_tools import convert_to_uint8, resize_with_pad
from openpi_client.websocket_client_policy import WebsocketClientPolicy

host, port = sys.argv[1].removeprefix("ws://").split(":")
client = WebsocketClientPolicy(host, int(port))
image = np.load(sys.argv[2])
obs = {"observation/image": image, "observation/state": np.array([0.1, 0.2]), "prompt": sys.argv[3]}
actions = [client.infer(obs) for _ in range(2)]
try:
    client.infer({"prompt": "no picture"})
    error = ""
except RuntimeError as raised:
    error = str(raised)
wide = np.random.default_rng(0).integers(0, 256, (90, 160, 3), dtype=np.uint8)
print(
    json.dumps(
        {
            "metadata": client.get_server_metadata(),
            "actions": [answer["actions"].tolist() for answer in actions],
            "dtype": str(actions[0]["actions"].dtype),
            "timing": "server_timing" in actions[0],
            "error": error,
            "resized": convert_to_uint8(resize_with_pad(wide, 224, 224)).tolist(),
        }
    )
)
