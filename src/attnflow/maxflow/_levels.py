"""Breadth-first search in the residual graph, a bit set at a time (Dinic's level graph).

Dinitz, Y. (2006), Dinitz' algorithm: the original version and Even's version,
https://doi.org/10.1007/11685654_10
"""

import numpy as np

from attnflow.maxflow._intrinsics import inlined, kernel, lowest
from attnflow.maxflow._state import EXCESS, NONE, ONE, bit, holds


@kernel
def find_levels(state, top, source):
    """Level graph from nodes of layer `top` with supply left to the nearest target.

    Targets are nodes of layer 1 with residual capacity into the sink and, while there is excess,
    node `source` of layer `top`. Returns the level of the target, or −1 where no path leads to one:
    `visited` is then the source's side of a minimum cut.
    """
    words = state.words
    stride = (top + 1) * words
    for w in range(stride):
        state.levels[w] = NONE
        state.visited[w] = NONE
    for k in range(state.nodes):
        if state.supply[k] > 0.0:
            state.levels[top * words + (k >> 6)] |= bit(k)
    for w in range(top * words, stride):
        state.visited[w] = state.levels[w]
    level = np.int64(0)
    while True:
        start = level * stride
        if _keep_targets(state, start, top, source):
            _drop_dead_ends(state, level, top)
            return level
        if level + 2 >= state.most_levels:  # impossible: a level holds at least one new node
            return -2
        _step(state, start, start + stride, top)
        found = NONE
        for w in range(words, stride):
            new = state.levels[start + stride + w] & ~state.visited[w]
            state.levels[start + stride + w] = new
            state.visited[w] |= new
            found |= new
        if found == NONE:
            return -1
        level += 1


@inlined
def _keep_targets(state, start, top, source):
    """Whether the level at `start` holds a target; if so, only targets are left in it."""
    words = state.words
    hit = NONE
    for w in range(words):
        hit |= state.levels[start + words + w] & state.sink_open[w]
    takes_excess = state.totals[EXCESS] > 0.0 and holds(state.levels, start + top * words, source)
    if hit == NONE and not takes_excess:
        return False
    for w in range(words):
        state.levels[start + words + w] &= state.sink_open[w]
    for w in range(2 * words, (top + 1) * words):
        state.levels[start + w] = NONE
    if takes_excess:
        state.levels[start + top * words + (source >> 6)] |= bit(source)
    return True


@inlined
def _step(state, start, following, top):
    """All nodes one edge from the level at `start`: down by residual capacity, up by flow."""
    for w in range((top + 1) * state.words):
        state.levels[following + w] = NONE
    for layer in range(1, top + 1):
        if layer > 1:
            _step_down(state, start, following, layer)
        if layer < top:
            _step_up(state, start, following, layer)


@inlined
def _step_down(state, start, following, layer):
    """Nodes below to which the level has residual capacity; stops once it has all new nodes."""
    words = state.words
    below = following + (layer - 1) * words
    for w in range(words):
        left = state.levels[start + layer * words + w]
        while left != NONE:
            row = (layer * state.nodes + (w << 6) + lowest(left)) * words
            left &= left - ONE
            missing = NONE
            for q in range(words):
                state.levels[below + q] |= state.open[row + q]
                new = state.all_nodes[q] & ~state.visited[(layer - 1) * words + q]
                missing |= new & ~state.levels[below + q]
            if missing == NONE:
                return


@inlined
def _step_up(state, start, following, layer):
    """Nodes above that send to the level, one by one: bits of flow are stored by rows."""
    nodes, words = state.nodes, state.words
    here = start + layer * words
    anyone = NONE
    for w in range(words):
        anyone |= state.levels[here + w]
    if anyone == NONE:
        return
    above = (layer + 1) * words
    for w in range(words):
        left = state.all_nodes[w] & ~state.visited[above + w]
        found = NONE
        while left != NONE:
            u = (w << 6) + lowest(left)
            left &= left - ONE
            row = ((layer + 1) * nodes + u) * words
            common = NONE
            for q in range(words):
                common |= state.used[row + q] & state.levels[here + q]
            found |= bit(u) if common != NONE else NONE
        state.levels[following + above + w] |= found


@inlined
def _drop_dead_ends(state, target_level, top):
    """Leave only nodes from which the level graph leads on to a target."""
    nodes, words = state.nodes, state.words
    stride = (top + 1) * words
    for level in range(target_level - 1, -1, -1):
        start = level * stride
        following = start + stride
        for layer in range(1, top + 1):
            for w in range(words):
                left = state.levels[start + layer * words + w]
                kept = NONE
                while left != NONE:
                    u = (w << 6) + lowest(left)
                    left &= left - ONE
                    row = (layer * nodes + u) * words
                    common = NONE
                    if layer > 1:
                        for q in range(words):
                            common |= (
                                state.open[row + q]
                                & state.levels[following + (layer - 1) * words + q]
                            )
                    if layer < top:
                        above = (layer + 1) * words
                        for q in range(words):
                            common |= (
                                state.used_from[row + q] | state.rewritten[above + q]
                            ) & state.levels[following + above + q]
                    if common != NONE:
                        kept |= bit(u)
                state.levels[start + layer * words + w] = kept
