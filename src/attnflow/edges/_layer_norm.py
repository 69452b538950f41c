"""LayerNorm and RMSNorm as a linear part and a division by the deviation of their input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn


def linear_part(norm: nn.Module, vectors: Tensor) -> Tensor:
    """Return `γ ⊙ (v − mean v)` of vectors (…, width), for RMSNorm `γ ⊙ v`."""
    centered = _centered(norm, vectors)
    weight = _weight(norm)
    return centered if weight is None else centered * weight.to(vectors)


def linear_part_transposed(norm: nn.Module, vectors: Tensor) -> Tensor:
    """Return the transpose of `linear_part`, applied to vectors (…, width)."""
    weight = _weight(norm)
    return _centered(norm, vectors if weight is None else vectors * weight.to(vectors))


def deviation(norm: nn.Module, inputs: Tensor) -> Tensor:
    """Return `sqrt(variance + ε)` of each row (…, width), about zero for RMSNorm."""
    names = ("eps", "variance_epsilon")  # of PyTorch and of transformers
    epsilon = next((value for name in names if (value := getattr(norm, name, None))), 0.0)
    return (_centered(norm, inputs).square().mean(dim=-1) + epsilon).sqrt()


def offset(norm: nn.Module, like: Tensor) -> Tensor:
    """Return the bias of a norm (width), zero if it has none."""
    bias: Any = getattr(norm, "bias", None)
    return like.new_zeros(like.shape[-1]) if bias is None else bias.detach().to(like)


def is_standard(norm: nn.Module, inputs: Tensor, outputs: Tensor, tolerance: float) -> bool:
    """Return whether outputs are what these functions say of a norm, for rows (…, width)."""
    expected = linear_part(norm, inputs) / deviation(norm, inputs)[..., None]
    error = (expected + offset(norm, inputs) - outputs).abs().max()
    return bool(error <= tolerance * outputs.abs().max())


def _centered(norm: nn.Module, vectors: Tensor) -> Tensor:
    if "rms" in type(norm).__name__.lower():
        return vectors
    return vectors - vectors.mean(dim=-1, keepdim=True)


def _weight(norm: nn.Module) -> Tensor | None:
    weight: Any = getattr(norm, "weight", None)
    return None if weight is None else weight.detach()
