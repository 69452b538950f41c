"""LayerNorm and RMSNorm as a linear part and a division by the deviation of their input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Norm:
    """What a module does to its input x: `γ ⊙ (x − mean x) / deviation + β`."""

    name: str  # of the module's class
    weight: Tensor | None  # γ (width)
    bias: Tensor | None  # β (width)
    epsilon: float
    centered: bool  # LayerNorm subtracts the mean of x, RMSNorm does not

    @classmethod
    def of(cls, module: nn.Module, inputs: Tensor, outputs: Tensor) -> Norm:
        """Return what a module does, of what has these inputs and outputs (…, width).

        Of a module that does not say by its class whether it subtracts the mean, the form that is
        closer to its outputs.
        """
        weight, bias = (_parameter(module, name) for name in ("weight", "bias"))
        epsilon = _epsilon(module, inputs if weight is None else weight)
        name = type(module).__name__
        found = [cls(name, weight, bias, epsilon, centered) for centered in _forms(module)]
        return min(found, key=lambda norm: norm.error(inputs, outputs))

    def linear_part(self, vectors: Tensor) -> Tensor:
        """Return `γ ⊙ (v − mean v)` of vectors (…, width), for RMSNorm `γ ⊙ v`."""
        centered = self._centered(vectors)
        return centered if self.weight is None else centered * self.weight.to(vectors)

    def linear_part_transposed(self, vectors: Tensor) -> Tensor:
        """Return the transpose of `linear_part`, applied to vectors (…, width)."""
        return self._centered(vectors if self.weight is None else vectors * self.weight.to(vectors))

    def deviation(self, inputs: Tensor) -> Tensor:
        """Return `sqrt(variance + ε)` of each row (…, width), about zero for RMSNorm."""
        return (self._centered(inputs).square().mean(dim=-1) + self.epsilon).sqrt()

    def offset(self, like: Tensor) -> Tensor:
        """Return β (width), zero if there is none."""
        return like.new_zeros(like.shape[-1]) if self.bias is None else self.bias.to(like)

    def fits(self, inputs: Tensor, outputs: Tensor, tolerance: float) -> bool:
        """Return whether this is what the module does, of what has these inputs and outputs."""
        return self.error(inputs, outputs) <= tolerance * float(outputs.abs().max())

    def error(self, inputs: Tensor, outputs: Tensor) -> float:
        """Return the largest difference of outputs from what this makes of inputs."""
        expected = self.linear_part(inputs) / self.deviation(inputs)[..., None]
        return float((expected + self.offset(inputs) - outputs).abs().max())

    def _centered(self, vectors: Tensor) -> Tensor:
        return vectors - vectors.mean(dim=-1, keepdim=True) if self.centered else vectors


def _parameter(module: nn.Module, name: str) -> Tensor | None:
    found: Any = getattr(module, name, None)
    # One with more axes is that of a module that is no norm.
    return None if found is None or found.ndim != 1 else found.detach()


def _epsilon(module: nn.Module, like: Tensor) -> float:
    import torch

    names = ("eps", "variance_epsilon")  # of PyTorch and of transformers
    found = next((value for name in names if (value := getattr(module, name, None))), 0.0)
    if isinstance(module, torch.nn.RMSNorm) and module.eps is None:
        # PyTorch computes half precision in float32.
        return torch.finfo(torch.promote_types(like.dtype, torch.float32)).eps
    return found


def _forms(module: nn.Module) -> tuple[bool, ...]:
    """Return whether a module subtracts the mean; both where its class does not say."""
    import torch

    if isinstance(module, torch.nn.LayerNorm):
        return (True,)
    return (False,) if "rms" in type(module).__name__.lower() else (True, False)
