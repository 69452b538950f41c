# pyright: basic, reportMissingTypeStubs=false, reportUnusedCallResult=false
# Kernels are typed by Numba when they are compiled; strict checking sees only pointers here.
"""A flow under way: what runs over each edge, the bit sets that searches read, and the way back.

Node u of layer y is number `y * nodes + u`. Its row, edges to all nodes of the layer below, starts
at `number * nodes`; bit sets of nodes take `words` 64-bit words each. Layers are padded to `nodes`
nodes, a multiple of eight, by edges without capacity.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnflow.maxflow._intrinsics import (
    as_floats,
    as_integers,
    as_words,
    greater_than,
    kernel,
    lowest,
)

NONE = np.uint64(0)
ONE = np.uint64(1)
_POSITION = np.uint64(63)
_BYTE = np.uint64(8)

# Places in `tally`.
ARRIVED = 0  # what reached the sink since the last depth
DEBT = 1  # what the source's column still carries beyond its supply

# An edit packs layer, node above and node below into one integer.
_NODE_BITS = 20
_NODE_MASK = (1 << _NODE_BITS) - 1


class Workspace(NamedTuple):
    """The arrays of a flow under way, one workspace a thread.

    Invariants between kernels: `0 <= room <= capacity`; what runs over an edge is
    `capacity - room`; `open` has the bits with room, `used` the bits with flow. `used_from` is
    `used` by columns, node -> nodes above that send to it; it may miss rows named in `rewritten`
    and, once `edits` was full, have bits too many, so `used` is asked before it is believed.
    Every edge that differs from an empty flow is in `edits` or in a row of `rewritten`.
    """

    capacity: NDArray[np.float64]  # (layer, node, node below), never written
    room: NDArray[np.float64]  # like capacity: what can still be sent
    all_nodes: NDArray[np.uint64]  # the bits of all nodes of a layer
    all_open: NDArray[np.uint64]  # bits by row: capacity > 0
    open: NDArray[np.uint64]  # bits by row: room > 0
    used: NDArray[np.uint64]  # bits by row: flow > 0
    used_from: NDArray[np.uint64]  # bits by column
    rewritten: NDArray[np.uint64]  # bits by layer: rows changed as a whole
    edits: NDArray[np.int64]  # [0]: how many; then the edges changed one by one
    supply: NDArray[np.float64]  # (node of the top layer): what is left to send
    sink_room: NDArray[np.float64]  # (node of layer 1): what is left of its edge into the sink
    sink_open: NDArray[np.uint64]  # its bits
    carried: NDArray[np.float64]  # (node): scratch
    carried_open: NDArray[np.uint64]  # its bits
    zeros: NDArray[np.float64]  # eight of them
    levels: NDArray[np.uint64]  # bits by level and layer: the search's level graph
    seen: NDArray[np.uint64]  # bits by layer: nodes the search reached
    path_layer: NDArray[np.int64]  # (step): the path that is being pushed along
    path_node: NDArray[np.int64]
    path_limit: NDArray[np.float64]
    path_sent: NDArray[np.float64]
    balance: NDArray[np.float64]  # (layer, node): zero but while a flow is taken down
    tally: NDArray[np.float64]


def new_workspace(capacity: NDArray[np.float64]) -> Workspace:
    """An empty flow in a network of capacities (layer, node, node below), layer 0 unused."""
    layers, nodes, _ = capacity.shape
    words = (nodes + 63) // 64
    most_levels = layers * nodes + 2  # a level holds at least one new node
    row_bits = (layers, nodes, words)
    workspace = Workspace(
        capacity=capacity,
        room=capacity.copy(),
        all_nodes=np.zeros(words, np.uint64),
        all_open=np.zeros(row_bits, np.uint64),
        open=np.zeros(row_bits, np.uint64),
        used=np.zeros(row_bits, np.uint64),
        used_from=np.zeros(row_bits, np.uint64),
        rewritten=np.zeros((layers, words), np.uint64),
        # Real attention needs some five edits a node and layer; beyond this, rows are restored.
        edits=np.zeros(64 * layers * nodes, np.int64),
        supply=np.zeros(nodes),
        sink_room=np.zeros(nodes),
        sink_open=np.zeros(words, np.uint64),
        carried=np.zeros(nodes),
        carried_open=np.zeros(words, np.uint64),
        zeros=np.zeros(8),
        levels=np.zeros((most_levels, layers, words), np.uint64),
        seen=np.zeros((layers, words), np.uint64),
        path_layer=np.zeros(most_levels, np.int64),
        path_node=np.zeros(most_levels, np.int64),
        path_limit=np.zeros(most_levels),
        path_sent=np.zeros(most_levels),
        balance=np.zeros((layers, nodes)),
        tally=np.zeros(2),
    )
    _mark_all(workspace)
    return workspace


class State(NamedTuple):
    """Pointers to the arrays of a Workspace by the same names, and its sizes."""

    nodes: int
    words: int
    most_edits: int
    most_levels: int
    capacity: Any
    room: Any
    all_nodes: Any
    all_open: Any
    open: Any
    used: Any
    used_from: Any
    rewritten: Any
    edits: Any
    supply: Any
    sink_room: Any
    sink_open: Any
    carried: Any
    carried_open: Any
    zeros: Any
    levels: Any
    seen: Any
    path_layer: Any
    path_node: Any
    path_limit: Any
    path_sent: Any
    balance: Any
    tally: Any


@kernel
def open_state(workspace):
    """The pointers to a workspace, which must outlive them."""
    nodes = workspace.capacity.shape[1]
    return State(
        nodes,
        (nodes + 63) // 64,
        len(workspace.edits),
        len(workspace.path_node),
        as_floats(workspace.capacity.ctypes.data),
        as_floats(workspace.room.ctypes.data),
        as_words(workspace.all_nodes.ctypes.data),
        as_words(workspace.all_open.ctypes.data),
        as_words(workspace.open.ctypes.data),
        as_words(workspace.used.ctypes.data),
        as_words(workspace.used_from.ctypes.data),
        as_words(workspace.rewritten.ctypes.data),
        as_integers(workspace.edits.ctypes.data),
        as_floats(workspace.supply.ctypes.data),
        as_floats(workspace.sink_room.ctypes.data),
        as_words(workspace.sink_open.ctypes.data),
        as_floats(workspace.carried.ctypes.data),
        as_words(workspace.carried_open.ctypes.data),
        as_floats(workspace.zeros.ctypes.data),
        as_words(workspace.levels.ctypes.data),
        as_words(workspace.seen.ctypes.data),
        as_integers(workspace.path_layer.ctypes.data),
        as_integers(workspace.path_node.ctypes.data),
        as_floats(workspace.path_limit.ctypes.data),
        as_floats(workspace.path_sent.ctypes.data),
        as_floats(workspace.balance.ctypes.data),
        as_floats(workspace.tally.ctypes.data),
    )


@kernel
def _mark_all(workspace):
    state = open_state(workspace)
    for k in range(state.nodes):
        state.all_nodes[k >> 6] |= bit(k)
    for number in range(state.nodes, workspace.capacity.shape[0] * state.nodes):
        mark_row(state, number)
        for w in range(number * state.words, (number + 1) * state.words):
            state.all_open[w] = state.open[w]


@kernel
def bit(node):
    """The word that has only the bit of `node` set."""
    return ONE << (np.uint64(node) & _POSITION)


@kernel
def holds(bits, start, node):
    """Whether `node` is in the bit set that starts at word `start`."""
    return bits[start + (node >> 6)] & bit(node) != NONE


@kernel
def mark_row(state, number):
    """Compute the bit sets of a node's row anew."""
    row = number * state.nodes
    k = 0
    for w in range(number * state.words, (number + 1) * state.words):
        can_send = NONE
        sends = NONE
        shift = NONE
        end = min(state.nodes, k + 64)
        while k < end:
            can_send |= greater_than(state.room, row + k, state.zeros, 0) << shift
            sends |= greater_than(state.capacity, row + k, state.room, row + k) << shift
            shift += _BYTE
            k += 8
        state.open[w] = can_send
        state.used[w] = sends


