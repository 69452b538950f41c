"""All flows to one sink, and those that need no search because others prove them.

The supplies that layer d − 1 can route to a sink form a polymatroid: x can be routed if and only
if every set S of nodes has x(S) <= f(S), the maximum flow from S (Megiddo 1974,
https://doi.org/10.1007/BF01585506). f(S) is at least F(k) for every k in S, and S -> max F(k) is
the rank of a smaller polymatroid, in which the largest x below a row `top` has a closed form:

    min over t of  t + sum of top[k] over the nodes with F(k) > t,    or all of the row if less.

Where this equals the upper bound, it is the flow. On real attention it does so for nearly all
sources from layer 6 on, and in the end for all: then every F is the same, the flow is saturated.

Row sums of one differ in their last bits once they are rounded, so the two would never be equal. A
flow that is proved to within 2⁻³⁵ of what source and sink allow is set to just that, however it was
found. So values do not depend on the order of the work, and saturated rows are equal.
"""

import numpy as np

from attnflow.maxflow._intrinsics import entry, kernel
from attnflow.maxflow._levels import find_levels
from attnflow.maxflow._network import NEARLY
from attnflow.maxflow._source import solve_source, upper_bound
from attnflow.maxflow._state import open_state, restore


@entry
def solve_sink(workspace, bounds, sink, sources, depth, search_depth, keep):
    """Fill `bounds.upper` with the flows from `sources` of layers 1 to `depth` to `sink`.

    Layers up to `search_depth` are searched for all sources before saturation is tried, since a
    search keeps its flow from layer to layer and saturation needs all sources of the layer below.
    Returns the depth that would have been best, an estimate for the next sink; −1 where a proof
    fails. With `keep` the flow of the first source of layer `search_depth` stays in the workspace,
    its cut in `visited`, and nothing else is solved.
    """
    state = open_state(workspace)
    _reset(state, bounds, sink)
    # One call of each kernel: its code is compiled again wherever it is called.
    for d in range(min(search_depth, depth), depth + 1):
        order = _by_lower_bound(bounds, d - 1)
        for source in sources:
            if d > search_depth and _settle_without_search(state, bounds, d, source, order):
                continue
            proved = solve_source(state, bounds, sink, source, d)
            if keep:
                return 0 if proved and find_levels(state, d - 1, source) == -1 else -1
            sound = restore(state, d, sink, source)
            if not (proved and sound):
                return -1
    best = _best_search_depth(state, bounds, sources, depth)
    _round_up(state, bounds, sources, depth)
    return best


def solve_one_source(workspace, bounds, sink, source, depth):
    """Solve one source; its flow stays in the workspace, its cut in `visited`. False: no proof."""
    keep = True
    return solve_sink(workspace, bounds, sink, np.array([source]), depth, depth, keep) == 0


@kernel
def _reset(state, bounds, sink):
    """Nothing is known yet but the sink's own capacity."""
    capacity = 0.0
    for k in range(state.nodes):
        capacity += state.capacity[(state.nodes + k) * state.nodes + sink]
    bounds.upper[:] = capacity
    bounds.lower[:] = 0.0
    bounds.found[:] = 0


@kernel
def _ceiling(state, bounds, d, source):
    """The smaller of what a source of layer d may send and what the sink may take."""
    top = (d * state.nodes + source) * state.nodes
    sends = 0.0
    for k in range(state.nodes):
        sends += state.capacity[top + k]
    return min(sends, bounds.upper[0, 0])


@kernel
def _by_lower_bound(bounds, d):
    """The nodes of layer d by their lower bounds, largest first.

    Shell's method: `np.argsort` takes seconds to compile, and this is a small part of the work.
    """
    nodes = bounds.lower.shape[1]
    order = np.empty(nodes, np.int64)
    for k in range(nodes):
        order[k] = k
    gap = nodes // 2
    while gap > 0:
        for i in range(gap, nodes):
            k = order[i]
            value = bounds.lower[d, k]
            j = i
            while j >= gap and bounds.lower[d, order[j - gap]] < value:
                order[j] = order[j - gap]
                j -= gap
            order[j] = k
        gap //= 2
    return order


@kernel
def _lower_bound(state, bounds, d, source, order):
    """The flow from a source of layer d that the lower bounds of the layer below prove."""
    top = (d * state.nodes + source) * state.nodes
    least = bounds.upper[0, 0]
    larger = 0.0  # the part of the row whose nodes have a larger flow
    for k in order:
        if larger >= least:
            return least
        least = min(least, bounds.lower[d - 1, k] + larger)
        larger += state.capacity[top + k]
    return min(least, larger)


@kernel
def _settle_without_search(state, bounds, d, source, order):
    """Whether the flow of a source is known, or was set because the layer below proves it."""
    if bounds.lower[d, source] == bounds.upper[d, source]:
        return True
    bound = upper_bound(state, bounds, d, (d * state.nodes + source) * state.nodes)
    proved = min(bound, _lower_bound(state, bounds, d, source, order))
    if proved < bound and proved < NEARLY * _ceiling(state, bounds, d, source):
        return False
    bounds.lower[d, source] = proved
    bounds.upper[d, source] = bound
    return True


@kernel
def _best_search_depth(state, bounds, sources, depth):
    """The last layer in which more than an eighth of the sources need a search.

    A source that is searched alone starts again from layer 1. An eighth was chosen by trial.
    """
    for d in range(depth, 2, -1):
        order = _by_lower_bound(bounds, d - 1)
        searched = 0
        for source in sources:
            if _lower_bound(state, bounds, d, source, order) < NEARLY * bounds.upper[d, source]:
                searched += 1
        if 8 * searched > len(sources):
            return d
    return 2


@kernel
def _round_up(state, bounds, sources, depth):
    """Let `upper` be the values: the ceiling where the flow nearly is, else the flow itself."""
    for d in range(3, depth + 1):
        for source in sources:
            ceiling = _ceiling(state, bounds, d, source)
            if bounds.lower[d, source] >= NEARLY * ceiling:
                bounds.upper[d, source] = ceiling
