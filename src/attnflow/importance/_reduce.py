"""From the gradient by an embedding to one number.

The paper's sum over dimensions is zero in models that read embeddings through LayerNorm:
`LN(e + c·1) = LN(e)`, so the score does not change with c, and its derivative by c is
`sum over d of g[d] = 0`. BERT normalises embeddings at once. In GPT-2 and the verb-number model
every block reads the residual stream through a LayerNorm; c stays in the stream until the last
LayerNorm removes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import AttnflowError, InputError
from attnflow.importance._embeddings import Leaf, changed_embeddings, embedding_tables, gradient
from attnflow.importance._settings import Reduce
from attnflow.models.scoring import SingleInput, all_logits, evaluation, single_inputs

if TYPE_CHECKING:
    from torch import Tensor, nn

# A sum over dimensions below this many units of rounding of the gradient's norm counts as zero. On
# models such as BERT and GPT-2 the sums are up to 7 units (width 768), in half precision 1.
_ROUNDING, _ROUNDING_IN_HALF = 64, 4

# Whether the sums of a model are zero, found by a pass over fixed ids, with its state at the time.
_KNOWN: WeakKeyDictionary[nn.Module, tuple[tuple[Any, ...], bool]] = WeakKeyDictionary()

# Tokens of the probe. Without LayerNorm the sum of one token is rounding by chance once in 40 times
# in half precision, the sums of eight never. Chosen.
_PROBE_TOKENS = 8


def check_reduce(reduce: object, *, signed: bool) -> Reduce | None:
    """Return the setting if it is valid.

    >>> check_reduce("norm", signed=False)
    'norm'
    """
    if signed and reduce == "norm":
        raise InputError('signed=True needs a sign, and reduce="norm" has none; leave one out')
    for known in get_args(Reduce):
        if isinstance(reduce, str) and reduce == known:
            return known
    if reduce is None:
        return None
    raise InputError(
        f"reduce: expected one of {', '.join(get_args(Reduce))}, or None for the sum or, in models "
        f"where every sum is zero, the norm, got {reduce!r}"
    )


def reduced(
    slopes: Tensor, embeddings: Tensor, reduce: Reduce | None
) -> dict[Reduce, NDArray[np.float64]]:
    """Return gradients (row, position, width) as one signed number for each position.

    "sum" and None give the sum and the norm, from which `choose_reduce` chooses. A sum that is only
    rounding is zero.

    >>> import torch
    >>> reduced(torch.tensor([[[3.0, 4.0]]]), torch.ones(1, 1, 2), None)
    {'sum': array([[7.]]), 'norm': array([[5.]])}
    """
    import torch

    if reduce == "raw_sum":
        return {"raw_sum": _as_array(slopes.sum(dim=-1))}
    if reduce == "input":
        return {"input": _as_array((slopes * embeddings).sum(dim=-1))}
    norms = slopes.norm(dim=-1)
    if reduce == "norm":
        return {"norm": _as_array(norms)}
    units = _ROUNDING if slopes.element_size() >= 4 else _ROUNDING_IN_HALF
    sums = slopes.sum(dim=-1)
    sums = sums.where(sums.abs() > units * torch.finfo(slopes.dtype).eps * norms, 0.0)
    return {"sum": _as_array(sums), "norm": _as_array(norms)}


def choose_reduce(
    model: nn.Module, reduce: Reduce | None, item: SingleInput, *, signed: bool
) -> Reduce:
    """Return how the gradients of a model are reduced.

    By default this is the sum, or the norm if the sums of the model are zero. The model alone
    decides, by a pass over fixed ids, so that the result for a text does not depend on its words or
    on other texts. If the model does not run on these ids, fixed values of the shape of `item` are
    tried, and at last `item` itself, on which the model is known to run.
    """
    if reduce not in (None, "sum"):
        return reduce
    zero = _sums_are_zero(model, item)
    if zero and (reduce == "sum" or signed):
        instead = 'reduce="input"' if signed else 'reduce="norm" or reduce="input"'
        raise InputError(
            f"the gradient of {type(model).__name__} sums to zero over the dimensions of every "
            "embedding, as in all models that read embeddings through LayerNorm, so that the sum "
            f"says nothing; use {instead}"
        )
    return "norm" if zero else "sum"


def _sums_are_zero(model: nn.Module, item: SingleInput) -> bool:
    import torch

    state = _state_of(model)
    known = _KNOWN.get(model)
    if known is not None and known[0] == state:
        return known[1]
    tables: list[Any] = embedding_tables(model)
    count = min((getattr(table, "num_embeddings", 0) for table in tables), default=0)
    if count:
        ids = _spread(count, _PROBE_TOKENS).to(tables[0].weight.device)
        with contextlib.suppress(AttnflowError):
            (probe,), _ = single_inputs(model, None, ids)
            zero = _probe(model, probe.fields, probe.main)
            _KNOWN[model] = state, zero
            return zero
    if item.ids.is_floating_point():
        random = torch.Generator().manual_seed(0)
        fixed = torch.randn(item.ids.shape, generator=random).to(item.ids)
    else:
        fixed = _spread(count, item.ids.shape[1]).to(item.ids) if count else item.ids
    with contextlib.suppress(AttnflowError):
        return _probe(model, {**item.fields, item.main: fixed}, item.main)
    return _probe(model, item.fields, item.main)


def _state_of(model: nn.Module) -> tuple[Any, ...]:
    """Return what identifies the modules of a model and the values of its parameters."""
    weights = ((id(p), p._version, p.dtype) for p in model.parameters())  # noqa: SLF001
    return (*map(type, model.modules()), *weights)


def _spread(count: int, length: int) -> Tensor:
    """Return ids (1, length) from all over a vocabulary, whose ends often are special tokens."""
    import torch

    return (torch.arange(1, length + 1) * count // (length + 1))[None]


def _probe(model: nn.Module, fields: dict[str, Any], main: str) -> bool:
    """Return whether the sums of the gradient are zero in a pass over `fields`."""
    leaf = Leaf()
    with evaluation(model, gradients=True):
        with changed_embeddings(model, fields, main, leaf) as changed:
            # The largest logit at every position stands for any score.
            scores = all_logits(model, changed).amax(dim=-1)
        slopes = gradient(model, scores, leaf)
    return _is_zero(reduced(slopes, leaf.embeddings, None))


def _is_zero(found: Mapping[Reduce, NDArray[np.float64]]) -> bool:
    """Whether all sums are zero although the gradient is not."""
    return not found["sum"].any() and bool(found["norm"].any())


def _as_array(values: Tensor) -> NDArray[np.float64]:
    return values.double().cpu().numpy()
