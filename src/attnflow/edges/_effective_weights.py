"""The part of attention that can change the output of a head, `A U Uᵀ`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeVar

from attnflow.edges._layout import BlockLayout, known_layout, layout_of
from attnflow.edges._values import WeightsAndValues, capture_values
from attnflow.models.capture import Role, not_finite
from attnflow.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import Tensor, nn

T = TypeVar("T")
# Largest difference of effective attention from attention that is called none. Chosen: rounding in
# float32 is 1e-7.
SAME = 1e-6
# The squared precision of float32 values in relation to their size.
_RIDGE = 1e-14
# Elements of the products of a chunk of queries. Chosen: 16 MB of float64.
_MAX_ELEMENTS = 2**21


def capture_effective(
    model: nn.Module,
    inputs: Inputs,
    layout: BlockLayout | None,
    receive: Callable[[Role, Tensor, Tensor], T],
) -> list[T]:
    """Run the model on a batch of one and return what `receive` returns of each attention.

    It receives the role, the weights and the effective weights (head, query, key) in float64.
    """

    def both(captured: WeightsAndValues) -> T:
        role, weights, values, visible = captured
        if not (weights.isfinite().all() and values.isfinite().all()):
            raise not_finite(model)
        return receive(role, weights.double(), effective_weights(weights, values, visible))

    chosen = known_layout(model) if layout is None else layout_of(model, layout)
    return capture_values(model, inputs, chosen, both)


def effective_weights(weights: Tensor, values: Tensor, visible: Tensor | None = None) -> Tensor:
    """Return `A U Uᵀ` (head, query, key) of weights A and values (group of heads, key, width).

    If a mask hides some keys of a query, U is a basis for the values of the other keys, another one
    for each query. `visible` (query, key) is False for these; where it is unknown, they are the
    keys that no head attends to.
    """
    import torch

    # The singular values that are rounding, as for numpy.linalg.matrix_rank.
    precision = max(values.shape[1:]) * torch.finfo(values.dtype).eps
    seen = (weights != 0).any(dim=0)  # (query, key)
    if visible is not None:
        seen |= visible  # a weight that rounds to zero is not hidden
    weights, values = weights.double(), values.double()
    grouped = weights.unflatten(0, (len(values), -1))  # (group, head of it, query, key)
    if not seen.all():
        pairs = zip(grouped, values, strict=True)
        return torch.cat([_masked(own, shared, seen, precision) for own, shared in pairs])
    left, singular, _ = torch.linalg.svd(values, full_matrices=False)
    basis = left * (singular > precision * singular.amax(dim=-1, keepdim=True))[:, None]
    basis = basis[:, None]
    return (grouped @ basis @ basis.transpose(2, 3)).flatten(0, 1)


def _masked(weights: Tensor, values: Tensor, seen: Tensor, precision: float) -> Tensor:
    """Return `A V (Vᵀ V)⁻¹ Vᵀ` (head, query, key), where V are the values that each query sees.

    If the values that the first queries see are linearly independent, it is A there.

    An inverse for each query instead of a decomposition, which would take some hundred times as
    long. The ridge stands for directions in which the values differ by rounding only. It is larger
    than the rounding of a sum of as many products and of the factorization, both in relation to the
    trace, so that the sum with it is positive definite.
    """
    import torch

    width = values.shape[1]
    singular = torch.linalg.svdvals(values[:width])
    independent = singular[-1] > precision * singular[0]
    same = int((~seen[:, width:].any(dim=1)).int().cumprod(dim=0).sum()) if independent else 0
    ridge = max(_RIDGE, sum(values.shape) * torch.finfo(values.dtype).eps)
    output = weights @ values  # (head, query, width)
    eye = torch.eye(width, dtype=values.dtype, device=values.device)
    found = [weights[:, :same]]
    start = same
    for products in _products(values, seen, same):
        rows = output[:, start : start + len(products)]
        start += len(products)
        trace = products.diagonal(dim1=1, dim2=2).sum(dim=-1)[:, None, None].clamp(min=1e-300)
        factor = torch.linalg.cholesky(products + ridge * trace * eye)
        solved = torch.cholesky_solve(rows.permute(1, 2, 0), factor)  # (query, width, head)
        found.append(solved.permute(2, 0, 1) @ values.T)
    return torch.cat(found, dim=1) * seen


def _products(values: Tensor, seen: Tensor, first: int) -> Generator[Tensor]:
    """Yield `Vᵀ V` (query, width, width) of what queries from `first` on see, a few at a time."""
    import torch

    width = values.shape[1]
    step = max(1, _MAX_ELEMENTS // width**2)
    if torch.equal(seen, torch.ones_like(seen).tril()):
        before = values[:first].T @ values[:first]
        for own in values[first:].split(step):
            products = torch.einsum("jv,jw->jvw", own, own)
            for product in products:  # cumsum along this axis takes longer
                before = product.add_(before)
            yield products
        return
    for rows in seen[first:].split(step):
        products = torch.zeros(len(rows), width**2, dtype=values.dtype, device=values.device)
        for own, columns in zip(values.split(step), rows.split(step, dim=1), strict=True):
            if columns.any():
                squares = torch.einsum("jv,jw->jvw", own, own).flatten(1)
                products += columns.to(values) @ squares
        yield products.unflatten(1, (width, width))
