"""Attention graphs from matrices of contributions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import UnsupportedModelError
from attnflow.models.capture import Role
from attnflow.models.inputs import Inputs, name_example
from attnflow.types import AttentionGraph, Origin

if TYPE_CHECKING:
    from torch import nn

Floats: TypeAlias = NDArray[np.float64]


class RoleMatrix(NamedTuple):
    """The matrix (query, key) of one attention of a pass, and its role in the model."""

    role: Role
    matrix: Floats


def clip(matrices: Iterable[Floats]) -> tuple[list[Floats], float]:
    """Return matrices with zero instead of negative entries, and the share that was negative.

    The share is the sum of the negative entries in that of all absolute values.

    >>> clip([np.array([[3.0, -1.0]])])
    ([array([[3., 0.]])], 0.25)
    """
    given = list(matrices)
    total = sum(float(np.abs(matrix).sum()) for matrix in given)
    negative = sum(float(-matrix[matrix < 0].sum()) for matrix in given)
    share = negative / total if total else 0.0
    return [np.maximum(matrix, 0.0) for matrix in given], share


def normalize(matrix: Floats) -> Floats:
    """Return a matrix with rows that sum to one; a row of zeros becomes an edge to itself.

    In a matrix that is not square, of cross-attention, a row of zeros stays.

    >>> normalize(np.array([[3.0, 1.0], [0.0, 0.0]]))
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    sums = matrix.sum(axis=1, keepdims=True)
    empty = np.flatnonzero(sums == 0)
    sums[empty] = 1.0
    rows = matrix / sums
    if rows.shape[0] == rows.shape[1]:
        rows[empty, empty] = 1.0
    return rows


def graph(
    layers: Sequence[Floats],
    tokens: Sequence[str],
    origin: Origin | None,
    **settings: Any,
) -> AttentionGraph:
    """Return the graph of square layers; `settings` record how it was made."""
    return AttentionGraph(
        layers, tokens, settings={**settings, "causal": is_causal(layers)}, origin=origin
    )


def is_causal(matrices: Iterable[NDArray[Any]]) -> bool:
    """Return whether no position takes anything from a later one; False for one position."""
    return all(len(matrix) > 1 and not np.triu(matrix, k=1).any() for matrix in matrices)


def graph_of_roles(
    model: nn.Module,
    inputs: Inputs,
    found: Sequence[RoleMatrix],
    *,
    weight: float,
    identity: float,
    **settings: Any,
) -> AttentionGraph:
    """Return the graph with `weight · W + identity · I` for the matrix W of each attention.

    For an encoder-decoder it is one graph over source and target, as in
    `EncoderDecoderAttention.graph`: a position that does not attend in a layer has one edge, to
    itself, of infinite weight.
    """
    own = [weight * m + identity * np.eye(*m.shape) for role, m in found if role != "cross"]
    cross = [m for role, m in found if role == "cross"]
    if not cross:
        (tokens,), origin = name_example(model, inputs, 0, own[0].shape[:1])
        if any(len(layer) != len(tokens) for layer in own):
            raise UnsupportedModelError(
                f"{type(model).__name__}: expected attention of one sequence, got sequences of "
                f"{', '.join(sorted({str(len(layer)) for layer in own}))} positions. Pass one part"
            )
        return graph(own, tokens, origin, **settings)
    targets, sources = cross[0].shape
    (source, target), origin = name_example(model, inputs, 0, (sources, targets))
    layers: list[Floats] = []
    for role, matrix in found:
        layer = np.diag(np.full(sources + targets, np.inf))
        layers.append(layer)
        attends = slice(sources) if role == "self" else slice(sources, None)
        if role == "cross":
            layer[attends, :sources] = weight * matrix
            layer[attends, attends] = identity * np.eye(targets)
        else:
            layer[attends, attends] = weight * matrix + identity * np.eye(len(matrix))
    settings |= {
        "causal": False,
        "encoder_layers": sum(role == "self" for role, _ in found),
        "decoder_layers": len(cross),
        "source_tokens": sources,
    }
    return AttentionGraph(layers, (*source, *target), settings=settings, origin=origin)
