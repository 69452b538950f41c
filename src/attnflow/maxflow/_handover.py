"""One layer up with the flow kept: other nodes take over what the source's column carries.

The maximum flow of depth d − 1 from node i is a start for depth d, where node i of layer d − 1 is
one of many that are supplied. What it carries beyond its supply is a debt. Others pay it: node k
sends to v in place of i, for as much as k has supply and room and i sends to v. What nobody can
pay is taken back from the sink.
"""

import numpy as np

from attnflow.maxflow._intrinsics import kernel, lowest
from attnflow.maxflow._state import DEBT, NONE, ONE, bit, mark_rewritten, send, take_off


@kernel
def hand_over(state, top, source):
    """Pay the debt of node `source` of layer `top` from the supplies of the nodes beside it."""
    nodes = state.nodes
    base = top * nodes
    row = (base + source) * nodes
    debt = state.tally[DEBT]
    for v in range(nodes):
        state.carried[v] = state.capacity[row + v] - state.room[row + v]
    for k in range(nodes):  # straight down first: that edge is the widest, and touches one place
        straight = state.room[(base + k) * nodes + k]
        amount = min(state.supply[k], state.carried[k], debt, straight)
        if amount > 0.0 and k != source:
            send(state, top, k, k, amount)
            state.supply[k] -= amount
            state.carried[k] -= amount
            debt -= amount
    _mark_carried(state)
    for k in range(nodes):
        if debt <= 0.0:
            break
        if state.supply[k] > 0.0 and k != source:
            debt -= _take_over(state, top, k, min(state.supply[k], debt))
    for v in range(nodes):
        state.room[row + v] = state.capacity[row + v] - state.carried[v]
    mark_rewritten(state, top, source)
    state.tally[DEBT] = debt


@kernel
def _mark_carried(state):
    for w in range(state.words):
        state.carried_open[w] = NONE
    for v in range(state.nodes):
        if state.carried[v] > 0.0:
            state.carried_open[v >> 6] |= bit(v)


@kernel
def _take_over(state, top, k, limit):
    """Let node k carry up to `limit` of what the source carries, wherever it has room; how much."""
    number = top * state.nodes + k
    paid = 0.0
    for w in range(state.words):
        common = state.open[number * state.words + w] & state.carried_open[w]
        while common != NONE and paid < limit:
            v = (w << 6) + lowest(common)
            common &= common - ONE
            amount = min(state.room[number * state.nodes + v], state.carried[v], limit - paid)
            send(state, top, k, v, amount)
            state.carried[v] -= amount
            if state.carried[v] <= 0.0:
                state.carried_open[w] &= ~bit(v)
            paid += amount
    state.supply[k] -= paid
    return paid


@kernel
def take_back(state, top, source):
    """Undo as much of the flow from node `source` of layer `top` to the sink as is still owed."""
    nodes = state.nodes
    owed = np.zeros(nodes)
    owed[source] = state.tally[DEBT]
    state.tally[DEBT] = 0.0
    for layer in range(top, 1, -1):
        owed_below = np.zeros(nodes)
        for u in range(nodes):
            left = owed[u]
            v = 0
            while left > 0.0 and v < nodes:
                edge = (layer * nodes + u) * nodes + v
                amount = min(left, state.capacity[edge] - state.room[edge])
                if amount > 0.0:
                    take_off(state, layer, u, v, amount)
                    owed_below[v] += amount
                    left -= amount
                v += 1
        owed = owed_below
    for v in range(nodes):
        if owed[v] > 0.0:
            state.sink_room[v] += owed[v]
            state.sink_open[v >> 6] |= bit(v)
