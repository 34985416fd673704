"""Weights as one ONNX file, and back: what the policy runs is also what fine-tuning starts from."""

from __future__ import annotations

import dataclasses
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import helper, numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from vlassess.training.network import PIXELS, MiniVlaNetwork, Shape, scaled_state
from vlassess.training.teacher import STEP, TURN

_MOVE, _TURN = STEP / 0.05, TURN / 0.5
_PREFIX = "network."


class Answering(nn.Module):
    """The network between what a policy gets and what it answers.

    Images (B, 3, 64, 64), sums of 2x2 pixels in [0, 1020], state (B, 8) and tokens (B, length) give actions
    (B, chunk, 7) in [-1, 1].
    """

    def __init__(self, network: MiniVlaNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, agent: Tensor, wrist: Tensor, state: Tensor, tokens: Tensor) -> Tensor:
        """Return the actions."""
        moves, grips, _ = self.network(_picture(agent), _picture(wrist), scaled_state(state), tokens)
        none = torch.zeros_like(moves[:, :, :2])
        turn = moves[:, :, 3:] * _TURN
        # Not a tanh: that is 1.0 from a logit of 18 on, and what changes with the picture would not be seen.
        gripper = functional.softsign(grips.unsqueeze(2))
        actions = torch.cat((moves[:, :, :3] * _MOVE, none, turn, gripper), 2)
        return actions.clamp(-1.0, 1.0)


def _picture(image: Tensor) -> Tensor:
    return image * (1.0 / 1020.0) - 0.5


def export(network: MiniVlaNetwork, path: Path, words: Any) -> None:
    """Write the network in half precision, to be computed in single; the place head stays out of the graph."""
    answering = Answering(network).eval().to(memory_format=torch.contiguous_format)
    shape = network.shape
    example = (
        torch.zeros(2, 3, PIXELS, PIXELS),
        torch.zeros(2, 3, PIXELS, PIXELS),
        torch.zeros(2, 8),
        torch.ones(2, shape.length, dtype=torch.int64),
    )
    batch = torch.export.Dim("batch", min=1, max=1024)
    # The exporter tells everybody about libraries that it does not need, and warns about itself.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            answering,
            example,
            input_names=["agent", "wrist", "state", "tokens"],
            output_names=["actions"],
            dynamic_shapes={name: {0: batch} for name in ("agent", "wrist", "state", "tokens")},
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    _forget_where(model)
    _halve(model)
    stored = {"known": words.known, "buckets": words.buckets, "length": words.length}
    shape_text = json.dumps(dataclasses.asdict(shape))
    helper.set_model_props(model, {"words": json.dumps(stored), "shape": shape_text})
    scratch = path.with_suffix(".partial")
    onnx.save(model, scratch)
    scratch.replace(path)


def _forget_where(model: onnx.ModelProto) -> None:
    """Drop the stack traces that the exporter notes: they name folders of whoever trained."""
    graph = model.graph
    for part in (graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        del part.metadata_props[:]
        part.doc_string = ""


def _halve(model: onnx.ModelProto) -> None:
    """Store weights in half precision; a cast that runtimes fold when they load makes them single again."""
    graph = model.graph
    casts = []
    for tensor in list(graph.initializer):
        if tensor.data_type != onnx.TensorProto.FLOAT or not tensor.name.startswith(_PREFIX):
            continue
        halves = numpy_helper.to_array(tensor).astype("float16")
        stored = tensor.name + ".half"
        casts.append(helper.make_node("Cast", [stored], [tensor.name], to=onnx.TensorProto.FLOAT))
        graph.initializer.remove(tensor)
        graph.initializer.append(numpy_helper.from_array(halves, stored))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def restore(path: Path) -> tuple[MiniVlaNetwork, dict[str, Any]]:
    """Return the network of an exported file, its place head new, and what `Words` it reads by.

    Raises:
        ValueError: the file is none that `export` wrote.
    """
    model = onnx.load(str(path))
    stored = {entry.key: entry.value for entry in model.metadata_props}
    if "shape" not in stored:
        raise ValueError(f"{path} was not written by this training")
    sizes: dict[str, Any] = json.loads(stored["shape"])
    network = MiniVlaNetwork(Shape(**{**sizes, "channels": tuple(sizes["channels"])}))
    weights = {
        tensor.name.removeprefix(_PREFIX).removesuffix(".half"): torch.from_numpy(
            numpy_helper.to_array(tensor).astype("float32")
        )
        for tensor in model.graph.initializer
        if tensor.name.startswith(_PREFIX)
    }
    missing = network.load_state_dict(weights, strict=False).missing_keys
    if any(not name.startswith("place.") for name in missing):
        raise ValueError(f"{path} lacks weights: {', '.join(missing)}")
    return network, json.loads(stored["words"])


def reading(path: Path, words: Any) -> MiniVlaNetwork:
    """Return the network of an exported file, made to read other words; those that it knew mean what they meant.

    Args:
        path: What `export` wrote.
        words: The policy's `Words` that it will read by.

    Raises:
        ValueError: the file is none that `export` wrote.
    """
    network, stored = restore(path)
    old = network.text.embedding.weight.detach()
    network.shape = dataclasses.replace(network.shape, words=words.size, length=words.length)
    network.text.embedding = nn.Embedding(words.size, network.shape.text, padding_idx=0)
    known = {word: number for number, word in enumerate(stored["known"], 1)}
    with torch.no_grad():
        for number, word in enumerate(words.known, 1):
            if word in known:
                network.text.embedding.weight[number] = old[known[word]]
    return network
