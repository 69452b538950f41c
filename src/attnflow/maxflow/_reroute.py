"""The flow of one depth as the start of the next: other nodes carry what exceeds the supply.

The maximum flow of depth d − 1 from node i is a start for depth d, where node i of layer d − 1 is
one of many nodes with a supply. What it carries beyond its supply is its excess. Other nodes carry
it instead: node k sends to v in place of i, as far as k has supply and residual capacity and i
sends to v. The excess that no node can carry is cancelled, from the source down to the sink.
"""

import numpy as np

from attnflow.maxflow._intrinsics import kernel, lowest
from attnflow.maxflow._state import EXCESS, NONE, ONE, bit, mark_rewritten, send, withdraw


@kernel
def reroute_excess(state, top, source):
    """Let other nodes of layer `top` carry the excess of node `source`, from their supplies."""
    nodes = state.nodes
    base = top * nodes
    row = (base + source) * nodes
    excess = state.totals[EXCESS]
    for v in range(nodes):
        state.carried[v] = state.capacity[row + v] - state.residual[row + v]
    for k in range(nodes):  # straight down first: with residual connections the widest edge
        straight = state.residual[(base + k) * nodes + k]
        amount = min(state.supply[k], state.carried[k], excess, straight)
        if amount > 0.0 and k != source:
            send(state, top, k, k, amount)
            state.supply[k] -= amount
            state.carried[k] -= amount
            excess -= amount
    _mark_carried(state)
    for k in range(nodes):
        if excess <= 0.0:
            break
        if state.supply[k] > 0.0 and k != source:
            excess -= _reroute_through(state, top, k, min(state.supply[k], excess))
    for v in range(nodes):
        state.residual[row + v] = state.capacity[row + v] - state.carried[v]
    mark_rewritten(state, top, source)
    state.totals[EXCESS] = excess


@kernel
def _mark_carried(state):
    for w in range(state.words):
        state.carried_open[w] = NONE
    for v in range(state.nodes):
        if state.carried[v] > 0.0:
            state.carried_open[v >> 6] |= bit(v)


@kernel
def _reroute_through(state, top, k, limit):
    """Let node k carry up to `limit` of what the source carries, where it can; returns how much."""
    number = top * state.nodes + k
    moved = 0.0
    for w in range(state.words):
        common = state.open[number * state.words + w] & state.carried_open[w]
        while common != NONE and moved < limit:
            v = (w << 6) + lowest(common)
            common &= common - ONE
            amount = min(state.residual[number * state.nodes + v], state.carried[v], limit - moved)
            send(state, top, k, v, amount)
            state.carried[v] -= amount
            if state.carried[v] <= 0.0:
                state.carried_open[w] &= ~bit(v)
            moved += amount
    state.supply[k] -= moved
    return moved


@kernel
def cancel_excess(state, top, source):
    """Remove the excess of node `source` of layer `top` from its flow down to the sink."""
    nodes = state.nodes
    remove = np.zeros(nodes)
    remove[source] = state.totals[EXCESS]
    state.totals[EXCESS] = 0.0
    for layer in range(top, 1, -1):
        below = np.zeros(nodes)
        for u in range(nodes):
            left = remove[u]
            v = 0
            while left > 0.0 and v < nodes:
                edge = (layer * nodes + u) * nodes + v
                amount = min(left, state.capacity[edge] - state.residual[edge])
                if amount > 0.0:
                    withdraw(state, layer, u, v, amount)
                    below[v] += amount
                    left -= amount
                v += 1
        remove = below
    for v in range(nodes):
        if remove[v] > 0.0:
            state.sink_residual[v] += remove[v]
            state.sink_open[v >> 6] |= bit(v)
