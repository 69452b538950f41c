"""Whether a captured block is as its layout describes: a wrong layout is no wrong result."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from attnflow.edges._blocks import Block
from attnflow.models.capture import not_finite

if TYPE_CHECKING:
    from torch import Tensor, nn


class Tolerance(NamedTuple):
    """Largest differences that are rounding, in relation to the size of a result and of its terms.

    Chosen: rounding in float32 gives 1e-6 or less, in bfloat16 2⁻⁸ a step.
    """

    result: float
    terms: float


def tolerance_for(model: nn.Module) -> Tolerance:
    """Return the tolerance for the precision of a model. Walks all parameters."""
    half = any(p.element_size() < 4 for p in model.parameters() if p.is_floating_point())
    return Tolerance(2.0**-4, 2.0**-6) if half else Tolerance(1e-3, 1e-5)


def inconsistency(
    model: nn.Module, block: Block, attended: Tensor, normalized: Tensor, tolerance: Tolerance
) -> tuple[str, ...]:
    """Return what is wrong with a block and fields of its layout that may be, empty if nothing is.

    `attended` is the input of its attention, `normalized` the output of its norm.
    """
    import torch

    taken = torch.einsum("hjd,hdw->jw", block.weights @ block.values, block.projection) + block.bias
    error = (taken + block.residual - block.total).abs()
    if not bool(torch.isfinite(error).all()):
        raise not_finite(model)
    first = block.norm is None
    # Zeros, of a model with parameters of zero, are their own normalised form.
    if torch.equal(attended, block.residual) is first and block.residual.any():
        found = "the input of the block" if first else "not the input of the block"
        problem = f"norm_first={first}, and the input of its attention is {found}, as with"
        return f"{problem} norm_first={not first}", "norm_first", "attention"
    # Against what attention adds: the residual stream of large models is much larger.
    size = taken.abs().amax(dim=-1, keepdim=True)
    if bool((error > tolerance.result * size + tolerance.terms * block.total.abs()).any()):
        problem = (
            "the input of its norm is not the sum of attention and residual connection, but "
            f"differs by {float((error / size).max()):.2g} of what attention adds"
        )
        return problem, "norm", "output", "value", "scale"
    norm = block.norm
    if norm is None or norm.fits(block.total, normalized, tolerance.result):
        return ()
    return f"{norm.name} is not LayerNorm or RMSNorm", "norm"