@kernel
def mark_rewritten(state, layer, u):
    """Note that the row of a node was changed as a whole, and compute its bit sets."""
    state.rewritten[layer * state.words + (u >> 6)] |= bit(u)
    mark_row(state, layer * state.nodes + u)


@kernel
def note_edit(state, layer, u, v):
    """Remember that the edge from node u of `layer` down to v was changed."""
    count = state.edits[0] + 1
    if count < state.most_edits:
        state.edits[0] = count
        state.edits[count] = (((layer << _NODE_BITS) | u) << _NODE_BITS) | v
    else:  # no place left: the row is restored as a whole
        state.rewritten[layer * state.words + (u >> 6)] |= bit(u)


@kernel
def send(state, layer, u, v, amount):
    """Let `amount` more run over the edge from node u of `layer` down to v; less if negative."""
    number = layer * state.nodes + u
    edge = number * state.nodes + v
    left = state.room[edge] - amount
    state.room[edge] = left
    note_edit(state, layer, u, v)
    word = number * state.words + (v >> 6)
    column = ((layer - 1) * state.nodes + v) * state.words + (u >> 6)
    # Without branches: whether an edge fills up is a coin's toss, and a wrong guess of the
    # processor costs more than all of this.
    is_open = bit(v) if left > 0.0 else NONE
    is_used = left < state.capacity[edge]
    state.open[word] = (state.open[word] & ~bit(v)) | is_open
    state.used[word] = (state.used[word] & ~bit(v)) | (bit(v) if is_used else NONE)
    state.used_from[column] = (state.used_from[column] & ~bit(u)) | (bit(u) if is_used else NONE)


@kernel
def restore(state, depth, sink, source):
    """Empty the flow of a climb from node `source` of layer `depth`; False if it was no flow.

    Undoes all edits and rewritten rows, and so sees every edge that carries something: each must
    carry between nothing and its capacity, and each node pass on what it gets.
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
    if depth > 2:  # the edges of source and sink are not in `room`
        for k in range(nodes):
            top = (depth * nodes + source) * nodes + k
            into_sink = (nodes + k) * nodes + sink
            state.balance[(depth - 1) * nodes + k] += state.capacity[top] - state.supply[k]
            state.balance[nodes + k] -= state.capacity[into_sink] - state.sink_room[k]
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
        flow = full - state.room[number * nodes + v]
        sound &= 0.0 <= flow <= full
        state.balance[number] -= flow
        state.balance[below] += flow
        state.room[number * nodes + v] = full
        # Whole words, since all edits of a row are undone before anything reads it again.
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
    least_room = 0.0
    for v in range(nodes):
        flow = state.capacity[row + v] - state.room[row + v]
        least = min(least, flow)
        least_room = min(least_room, state.room[row + v])
        out += flow
        state.balance[below + v] += flow
        state.room[row + v] = state.capacity[row + v]
    state.balance[number] -= out
    for w in range(number * state.words, (number + 1) * state.words):
        state.open[w] = state.all_open[w]
        state.used[w] = NONE
    return least == 0.0 and least_room == 0.0
