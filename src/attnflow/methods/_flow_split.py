"""Flow to all tokens at once, and how it is divided among them."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import cast, get_args

import numpy as np

from attnflow._internal import checks
from attnflow._internal.memory import available_bytes
from attnflow.errors import InputError, SolverError
from attnflow.maxflow import Objective, solve_pair, split_flow
from attnflow.methods._selection import check_onto, graph_of
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention, FlowSplit

# Bytes for each pair of nodes of neighbouring layers, and for each edge between them. Measured, as
# the growth of the process at its peak: 12 layers of 256 tokens, 24 of 128.
_PAIR_BYTES, _EDGE_BYTES = 40, 200
# Smallest and largest weight of a barrier, in units of the maximum flow, that float64 allows: its
# products with numbers of edges and flows on them must neither underflow nor overflow. Chosen.
_LEAST, _MOST = 1e-290, 1e250
# Less than the default weight of a barrier, in units of the maximum flow: that is 1e-8 divided by
# twice the number of edges, for graphs of fewer than 5e7 edges above 1e-16. Chosen.
_DEFAULT_SHARE = 1e-16


def flow_split(
    x: Attention | EncoderDecoderAttention | AttentionGraph,
    *,
    layer: int | None = None,
    query: int | None = None,
    onto: int = 0,
    head: int | None = None,
    without: Iterable[int] | int = (),
    objective: Objective = "squares",
    mu: float | None = None,
) -> FlowSplit:
    """Return one maximum flow to all tokens together, and how much of it each token receives.

    `flow` is one maximum flow per token, and each may use all edges. Here tokens share the edges,
    so that their values add up. Many flows are maximum; `objective` selects one of them:

    - "squares" has the least sum of squares, `sum f²`, over the edges;
    - "log_barrier" maximizes `total + mu · sum (log f + log(u − f))`, with u the weight of an edge
      and `total` what all tokens receive, as generalized attention flow does.

    **The two give different values**: least squares may leave edges empty, and the barrier keeps
    every edge away from zero and from its weight. `settings` says which was used.
    Only edges of the graph count in the sums, and of these only edges on a path from the source to
    a token. None counts for entering at the source or leaving at a token.

    Parameters
    ----------
    x
        The attention of a model, whose `graph()` is used, or a graph. Generalized attention flow
        takes a graph without residual connections: `attention.graph(residual=0)` or
        `edges.gradient(…, identity=False)`. An unbounded edge has no `log(u − f)`.
    layer
        The layer of the source; by default the top.
    query
        The position of the source; by default all positions of the layer together. Then the values
        explain all outputs at once, and no single answer.
    onto, head, without
        As for `rollout`.
    objective
        "squares" or "log_barrier".
    mu
        Weight of the barrier, in the unit of the edge weights, above 0. With a barrier, the values
        add up to less than the maximum flow, by at most `2 · mu` times the number of edges on
        paths. By default this is 1e-8 of the maximum flow. Only for "log_barrier".

    Notes
    -----
    The maximum flow is exact and proved by a cut, as that of `max_flow`. The split is computed by
    an interior-point method and then checked: no edge carries more than its weight, nodes pass on
    what they get, the total is that of the maximum flow (with a barrier: less by what `mu` allows),
    and the conditions of the optimum hold; each to 1e-8 of the maximum flow, and for a barrier to
    1e-8 of the flow on each edge. Else a SolverError is raised.

    Takes `O(L n³)` for each of 20 to 70 steps, one to two seconds for 12 layers of 128 tokens, and
    memory of some `240 · L · n²` bytes, half of it for a causal model. A graph that
    needs more than there is is an InputError.
    Azarkhalili & Libbrecht (2025), https://doi.org/10.18653/v1/2025.acl-long.980

    Examples
    --------
    >>> import attnflow as af
    >>> g = af.AttentionGraph([[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> split = af.flow_split(g, query=0)
    >>> split
    FlowSplit('squares', value=1, tokens=2)
    >>> split.values.round(6)
    array([0.75, 0.25])
    """
    if objective not in get_args(Objective):
        expected = " or ".join(get_args(Objective))
        raise InputError(f"objective: expected {expected}, got {objective!r}")
    weight = _checked_mu(mu, objective)
    graph = graph_of(x, head=head, without=without)
    onto = check_onto(onto, graph)
    top = graph.n_layers
    layer = top if layer is None else checks.as_int(layer, "layer", least=onto + 1, most=top)
    size = graph.sizes[layer]
    if query is not None:
        query = checks.as_int(query, "query", least=0, most=size - 1)
    matrices = (*graph.layers[onto : layer - 1], graph.top(layer))
    _check_memory(matrices)
    sources = range(size) if query is None else [query]
    try:
        # What overflows on the way is no solution, and the solution is checked.
        with np.errstate(over="ignore", invalid="ignore"):
            split = split_flow(matrices, sources, objective, weight)
    except SolverError as reason:
        if objective == "log_barrier":
            value = solve_pair(matrices, sources, range(matrices[0].shape[1])).value
            _check_range(weight, value, reason)
        raise
    return FlowSplit(
        value=split.value,
        values=split.flows[0].sum(axis=0),
        tokens=graph.names(onto),
        flows=[
            split.flows[number - onto] if onto <= number < layer else np.zeros(m.shape)
            for number, m in enumerate(graph.layers)
        ],
        settings={
            **graph.settings,
            "layer": layer,
            "query": query,
            "onto": onto,
            "objective": objective,
            **({} if objective == "squares" else {"mu": split.mu}),
        },
    )


def _check_memory(matrices: Sequence[checks.Floats]) -> None:
    """Reject graphs for which the memory does not suffice."""
    needed = sum(_PAIR_BYTES * m.size + _EDGE_BYTES * np.count_nonzero(m) for m in matrices)
    available = available_bytes()
    if available is not None and needed > available:
        raise InputError(
            f"flow_split needs about {needed / 2**30:,.1f} GiB of memory for layers of "
            f"{len(matrices[0]):,} positions, and {available / 2**30:,.1f} GiB are available. "
            "Memory grows with the square of the length: use a shorter input, a lower layer, or "
            "flow, which needs less"
        )


def _checked_mu(mu: object, objective: Objective) -> float | None:
    if mu is None:
        return None
    if objective == "squares":
        raise InputError(
            f'mu must be None for objective="squares", which has no barrier, got {mu!r}. Leave it '
            'out, or pass objective="log_barrier"'
        )
    real = isinstance(mu, Real) and not isinstance(mu, bool | np.bool)
    if not real or not 0 < cast("float", mu) < np.inf:
        raise InputError(f"mu must be a number above 0, got {mu!r}")
    return float(cast("float", mu))


def _check_range(mu: float | None, value: float, reason: SolverError) -> None:
    """Raise an InputError if float64 has no room for the barrier of a split that failed."""
    if mu is None and value * _DEFAULT_SHARE < np.finfo(np.float64).tiny:
        raise InputError(
            f"the weights of the graph are too small for a barrier: the maximum flow is "
            f"{value:.3g}, and its share for the barrier is below the smallest float64. Multiply "
            'the weights, or pass objective="squares"'
        ) from reason
    if mu is not None and not _LEAST < mu / value < _MOST:
        raise InputError(
            f"mu must be {_LEAST:g} to {_MOST:g} times the maximum flow, {value:.3g}, got {mu!r}. "
            "Leave it out for a small barrier"
        ) from reason
