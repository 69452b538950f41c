"""`edge_graph`: the graph of edge weights chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from attnflow.edges._alti import alti
from attnflow.edges._attention import attention
from attnflow.edges._effective import effective
from attnflow.edges._gradient import gradient
from attnflow.edges._norms import norms
from attnflow.edges._value_zeroing import value_zeroing
from attnflow.errors import InputError
from attnflow.models.inputs import ModelInput
from attnflow.types import AttentionGraph

if TYPE_CHECKING:
    from torch import nn

Edges: TypeAlias = Literal["attention", "effective", "gradient", "norms", "alti", "value_zeroing"]
"""The name of a function of this package that returns a graph."""

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (attention, effective, gradient, norms, alti, value_zeroing)
}
EDGES = cast("tuple[Edges, ...]", tuple(_FUNCTIONS))
"""All these names."""


def check_edges(edges: object, name: str = "edges") -> Edges:
    """Return the name of edge weights if it is known.

    >>> check_edges("norms")
    'norms'
    """
    if isinstance(edges, str) and edges in EDGES:
        return edges
    raise InputError(f"{name}: expected one of {', '.join(EDGES)}, got {edges!r}")


def edge_graph(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    edges: Edges,
    *,
    target: int | str | None = None,
    position: int | None = None,
) -> AttentionGraph:
    """Return the graph of one text with the edge weights of a name in `EDGES`.

    Parameters
    ----------
    model, tokenizer, text
        As for the functions of `attnflow.edges`.
    edges
        The name of one of them.
    target, position
        For "gradient"; the others do not depend on them.

    Examples
    --------
    >>> from attnflow import edges, paper
    >>> shipped = paper.load()
    >>> edges.edge_graph(shipped.model, shipped.tokenizer, "the key", "norms")
    AttentionGraph(layers=6, nodes=4)
    """
    settings = {"target": target, "position": position} if edges == "gradient" else {}
    return _FUNCTIONS[check_edges(edges)](model, tokenizer, text, **settings)
