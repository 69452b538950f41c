# pyright: basic, reportMissingTypeStubs=false, reportUnusedCallResult=false
# Kernels are typed by Numba when they are compiled; strict checking sees only pointers here.
"""All wanted flows to one sink, and the layers that need no search because they are saturated.

What can be routed from layer d − 1 to a sink is convex, so a supply that is spread over nodes
whose own maximum flow reaches the bound can be routed whole: each sends a share of its own flow.
If such nodes take enough of a source's row, the flow from the source is the bound, without a
search. On real attention this holds for every source from some layer on. Row sums of one differ
in their last bits once they are rounded, so "reaches" means up to 2⁻⁴⁰ of the bound; a value found
this way is proved within 2⁻³⁹ for each such layer below it, some 1e-11 and not 1e-9 in all.
"""

from attnflow.maxflow._climb import climb, upper_bound
from attnflow.maxflow._intrinsics import kernel
from attnflow.maxflow._levels import find_levels
from attnflow.maxflow._state import open_state, restore

# Chosen here: far above the rounding of a row sum, far below the gap that a proof may have.
_NEARLY = 1.0 - 2.0**-40


@kernel
def solve_sink(workspace, known, sink, sources, depth, reach):
    """Fill `known` with the flows from `sources` of layers 1 to `depth` to `sink`.

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
        for source in sources:
            found = known.exact[d, source] == 1.0 or _follows(state, known, d, source)
            if not found and not _climb_and_restore(state, known, sink, source, d):
                return -1
    return _best_reach(state, known, sources, depth)


@kernel
def _climb_and_restore(state, known, sink, source, depth):
    proved = climb(state, known, sink, source, depth)
    sound = restore(state, depth, sink, source)
    return proved and sound


@kernel
def _forget(state, known, sink):
    """Only the sink's own capacity is known yet."""
    ceiling = 0.0
    for k in range(state.nodes):
        ceiling += state.capacity[(state.nodes + k) * state.nodes + sink]
    known.above[:] = ceiling
    known.exact[:] = 0.0
    known.found[:] = 0


@kernel
def _follows(state, known, d, source):
    """Whether saturation of the layer below gives the flow; if so, it is known from here on."""
    top = (d * state.nodes + source) * state.nodes
    bound = upper_bound(state, known, d, top)
    reached = 0.0
    for k in range(state.nodes):
        if known.exact[d - 1, k] == 1.0 and known.above[d - 1, k] >= _NEARLY * bound:
            reached += state.capacity[top + k]
    if reached < _NEARLY * bound:
        return False
    known.above[d, source] = bound
    known.exact[d, source] = 1.0
    return True


@kernel
def _best_reach(state, known, sources, depth):
    """The last layer in which more than an eighth of the sources needs a search.

    A source that is searched alone starts again from layer 1. An eighth was chosen by trial.
    """
    for d in range(depth, 2, -1):
        searched = 0
        for source in sources:
            if not _follows(state, known, d, source):
                searched += 1
        if 8 * searched > len(sources):
            return d
    return 2


@kernel
def climb_alone(workspace, known, sink, source, depth):
    """One climb, with its flow left in the workspace and its cut in `seen`; False without proof."""
    state = open_state(workspace)
    _forget(state, known, sink)
    return climb(state, known, sink, source, depth) and find_levels(state, depth - 1, source) == -1
