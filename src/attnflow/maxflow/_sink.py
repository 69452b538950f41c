"""All wanted flows to one sink, and those that need no search because others prove them.

The supplies that layer d − 1 can route to a sink form a polymatroid: x can be routed if and only
if every set S of nodes has x(S) <= f(S), the maximum flow from S (Megiddo 1974,
https://doi.org/10.1007/BF01585506). f(S) is at least F(k) for every k in S, and S -> max F(k) is
the rank of a smaller polymatroid, in which the largest x below a row `top` has a closed form:

    min over t of  t + sum of top[k] over the nodes with F(k) > t,    or all of the row if less.

Where this meets the upper bound, it is the flow. On real attention it does so for nearly all
sources from layer 6 on, and in the end for all: then every F is the same, the flow is saturated.

Row sums of one differ in their last bits once they are rounded, so exact equality would never be
met. A flow that is proved to within 2⁻³⁵ of what source and sink allow is given as just that,
however it was found. So values do not depend on the order of the work, and saturated rows are
equal.
"""

import numpy as np

from attnflow.maxflow._climb import climb, upper_bound
from attnflow.maxflow._intrinsics import kernel
from attnflow.maxflow._levels import find_levels
from attnflow.maxflow._state import open_state, restore

# Chosen here: 2⁻³⁵ is 3e-11, far above the rounding of a row sum and far below the gap of 1e-9 that
# a proof may have.
_NEARLY = 1.0 - 2.0**-35


@kernel
def solve_sink(workspace, known, sink, sources, depth, reach):
    """Fill `known.upper` with the flows from `sources` of layers 1 to `depth` to `sink`.

    Layers up to `reach` are searched for all sources before saturation is tried, since a search
    keeps its flow from layer to layer and saturation must know all sources of the layer below.
    Returns the reach that would have been best, a guess for the next sink; −1 where a proof fails.
    """
    state = open_state(workspace)
    _forget(state, known, sink)
    for source in sources:
        if not _climb_and_restore(state, known, sink, source, min(reach, depth)):
            return -1
    for d in range(reach + 1, depth + 1):
        falling = _falling(known, d - 1)
        for source in sources:
            if not _follows(state, known, d, source, falling) and not _climb_and_restore(
                state, known, sink, source, d
            ):
                return -1
    best = _best_reach(state, known, sources, depth)
    _round_up(state, known, sources, depth)
    return best


@kernel
def _climb_and_restore(state, known, sink, source, depth):
    proved = climb(state, known, sink, source, depth)
    sound = restore(state, depth, sink, source)
    return proved and sound


@kernel
def _forget(state, known, sink):
    """Only the sink's own capacity is known yet."""
    capacity = 0.0
    for k in range(state.nodes):
        capacity += state.capacity[(state.nodes + k) * state.nodes + sink]
    known.upper[:] = capacity
    known.lower[:] = 0.0
    known.found[:] = 0


@kernel
def _ceiling(state, known, d, source):
    """The smaller of what a source of layer d may send and what the sink may take."""
    top = (d * state.nodes + source) * state.nodes
    sends = 0.0
    for k in range(state.nodes):
        sends += state.capacity[top + k]
    return min(sends, known.upper[0, 0])


@kernel
def _falling(known, d):
    """The nodes of layer d by what is proved of their flow, largest first."""
    return np.argsort(-known.lower[d])


@kernel
def _proved(state, known, d, source, falling):
    """The flow that the flows of the layer below prove for a source of layer d."""
    top = (d * state.nodes + source) * state.nodes
    least = known.upper[0, 0]
    larger = 0.0  # the part of the row whose nodes have a larger flow
    for k in falling:
        if larger >= least:
            return least
        least = min(least, known.lower[d - 1, k] + larger)
        larger += state.capacity[top + k]
    return min(least, larger)


@kernel
def _follows(state, known, d, source, falling):
    """Whether the flow of a source is known, or follows from the layer below and is known now."""
    if known.lower[d, source] == known.upper[d, source]:
        return True
    bound = upper_bound(state, known, d, (d * state.nodes + source) * state.nodes)
    proved = min(bound, _proved(state, known, d, source, falling))
    if proved < bound and proved < _NEARLY * _ceiling(state, known, d, source):
        return False
    known.lower[d, source] = proved
    known.upper[d, source] = bound
    return True


@kernel
def _best_reach(state, known, sources, depth):
    """The last layer in which more than an eighth of the sources needs a search.

    A source that is searched alone starts again from layer 1. An eighth was chosen by trial.
    """
    for d in range(depth, 2, -1):
        falling = _falling(known, d - 1)
        searched = 0
        for source in sources:
            if _proved(state, known, d, source, falling) < _NEARLY * known.upper[d, source]:
                searched += 1
        if 8 * searched > len(sources):
            return d
    return 2


@kernel
def _round_up(state, known, sources, depth):
    """Let `upper` be the values: the ceiling where the flow nearly is, else the flow itself."""
    for d in range(3, depth + 1):
        for source in sources:
            ceiling = _ceiling(state, known, d, source)
            if known.lower[d, source] >= _NEARLY * ceiling:
                known.upper[d, source] = ceiling


@kernel
def climb_alone(workspace, known, sink, source, depth):
    """One climb, with its flow left in the workspace and its cut in `seen`; False without proof."""
    state = open_state(workspace)
    _forget(state, known, sink)
    return climb(state, known, sink, source, depth) and find_levels(state, depth - 1, source) == -1
