"""The current flow: how it changes, edge by edge or row by row, and how it is removed."""

import numpy as np
from numpy.typing import NDArray

from attnflow.maxflow._intrinsics import entry, greater_than, inlined, kernel, lowest
from attnflow.maxflow._workspace import STATE_WORDS, NarrowWorkspace, Workspace, open_state

NONE = np.uint64(0)
ONE = np.uint64(1)
_POSITION = np.uint64(63)
_BYTE = np.uint64(8)

# Places in `totals`.
ARRIVED = 0  # what arrived at the sink since the last depth
EXCESS = 1  # what the source's column still carries beyond its supply

# An edit packs layer, node above and node below into one integer.
_NODE_BITS = 20
_NODE_MASK = (1 << _NODE_BITS) - 1


def new_workspace(capacity: NDArray[np.float64]) -> Workspace:
    """An empty flow in a network of capacities (layer, node, node below), layer 0 unused."""
    layers, nodes, _ = capacity.shape
    words = (nodes + 63) // 64
    most_levels = layers * nodes + 2  # a level holds at least one new node
    row_bits = (layers, nodes, words)
    kind = NarrowWorkspace if words == 1 else Workspace
    workspace = kind(
        capacity=capacity,
        residual=capacity.copy(),
        all_nodes=np.zeros(words, np.uint64),
        all_open=np.zeros(row_bits, np.uint64),
        open=np.zeros(row_bits, np.uint64),
        used=np.zeros(row_bits, np.uint64),
        used_from=np.zeros(row_bits, np.uint64),
        rewritten=np.zeros((layers, words), np.uint64),
        # Real attention needs some five edits a node and layer; beyond this, rows are restored.
        edits=np.zeros(64 * layers * nodes, np.int64),
        supply=np.zeros(nodes),
        sink_residual=np.zeros(nodes),
        sink_open=np.zeros(words, np.uint64),
        carried=np.zeros(nodes),
        carried_open=np.zeros(words, np.uint64),
        zeros=np.zeros(8),
        levels=np.zeros((most_levels, layers, words), np.uint64),
        visited=np.zeros((layers, words), np.uint64),
        path_layer=np.zeros(most_levels, np.int64),
        path_node=np.zeros(most_levels, np.int64),
        path_limit=np.zeros(most_levels),
        path_sent=np.zeros(most_levels),
        balance=np.zeros((layers, nodes)),
        totals=np.zeros(2),
        struct=np.zeros(STATE_WORDS, np.int64),
    )
    _mark_all(workspace)
    return workspace


@entry
def _mark_all(workspace):
    state = open_state(workspace)
    for k in range(state.nodes):
        state.all_nodes[k >> 6] |= bit(k)
    for number in range(state.nodes, workspace.capacity.shape[0] * state.nodes):
        mark_row(state, number)
        for w in range(number * state.words, (number + 1) * state.words):
            state.all_open[w] = state.open[w]


@inlined
def bit(node):
    """The word that has only the bit of `node` set."""
    return ONE << (np.uint64(node) & _POSITION)


@inlined
def holds(bits, start, node):
    """Whether `node` is in the bit set that starts at word `start`."""
    return bits[start + (node >> 6)] & bit(node) != NONE


@kernel
def mark_row(state, number):
    """Compute the bit sets of a node's row again."""
    row = number * state.nodes
    k = 0
    for w in range(number * state.words, (number + 1) * state.words):
        can_send = NONE
        sends = NONE
        shift = NONE
        end = min(state.nodes, k + 64)
        while k < end:
            can_send |= greater_than(state.residual, row + k, state.zeros, 0) << shift
            sends |= greater_than(state.capacity, row + k, state.residual, row + k) << shift
            shift += _BYTE
            k += 8
        state.open[w] = can_send
        state.used[w] = sends


@kernel
def mark_rewritten(state, layer, u):
    """Record that all edges of a node's row changed, and compute its bit sets."""
    state.rewritten[layer * state.words + (u >> 6)] |= bit(u)
    mark_row(state, layer * state.nodes + u)


@inlined
def mark_used(state, layer, u, v):
    """Record that the edge from node u of `layer` down to v carries flow."""
    count = state.edits[0] + 1
    if count < state.most_edits:
        column = ((layer - 1) * state.nodes + v) * state.words + (u >> 6)
        senders = state.used_from[column]
        state.used_from[column] = senders | bit(u)
        # Written in any case, and counted if it is new: a branch would be hard to predict.
        state.edits[count] = (((layer << _NODE_BITS) | u) << _NODE_BITS) | v
        state.edits[0] = count if senders & bit(u) == NONE else count - 1
    else:  # the list is full: all edges of the row are restored
        state.rewritten[layer * state.words + (u >> 6)] |= bit(u)


