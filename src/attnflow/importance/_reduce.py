"""From the gradient of an embedding to one number.

Why the paper's sum over dimensions can be nothing but rounding: where embeddings are read through
LayerNorm, `LN(e + c·1) = LN(e)`, so the score does not change with c, and its derivative by c is
`sum over d of g[d] = 0`. BERT's kin normalise embeddings at once. In GPT-2's kin, the verb-number
model among them, every block reads the residual stream through a LayerNorm, c stays in the stream,
and the last LayerNorm takes it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from attnflow.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

Reduce: TypeAlias = Literal["sum", "norm", "input"]

# Below this many units of rounding, of the gradient's norm, a sum over dimensions is rounding. On
# models of BERT's and GPT-2's make such sums reach 7 units (width 768), in half precision 1.
_ROUNDING, _ROUNDING_IN_HALF = 64, 4


def checked_reduce(reduce: object, *, signed: bool) -> Reduce | None:
    """The way to reduce, if it is one.

    >>> checked_reduce("norm", signed=False)
    'norm'
    """
    if signed and reduce == "norm":
        raise InputError('signed=True came with reduce="norm", which has no sign; leave one out')
    for known in get_args(Reduce):
        if isinstance(reduce, str) and reduce == known:
            return known
    if reduce is None:
        return None
    raise InputError(
        f"reduce is {reduce!r}; use one of {', '.join(get_args(Reduce))}, or None for the sum and, "
        "where that says nothing, the norm"
    )


def reduced(
    slopes: Tensor, embeddings: Tensor, reduce: Reduce | None
) -> dict[Reduce, NDArray[np.float64]]:
    """Gradients (row, position, width) as one number a position, with its sign.

    Where the sum may be wanted it comes with the norm, for `taken` to choose. A sum that is nothing
    but rounding is zero.

    >>> import torch
    >>> reduced(torch.tensor([[[3.0, 4.0]]]), torch.ones(1, 1, 2), None)
    {'sum': array([[7.]]), 'norm': array([[5.]])}
    """
    import torch

    if reduce == "input":
        return {"input": _numbers((slopes * embeddings).sum(dim=-1))}
    norms = slopes.norm(dim=-1)
    if reduce == "norm":
        return {"norm": _numbers(norms)}
    units = _ROUNDING if slopes.element_size() >= 4 else _ROUNDING_IN_HALF
    sums = slopes.sum(dim=-1)
    sums = sums.where(sums.abs() > units * torch.finfo(slopes.dtype).eps * norms, 0.0)
    return {"sum": _numbers(sums), "norm": _numbers(norms)}


def taken(
    found: Sequence[Mapping[Reduce, NDArray[np.float64]]],
    reduce: Reduce | None,
    *,
    signed: bool,
    name: str,
) -> Reduce:
    """What is taken of all examples of a call: what was asked for, else the sum or the norm.

    `name` is what the model is called, for the error where the sum is asked for and says nothing.
    """
    if reduce not in (None, "sum"):
        return reduce
    nothing = [not each["sum"].any() and bool(each["norm"].any()) for each in found]
    if not any(nothing):
        return "sum"
    if reduce is None and any(each["sum"].any() for each in found):
        return "sum"
    if reduce is None and not signed:
        return "norm"
    instead = 'reduce="input"' if signed else 'reduce="norm" or reduce="input"'
    raise InputError(
        f"the gradient of {name} adds up to zero over the dimensions of every embedding, as it "
        "does in a model that reads embeddings through LayerNorm, so its sum says nothing; use "
        f"{instead}"
    )


def _numbers(values: Tensor) -> NDArray[np.float64]:
    return values.double().cpu().numpy()
