"""Maximum flow from one node of every layer to one sink, depth by depth, each with its proof.

Depths 1 and 2 have closed forms. From then on the flow of the depth below is kept (`_reroute`), and
paths are added until the flow equals an upper bound or there is no augmenting path. The bounds:

- what the source may send, and what the sink may take;
- sum_k min(top[k], F(k)) with F(k) the maximum flow from node k one layer below;
- cuts found for other sources of the same depth and sink: only the top row differs.

A value counts only with its proof, in integers and without tolerance: what left the source equals
what arrived at the sink equals the bound, or equals the capacity of the cut that the last search
found, summed again from the capacities. When the flow is removed (`_state.restore`), every edge of
it is checked.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnflow.maxflow._intrinsics import kernel
from attnflow.maxflow._levels import find_levels
from attnflow.maxflow._push import push_supplies
from attnflow.maxflow._reroute import cancel_excess, reroute_excess
from attnflow.maxflow._state import ARRIVED, EXCESS, NONE, bit, holds, mark_rewritten

# How many cuts of a depth are kept to try on other sources. Eight was best among 4, 8 and 16 on
# real attention of 128 tokens.
CUTS_KEPT = 8


class SinkBounds(NamedTuple):
    """Bounds of the flows to one sink, by the sources that are solved.

    The flow from node k of layer d lies between `lower[d, k]`, zero as long as nothing is known,
    and `upper[d, k]`; after a search they are equal. `outside[d, q, k]` is one where node k of the
    top layer lies on the sink's side of cut q, whose capacity is `below[d, q]` without its edges
    from the source.
    """

    upper: NDArray[np.float64]  # upper[0] is the sink's own capacity
    lower: NDArray[np.float64]
    outside: NDArray[np.float64]
    below: NDArray[np.float64]
    found: NDArray[np.int64]  # (depth): how many cuts were found


def new_sink_bounds(layers: int, nodes: int) -> SinkBounds:
    """Empty bounds, for a network of that many layers including layer 0."""
    return SinkBounds(
        upper=np.zeros((layers, nodes)),
        lower=np.zeros((layers, nodes)),
        outside=np.zeros((layers, CUTS_KEPT, nodes)),
        below=np.zeros((layers, CUTS_KEPT)),
        found=np.zeros(layers, np.int64),
    )


@kernel
def solve_source(state, bounds, sink, source, depth):
    """Maximum flows from node `source` of layers 1 to `depth`; False where a proof fails.

    The values go into `bounds`. The flow of the last depth is left in `state`; so is, in
    `state.visited`, its cut if the last search found one.
    """
    nodes = state.nodes
    _settle(bounds, np.int64(1), source, state.capacity[(nodes + source) * nodes + sink])
    if depth == 1:
        return True
    value = _start(state, sink, source)
    _settle(bounds, np.int64(2), source, value)
    for d in range(3, depth + 1):
        value = _next_depth(state, bounds, sink, source, d, value)
        if value < 0.0:
            return False
        _settle(bounds, d, source, value)
        if d < depth:  # the source becomes a node of the layer below the next one
            top = (d * nodes + source) * nodes
            for k in range(nodes):
                state.residual[top + k] = state.supply[k]
            mark_rewritten(state, d, source)
    return True


@kernel
def _settle(bounds, d, source, value):
    bounds.lower[d, source] = value
    bounds.upper[d, source] = value


@kernel
def _next_depth(state, bounds, sink, source, d, value):
    """The maximum flow of depth d from that of depth d − 1; −1 where it has no proof."""
    top = (d * state.nodes + source) * state.nodes
    bound = upper_bound(state, bounds, d, top)
    for k in range(state.nodes):
        state.supply[k] = state.capacity[top + k]
    kept = min(value, state.supply[source])
    state.supply[source] -= kept
    state.totals[EXCESS] = value - kept
    state.totals[ARRIVED] = 0.0
    if state.totals[EXCESS] > 0.0:
        reroute_excess(state, d - 1, source)
    has_cut = False
    # Add paths until the flow equals the bound or no path is left.
    while state.totals[EXCESS] > 0.0 or value + state.totals[ARRIVED] < bound:
        level = find_levels(state, d - 1, source)
        if level >= 0:
            push_supplies(state, d - 1, source, level, bound - value)
        elif state.totals[EXCESS] > 0.0:
            value -= state.totals[EXCESS]
            cancel_excess(state, d - 1, source)
        else:
            has_cut = True
            break
    value += state.totals[ARRIVED]
    if not _adds_up(state, sink, top, value):
        return -1.0
    if has_cut:
        if _cut_capacity(state, sink, d, top) != value:
            return -1.0
        _keep_cut(state, bounds, d, top, value)
    elif value != bound:
        return -1.0
    return value


@kernel
def _start(state, sink, source):
    """The maximum flow of depth 2, paths of which share no edge; its value."""
    nodes = state.nodes
    row = (2 * nodes + source) * nodes
    value = 0.0
    for w in range(state.words):
        state.sink_open[w] = NONE
    for k in range(nodes):
        amount = min(state.capacity[row + k], state.capacity[(nodes + k) * nodes + sink])
        value += amount
        state.residual[row + k] = state.capacity[row + k] - amount
        state.sink_residual[k] = state.capacity[(nodes + k) * nodes + sink] - amount
        if state.sink_residual[k] > 0.0:
            state.sink_open[k >> 6] |= bit(k)
    mark_rewritten(state, np.int64(2), source)
    return value


@kernel
def upper_bound(state, bounds, d, top):
    """The least of the bounds for a source of layer d whose row starts at `top`."""
    through_nodes = 0.0
    for k in range(state.nodes):
        through_nodes += min(state.capacity[top + k], bounds.upper[d - 1, k])
    bound = min(through_nodes, bounds.upper[0, 0])
    for q in range(min(CUTS_KEPT, bounds.found[d])):
        through_cut = bounds.below[d, q]
        for k in range(state.nodes):
            through_cut += state.capacity[top + k] * bounds.outside[d, q, k]
        bound = min(bound, through_cut)
    return bound


@kernel
def _adds_up(state, sink, top, value):
    """Whether what left the source and what arrived at the sink both equal `value`."""
    left = 0.0
    arrived = 0.0
    for k in range(state.nodes):
        left += state.capacity[top + k] - state.supply[k]
        arrived += state.capacity[(state.nodes + k) * state.nodes + sink] - state.sink_residual[k]
    return left == value and arrived == value


@kernel
def _cut_capacity(state, sink, d, top):
    """The capacity of all edges that leave the nodes in `visited`, summed from the capacities."""
    nodes, words = state.nodes, state.words
    total = 0.0
    for k in range(nodes):
        if not holds(state.visited, (d - 1) * words, k):
            total += state.capacity[top + k]
        if holds(state.visited, words, k):
            total += state.capacity[(nodes + k) * nodes + sink]
    for layer in range(2, d):
        for v in range(nodes):
            state.carried[v] = 0.0 if holds(state.visited, (layer - 1) * words, v) else 1.0
        for u in range(nodes):
            if holds(state.visited, layer * words, u):
                row = (layer * nodes + u) * nodes
                for v in range(nodes):
                    total += state.capacity[row + v] * state.carried[v]
    return total


@kernel
def _keep_cut(state, bounds, d, top, value):
    """Store the cut in `visited` for the next sources."""
    q = bounds.found[d] % CUTS_KEPT
    bounds.found[d] += 1
    below = value
    for k in range(state.nodes):
        outside = 0.0 if holds(state.visited, (d - 1) * state.words, k) else 1.0
        bounds.outside[d, q, k] = outside
        below -= outside * state.capacity[top + k]
    bounds.below[d, q] = below
