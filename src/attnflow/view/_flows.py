"""Scores that a page is given: those that came, and flow, which Python computes faster."""

from collections.abc import Iterable
from typing import Any

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.methods import flow, raw, rollout
from attnflow.types import TokenAttention
from attnflow.view._shown import Content

# Chosen: flow of all queries is computed for as many tokens as a picture has room for, and for as
# many pairs as take a second or two on one core (12 layers of 64 tokens).
_TOKENS, _PAIRS = 64, 12 * 64**2


def computed(
    found: Content,
    flow_queries: Iterable[int] | int | None,
    *,
    threads: int | None,
    progress: checks.Progress | None,
) -> tuple[TokenAttention, ...]:
    """The scores of the document; raw and rollout only where the page cannot compute them.

    Layers of a graph that do not have all of the queries are left out.
    """
    source = found.attention or found.graph
    if source is None:
        if flow_queries is not None:
            raise InputError(
                "flow_queries came with scores, of which no flow can be computed; leave it out, "
                "or show the attention or graph"
            )
        return found.scores
    queries = _queries(found, flow_queries)
    single_head = found.graph is not None and found.graph.tops is not None
    if not queries and not single_head:
        return ()
    queries = queries or (found.query,)
    above = range(1, len(found.sizes))
    layers = [layer for layer in above if found.sizes[layer] > max(queries)]
    if not layers:
        raise InputError(
            f"flow_queries has {max(queries)}; the largest layer has queries 0 to "
            f"{max(found.sizes[1:]) - 1}"
        )
    rows: dict[str, Any] = {"layers": layers, "queries": queries}
    flows = flow(source, **rows, threads=threads, progress=progress)
    return (raw(source, **rows), rollout(source, **rows), flows) if single_head else (flows,)


def _queries(found: Content, asked: Iterable[int] | int | None) -> tuple[int, ...]:
    """Positions whose flow is computed: all of a small graph, else the one that is seen first."""
    if asked is not None:
        return checks.as_ints(asked, "flow_queries")
    common = min(found.sizes[1:])
    pairs = (len(found.sizes) - 1) * common * found.sizes[0]
    small = max(found.sizes) <= _TOKENS and pairs <= _PAIRS
    return tuple(range(common)) if small else (found.query,)