# Both without branches: whether an edge fills up is random, and a wrong prediction of the
# processor costs more than all of this.


@inlined
def send(state, layer, u, v, amount):
    """Let `amount` more run over the edge from node u of `layer` down to v."""
    number = layer * state.nodes + u
    edge = number * state.nodes + v
    word = number * state.words + (v >> 6)
    left = state.residual[edge] - amount
    state.residual[edge] = left
    mark_used(state, layer, u, v)
    state.used[word] |= bit(v)
    state.open[word] &= ~(NONE if left > 0.0 else bit(v))


@inlined
def withdraw(state, layer, u, v, amount):
    """Let `amount` less run over the edge from node u of `layer` down to v."""
    number = layer * state.nodes + u
    edge = number * state.nodes + v
    word = number * state.words + (v >> 6)
    column = ((layer - 1) * state.nodes + v) * state.words + (u >> 6)
    left = state.residual[edge] + amount
    state.residual[edge] = left
    is_used = left < state.capacity[edge]
    state.open[word] |= bit(v)
    state.used[word] &= ~(NONE if is_used else bit(v))
    state.used_from[column] &= ~(NONE if is_used else bit(u))


@kernel
def restore(state, depth, sink, source):
    """Remove the flow from node `source` of layer `depth`; False if it was not a flow.

    Undoes all edits and rewritten rows, so it visits every edge with flow: each must carry between
    zero and its capacity, and each node must pass on what it receives.
    """
    nodes = state.nodes
    sound = _undo_edits(state)
    for w in range(2 * state.words, (depth + 1) * state.words):
        layer = w // state.words
        rows = state.rewritten[w]
        state.rewritten[w] = NONE
        while rows != NONE:
            u = ((w - layer * state.words) << 6) + lowest(rows)
            rows &= rows - ONE
            sound &= _undo_row(state, layer, u)
    if depth > 2:  # the edges of source and sink are not in `residual`
        for k in range(nodes):
            top = (depth * nodes + source) * nodes + k
            into_sink = (nodes + k) * nodes + sink
            state.balance[(depth - 1) * nodes + k] += state.capacity[top] - state.supply[k]
            state.balance[nodes + k] -= state.capacity[into_sink] - state.sink_residual[k]
        for number in range(nodes, depth * nodes):
            sound &= state.balance[number] == 0.0
    for number in range(nodes, (depth + 1) * nodes):
        state.balance[number] = 0.0
    return sound


@kernel
def _undo_edits(state):
    nodes, words = state.nodes, state.words
    sound = True
    for e in range(1, state.edits[0] + 1):
        edit = state.edits[e]
        layer = edit >> (2 * _NODE_BITS)
        u = (edit >> _NODE_BITS) & _NODE_MASK
        v = edit & _NODE_MASK
        number = layer * nodes + u
        below = (layer - 1) * nodes + v
        full = state.capacity[number * nodes + v]
        flow = full - state.residual[number * nodes + v]
        sound &= 0.0 <= flow <= full
        state.balance[number] -= flow
        state.balance[below] += flow
        state.residual[number * nodes + v] = full
        # Complete words of bits, since all edits of a row are undone before it is read again.
        word = number * words + (v >> 6)
        state.open[word] = state.all_open[word]
        state.used[word] = NONE
        state.used_from[below * words + (u >> 6)] = NONE
    state.edits[0] = 0
    return sound


@kernel
def _undo_row(state, layer, u):
    nodes = state.nodes
    number = layer * nodes + u
    below = (layer - 1) * nodes
    row = number * nodes
    out = 0.0
    least = 0.0
    least_residual = 0.0
    for v in range(nodes):
        flow = state.capacity[row + v] - state.residual[row + v]
        least = min(least, flow)
        least_residual = min(least_residual, state.residual[row + v])
        out += flow
        state.balance[below + v] += flow
        state.residual[row + v] = state.capacity[row + v]
    state.balance[number] -= out
    for w in range(number * state.words, (number + 1) * state.words):
        state.open[w] = state.all_open[w]
        state.used[w] = NONE
    return least == 0.0 and least_residual == 0.0
