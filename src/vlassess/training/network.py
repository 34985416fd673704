"""The network of ``mini-vla``: two small image encoders that the instruction modulates, and a head for a chunk.

Images are 64x64 inside. Each encoder is four convolutions, the last one separable; the instruction scales and
shifts the features of the last two (FiLM, Perez et al. 2018, arXiv:1709.07871). What it then sees is told as expected
image coordinates (spatial softmax, Levine et al. 2016, arXiv:1504.00702) and means of the features. A second head
says where target and goal are; it is taught beside the actions and is left out of what is exported.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

PIXELS = 64
"""Height and width of the images that the network works on."""

PLACES = 32
"""Expected image coordinates that each encoder tells."""


@dataclass(frozen=True)
class Shape:
    """How large a network is; stored with its weights.

    Attributes:
        words: Rows of the embedding: padding, the vocabulary, then the buckets of unknown words.
        length: Words of an instruction that are read.
        chunk: Actions of one answer.
        text: Size of the instruction's embedding.
        channels: Of the four convolutions.
        hidden: Width of the head.
    """

    words: int
    length: int = 32
    chunk: int = 10
    text: int = 64
    channels: tuple[int, int, int, int] = (16, 32, 32, 48)
    hidden: int = 832


class TextEncoder(nn.Module):
    """Embeds words, mixes neighbours twice (so that order counts) and pools by attention; padding has no part."""

    def __init__(self, words: int, size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, size, padding_idx=0)
        self.near = nn.Conv1d(size, size, 3, padding=1)
        self.far = nn.Conv1d(size, size, 3, padding=1)
        self.weigh = nn.Conv1d(size, 4, 1)
        self.out = nn.Linear(4 * size, size)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return (B, size) of tokens (B, length), 0 for padding."""
        there = (tokens != 0).unsqueeze(1).float()
        words = self.embedding(tokens).transpose(1, 2)
        words = words + functional.relu(self.near(words)) * there
        words = words + functional.relu(self.far(words)) * there
        scores = self.weigh(words) + (there - 1.0) * 1e4
        pooled = torch.softmax(scores, 2) @ words.transpose(1, 2)
        out: Tensor = functional.relu(self.out(pooled.flatten(1)))
        return out


class ImageEncoder(nn.Module):
    """Sees one camera in the light of the instruction."""

    def __init__(self, text: int, channels: tuple[int, int, int, int]) -> None:
        super().__init__()
        a, b, c, d = channels
        self.stem = nn.Conv2d(3, a, 4, stride=2, padding=1)
        self.down = nn.Conv2d(a, b, 3, stride=2, padding=1)
        self.first = nn.Conv2d(b, c, 3, padding=1)
        self.around = nn.Conv2d(c, c, 3, padding=1, groups=c)
        self.last = nn.Conv2d(c, d, 1)
        self.film = nn.Linear(text, 2 * c + 2 * d)
        self.split = (c, c, d, d)
        self.score = nn.Conv2d(d, PLACES, 1)
        side = PIXELS // 4
        line = torch.linspace(-1.0, 1.0, side)
        rows, columns = torch.meshgrid(line, line, indexing="ij")
        self.register_buffer("grid", torch.stack((rows.flatten(), columns.flatten()), 1), persistent=False)

    @property
    def size(self) -> int:
        """Numbers that come out."""
        return 2 * PLACES + self.split[-1]

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        """Return (B, size) of an image (B, 3, 64, 64) in [-0.5, 0.5]."""
        scale, shift, scale2, shift2 = self.film(text)[:, :, None, None].split(self.split, 1)
        seen = functional.relu(self.stem(image))
        seen = functional.relu(self.down(seen))
        seen = functional.relu(torch.addcmul(shift, self.first(seen), 1.0 + scale))
        seen = functional.relu(torch.addcmul(shift2, self.last(self.around(seen)), 1.0 + scale2))
        weights = torch.softmax(_planes(self.score(seen)).float(), 2)
        with torch.autocast("cpu", enabled=False):  # half precision would round places to a third of a pixel
            places = weights @ self.grid
        return torch.cat((places.flatten(1), _planes(seen).mean(2)), 1)


def _planes(seen: Tensor) -> Tensor:
    """Return (B, C, pixels) of (B, C, height, width); no copy where channels are last in memory."""
    if seen.is_contiguous(memory_format=torch.channels_last) and not torch.compiler.is_exporting():
        return seen.permute(0, 2, 3, 1).flatten(1, 2).transpose(1, 2)
    return seen.flatten(2)


class MiniVlaNetwork(nn.Module):
    """Two cameras, proprioception and words to a chunk of actions.

    Outputs of `forward`: moves (B, chunk, 4) in units of the teacher's farthest move and turn, gripper logits
    (B, chunk), and the places of target and goal (B, 7).
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.text = TextEncoder(shape.words, shape.text)
        self.agent = ImageEncoder(shape.text, shape.channels)
        self.wrist = ImageEncoder(shape.text, shape.channels)
        inputs = self.agent.size + self.wrist.size + shape.text + 8
        self.mix = nn.Linear(inputs, shape.hidden)
        self.think = nn.Linear(shape.hidden, shape.hidden)
        self.decide = nn.Linear(shape.hidden, shape.hidden)
        self.act = nn.Linear(shape.hidden, shape.chunk * 5)
        self.place = nn.Linear(shape.hidden, 7)

    def forward(self, agent: Tensor, wrist: Tensor, state: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return moves, gripper logits and places; images (B, 3, 64, 64) in [-0.5, 0.5], see `scaled_state`."""
        text = self.text(tokens)
        seen = torch.cat((self.agent(agent, text), self.wrist(wrist, text), text, state), 1)
        mixed = functional.relu(self.mix(seen))
        mixed = mixed + functional.relu(self.think(mixed))
        decided = mixed + functional.relu(self.decide(mixed))
        out = self.act(decided).float().unflatten(1, (self.shape.chunk, 5))
        return out[:, :, :4], out[:, :, 4], self.place(mixed).float()


def scaled_state(state: Tensor) -> Tensor:
    """Return proprioception (B, 8) with every number about in [-1, 1]."""
    middle = state.new_tensor((0.42, 0.0, 0.12, torch.pi, 0.0, 0.0, 0.02, -0.02))
    scale = state.new_tensor((0.15, 0.25, 0.12, 0.5, 2.0, 0.2, 0.02, 0.02))
    return (state - middle) / scale
