"""The arrays of the current flow, and how kernels pass all of them at once.

Node u of layer y is number `y * nodes + u`. Its row, edges to all nodes of the layer below, starts
at `number * nodes`; bit sets of nodes take `words` 64-bit words each. Layers are padded to `nodes`
nodes, a multiple of eight, by edges without capacity.
"""

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnflow.maxflow._intrinsics import kernel
from attnflow.maxflow._struct import struct_of


class Workspace(NamedTuple):
    """The arrays of the current flow, one workspace a thread.

    Invariants between kernels: `0 <= residual <= capacity`; the flow over an edge is
    `capacity - residual`; `open` has the bits with residual capacity, `used` the bits with flow.
    `used_from` is `used` by columns, node -> nodes above that send to it. It may be out of date for
    rows named in `rewritten`, so `used` is read before it is relied on. Every edge with flow is in
    `edits` or in a row of `rewritten`; every edge in `used_from` is in `edits`.
    """

    capacity: NDArray[np.float64]  # (layer, node, node below), never written
    residual: NDArray[np.float64]  # like capacity: what can still be sent
    all_nodes: NDArray[np.uint64]  # the bits of all nodes of a layer
    all_open: NDArray[np.uint64]  # bits by row: capacity > 0
    open: NDArray[np.uint64]  # bits by row: residual > 0
    used: NDArray[np.uint64]  # bits by row: flow > 0
    used_from: NDArray[np.uint64]  # bits by column
    rewritten: NDArray[np.uint64]  # bits by layer: rows of which all edges changed
    edits: NDArray[np.int64]  # [0]: how many; then the edges changed one by one
    supply: NDArray[np.float64]  # (node of the top layer): what is left to send
    sink_residual: NDArray[np.float64]  # (node of layer 1): what is left of its edge into the sink
    sink_open: NDArray[np.uint64]  # its bits
    carried: NDArray[np.float64]  # (node): scratch
    carried_open: NDArray[np.uint64]  # its bits
    zeros: NDArray[np.float64]  # eight of them
    levels: NDArray[np.uint64]  # bits by level and layer: the search's level graph
    visited: NDArray[np.uint64]  # bits by layer: nodes that the search found
    path_layer: NDArray[np.int64]  # (step): the path that is being pushed along
    path_node: NDArray[np.int64]
    path_limit: NDArray[np.float64]
    path_sent: NDArray[np.float64]
    balance: NDArray[np.float64]  # (layer, node): zero except while a flow is removed
    totals: NDArray[np.float64]
    struct: NDArray[np.int64]  # memory for the struct of all of these


class NarrowWorkspace(Workspace):
    """A workspace of at most 64 nodes a layer: a bit set is one word.

    Kernels are compiled for that number, and their loops over words vanish: all pairs of 32 tokens
    take a fifth less time.
    """

    KNOWN: ClassVar = {"words": 1}


class _Sizes(NamedTuple):
    nodes: int
    words: int
    most_edits: int
    most_levels: int


STATE_WORDS = len(_Sizes._fields) + len(Workspace._fields)


@kernel
def open_state(workspace):
    """The state that kernels pass around: sizes, and pointers to a workspace, by their names.

    The workspace must outlive it.
    """
    nodes = workspace.capacity.shape[1]
    sizes = _Sizes(nodes, (nodes + 63) // 64, len(workspace.edits), len(workspace.path_node))
    return struct_of(sizes, workspace, workspace.struct.ctypes.data)
