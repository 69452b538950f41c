"""The scores in the document of a page: those passed, or flow, which Python computes faster."""

from collections.abc import Iterable
from typing import Any

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.methods import flow, raw, rollout, uniform_graph
from attnflow.types import AttentionGraph, TokenAttention
from attnflow.view._content import Content

# Flow of all queries is computed up to these limits. Chosen: the tokens a figure can show, and a
# second or two on one core (12 layers of 64 tokens).
_MAX_TOKENS, _MAX_PAIRS = 64, 12 * 64**2


def page_graph(found: Content, without: tuple[int, ...]) -> AttentionGraph | None:
    """Return the graph without these positions, if the weights are known; None of scores."""
    known = found.graph is not None and not without
    return found.graph if known or found.weights is None else found.weights.graph(without=without)


def page_scores(
    found: Content,
    flow_queries: Iterable[int] | int | None,
    *,
    graph: AttentionGraph | None,
    threads: int | None,
    progress: checks.Progress | None,
) -> tuple[TokenAttention, ...]:
    """Return the scores of the document; raw and rollout only if the page cannot compute them.

    `graph` is None if only scores are known. Layers of a graph without all of the queries are left
    out.
    """
    if graph is None:
        if flow_queries is not None:
            raise InputError(
                "flow_queries needs an attention or a graph, got scores. Leave it out, or pass the "
                "attention or graph"
            )
        return found.scores
    queries = _queries(found, flow_queries)
    single_head = graph.tops is not None
    if not queries and not single_head:
        return ()
    queries = queries or (found.query,)
    above = range(1, len(found.sizes))
    layers = [layer for layer in above if found.sizes[layer] > max(queries)]
    if not layers:
        raise InputError(
            f"flow_queries must be from 0 to {max(found.sizes[1:]) - 1}, the queries of the "
            f"largest layer, got {max(queries)}"
        )
    rows: dict[str, Any] = {"layers": layers, "queries": queries}
    flows = flow(graph, **rows, threads=threads, progress=progress)
    return (raw(graph, **rows), rollout(graph, **rows), flows) if single_head else (flows,)


def uniform_flow(
    graph: AttentionGraph,
    flows: TokenAttention,
    *,
    threads: int | None,
    progress: checks.Progress | None,
) -> TokenAttention:
    """Return the same rows of flow of uniform causal attention.

    The page could solve it, but not for all positions of a graph that Python solves.
    """
    rows: Any = {"layers": flows.layers, "queries": flows.queries, "threads": threads}
    return flow(uniform_graph(graph), **rows, progress=progress)


def _queries(found: Content, flow_queries: Iterable[int] | int | None) -> tuple[int, ...]:
    """Return the queries whose flow is computed: all of a small graph, else the selected one."""
    if flow_queries is not None:
        return checks.as_ints(flow_queries, "flow_queries")
    common = min(found.sizes[1:])
    pairs = (len(found.sizes) - 1) * common * found.sizes[0]
    small = max(found.sizes) <= _MAX_TOKENS and pairs <= _MAX_PAIRS
    return tuple(range(common)) if small else (found.query,)
