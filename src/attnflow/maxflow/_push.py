"""A blocking flow in the level graph: push from every supply until no path of it is left."""

import numpy as np

from attnflow.maxflow._intrinsics import inlined, kernel, lowest
from attnflow.maxflow._state import (
    ARRIVED,
    EXCESS,
    NONE,
    ONE,
    bit,
    holds,
    mark_used,
    send,
    withdraw,
)


@kernel
def push_supplies(state, top, source, target_level, enough):
    """Push along the level graph from all supplies, until `enough` arrived without excess."""
    start = top * state.words
    for k in range(state.nodes):
        if state.supply[k] > 0.0 and holds(state.levels, start, k):
            state.supply[k] -= _push(state, top, source, target_level, k)
            if state.totals[EXCESS] <= 0.0 and state.totals[ARRIVED] >= enough:
                break


@kernel
def _push(state, top, source, target_level, first):
    """Push the supply of node `first` of layer `top` depth first; returns what was taken from it.

    Step p of the path stands on a node of level p, was offered `path_limit[p]`, and has passed on
    `path_sent[p]` so far. A node that cannot pass on all it is offered leaves the level graph.
    """
    words = state.words
    stride = (top + 1) * words
    p = np.int64(0)
    state.path_layer[0] = top
    state.path_node[0] = first
    state.path_limit[0] = state.supply[first]
    state.path_sent[0] = 0.0
    while True:
        layer = state.path_layer[p]
        u = state.path_node[p]
        done = True
        if p == target_level:
            state.path_sent[p] = _deliver(state, top, source, layer, u, state.path_limit[p])
        elif layer == 2 and p == target_level - 1:
            _deliver_below(state, top, source, u, p)
        else:
            v, upwards = _next_node(state, top, layer, u, (p + 1) * stride)
            if v >= 0:
                done = False
                p += 1
                _offer(state, p, layer, u, v, upwards)
        while done:  # step back, and further while the node before has passed on all it had
            sent = state.path_sent[p]
            if p == 0:
                return sent
            v = state.path_node[p]
            below = state.path_layer[p] < state.path_layer[p - 1]
            if sent < state.path_limit[p]:
                state.levels[p * stride + state.path_layer[p] * words + (v >> 6)] &= ~bit(v)
            p -= 1
            if sent > 0.0:
                if below:
                    send(state, state.path_layer[p], state.path_node[p], v, sent)
                else:
                    withdraw(state, state.path_layer[p] + 1, v, state.path_node[p], sent)
                state.path_sent[p] += sent
            done = state.path_sent[p] >= state.path_limit[p]


@inlined
def _offer(state, p, layer, u, v, upwards):
    """Make v, a neighbour of node u of `layer`, step p: it is offered what u has and can send."""
    if upwards:
        edge = ((layer + 1) * state.nodes + v) * state.nodes + u
        most = state.capacity[edge] - state.residual[edge]
        state.path_layer[p] = layer + 1
    else:
        most = state.residual[(layer * state.nodes + u) * state.nodes + v]
        state.path_layer[p] = layer - 1
    state.path_node[p] = v
    state.path_limit[p] = min(state.path_limit[p - 1] - state.path_sent[p - 1], most)
    state.path_sent[p] = 0.0


@inlined
def _next_node(state, top, layer, u, following):
    """A neighbour of node u in the next level: (node, whether it lies above), node −1 for none.

    Straight down comes first: with residual connections that edge is the widest.
    """
    nodes, words = state.nodes, state.words
    row = (layer * nodes + u) * words
    if layer > 1:
        below = following + (layer - 1) * words
        if holds(state.open, row, u) and holds(state.levels, below, u):
            return u, False
        for w in range(words):
            common = state.open[row + w] & state.levels[below + w]
            if common != NONE:
                return (w << 6) + lowest(common), False
    if layer < top:
        above = (layer + 1) * words
        for w in range(words):
            common = (state.used_from[row + w] | state.rewritten[above + w]) & state.levels[
                following + above + w
            ]
            while common != NONE:
                v = (w << 6) + lowest(common)
                common &= common - ONE
                if holds(state.used, ((layer + 1) * nodes + v) * words, u):
                    return v, True
    return -1, False


@inlined
def _deliver(state, top, source, layer, u, limit):
    """Let a target take up to `limit`; returns what it took."""
    if layer == 1 and state.sink_residual[u] > 0.0:
        taken = min(limit, state.sink_residual[u])
        state.sink_residual[u] -= taken
        state.totals[ARRIVED] += taken
        if state.sink_residual[u] <= 0.0:
            state.sink_open[u >> 6] &= ~bit(u)
        return taken
    if layer == top and u == source:
        taken = min(limit, state.totals[EXCESS])
        state.totals[EXCESS] -= taken
        return taken
    return 0.0


@inlined
def _deliver_below(state, top, source, u, p):
    """Node u of layer 2 sends to all targets next to it at once: the innermost loop of a solve."""
    nodes, words = state.nodes, state.words
    number = 2 * nodes + u
    row = number * nodes
    limit = state.path_limit[p]
    sent = state.path_sent[p]
    before = sent
    for w in range(words):
        targets = state.open[number * words + w] & state.sink_open[w]
        filled = NONE
        used = NONE
        while targets != NONE and sent < limit:
            v = (w << 6) + lowest(targets)
            targets &= targets - ONE
            residual = state.residual[row + v]
            sink_residual = state.sink_residual[v]
            amount = min(limit - sent, residual, sink_residual)
            state.residual[row + v] = residual - amount
            state.sink_residual[v] = sink_residual - amount
            sent += amount
            used |= bit(v)
            mark_used(state, np.int64(2), u, v)
            filled |= bit(v) if amount >= residual else NONE
            state.sink_open[w] &= ~(bit(v) if amount >= sink_residual else NONE)
        state.open[number * words + w] &= ~filled
        state.used[number * words + w] |= used
    state.totals[ARRIVED] += sent - before
    if sent < limit and top == 3 and state.totals[EXCESS] > 0.0:
        edge = (3 * nodes + source) * nodes + u
        amount = min(
            limit - sent, state.totals[EXCESS], state.capacity[edge] - state.residual[edge]
        )
        if amount > 0.0:
            withdraw(state, np.int64(3), source, u, amount)
            state.totals[EXCESS] -= amount
            sent += amount
    state.path_sent[p] = sent
