"""`edge_graph`: the graph of edge weights chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from attnflow._internal import checks
from attnflow.edges._alti import alti
from attnflow.edges._attention import attention
from attnflow.edges._effective import effective
from attnflow.edges._gradient import gradient
from attnflow.edges._layout import BlockLayout, check_layout
from attnflow.edges._norms import norms
from attnflow.edges._value_zeroing import value_zeroing
from attnflow.errors import InputError
from attnflow.models.inputs import Inputs, takes_pipeline
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
"""The names of all edge weights."""


def check_edges(edges: object) -> Edges:
    """Return the name of edge weights if it is known.

    >>> check_edges("norms")
    'norms'
    """
    if isinstance(edges, str) and edges in EDGES:
        return edges
    raise InputError(f"edges: expected one of {', '.join(EDGES)}, got {edges!r}")


@takes_pipeline
def edge_graph(
    model: nn.Module,
    tokenizer: Any,
    text: str | Inputs,
    edges: Edges,
    *,
    target: int | str | None = None,
    against: int | str | None = None,
    position: int | None = None,
    layout: BlockLayout | None = None,
    progress: checks.Progress | None = None,
) -> AttentionGraph:
    """Return the graph of one text with the edge weights of a name in `EDGES`.

    Parameters
    ----------
    model, tokenizer
        As for the functions of `attnflow.edges`.
    text
        One text; the functions of `attnflow.edges` take several, and tensors.
    edges
        The name of one of them.
    target, against, position
        For "gradient"; the others do not depend on them.
    layout
        Where the blocks keep their parts; for all but "attention" and "gradient", which need none.
    progress
        For "value_zeroing".

    Examples
    --------
    >>> from attnflow import edges, paper
    >>> shipped = paper.load()
    >>> edges.edge_graph(shipped.model, shipped.tokenizer, "the key", "norms")
    AttentionGraph(layers=6, nodes=4)
    """
    _ = check_layout(layout)
    checks.check_progress(progress)
    if not isinstance(cast("object", text), str | Inputs):
        raise InputError(f"text: expected one text, a str, got {type(text).__name__}")
    settings: dict[str, Any] = {}
    if edges == "gradient":
        settings = {"target": target, "against": against, "position": position}
    elif edges != "attention":
        settings = {"layout": layout}
    if edges == "value_zeroing":
        settings["progress"] = progress
    return _FUNCTIONS[check_edges(edges)](model, tokenizer, text, **settings)
