"""A transformer as someone might write it, with parts under names that attnflow does not know."""

from typing import Any

import torch
from torch import Tensor, nn

from attnflow.edges import BlockLayout

NORM_FIRST = BlockLayout(
    "mix", "mix.out", "norm_b", norm_first=True, value="mix.v", final_norm="end"
)
NORM_LAST = BlockLayout("mix", "mix.out", "norm_a", value="mix.v")


class Mix(nn.Module):
    """Attention with four heads of width four; queries share keys and values by two."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 8), nn.Linear(16, 8)
        self.out = nn.Linear(16, 16)
        self.attn_drop = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            p(x).unflatten(-1, (-1, 4)).transpose(1, 2).repeat_interleave(repeats, dim=1)
            for p, repeats in ((self.q, 1), (self.k, 2), (self.v, 2))
        )
        weights = self.attn_drop((q @ k.transpose(2, 3) / 2).softmax(dim=-1))
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class FusedMix(Mix):
    """The same with the fused function."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (p(x).unflatten(-1, (-1, 4)).transpose(1, 2) for p in (self.q, self.k, self.v))
        fused: Any = nn.functional.scaled_dot_product_attention
        return self.out(fused(q, k, v, enable_gqa=True).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(
        self, mix: nn.Module, norm: type[nn.Module], *, first: bool, in_place: bool
    ) -> None:
        super().__init__()
        self.mix, self.norm_a, self.norm_b = mix, norm(16), norm(16)
        self.feed = nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, 16))
        self.first, self.in_place = first, in_place

    def forward(self, x: Tensor) -> Tensor:
        if not self.first:
            x = self.norm_a(x + self.mix(x))
            return self.norm_b(x + self.feed(x))
        if self.in_place:
            x += self.mix(self.norm_a(x))
            x += self.feed(self.norm_b(x))
            return x
        x = x + self.mix(self.norm_a(x))
        return x + self.feed(self.norm_b(x))


class OwnModel(nn.Module):
    """Two logits for a tensor of ids."""

    def __init__(
        self,
        *,
        first: bool = True,
        in_place: bool = False,
        mix: type[nn.Module] = Mix,
        norm: type[nn.Module] = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(400, 16)
        self.steps = nn.ModuleList(
            Block(mix(), norm, first=first, in_place=in_place) for _ in range(3)
        )
        self.end, self.head = norm(16), nn.Linear(16, 2)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        for step in self.steps:
            x = step(x)
        return self.head(self.end(x)[:, 0])


class PlainRoot(nn.Module):
    """A norm as RMSNorm with a name that does not say so."""

    centered = False

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), 1e-6

    def forward(self, x: Tensor) -> Tensor:
        if self.centered:
            x = x - x.mean(dim=-1, keepdim=True)
        return self.weight * x / (x.square().mean(dim=-1, keepdim=True) + self.eps).sqrt()


class PlainCentered(PlainRoot):
    """A norm as LayerNorm that is none of PyTorch's."""

    centered = True


class ByNorm(PlainRoot):
    """A norm that divides by the length of its input."""

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x / x.norm(dim=-1, keepdim=True)
