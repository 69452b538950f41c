"""Which solver computes flows: the kernels, or plain Python while they are not worth loading.

Kernels are compiled once per installation and read from disk once per process. Until a process has
had some work they are not needed: plain Python has solved a sentence before they are there. Both
give the same values and cuts. The flow on single edges is one of several maximum flows, and may
differ between them.
"""

import functools
import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnflow.maxflow._cache import is_compiled
from attnflow.maxflow._network import Network

# What plain Python takes on in one process, in edges of the networks it solves: less than a second
# of work if there are kernels on disk, as loading them takes about as long, and less than three if
# they have to be compiled first: enough for one query of 32 tokens, also of 30 layers with the
# correction for the receptive field. A layer of a network takes as long as its edges and 280 more:
# 16 million a second were measured, of 10 to 32 tokens and 6 to 30 layers.
_WORK_BEFORE_LOADING, _WORK_BEFORE_COMPILING = 12 * 2**20, 41 * 2**20
_WORK_OF_LAYER = 280
# What people are told while they wait for it.
COMPILING = "compiling (once per installation)"
# Nodes of a layer up to which kernels use one word for a bit set; they are compiled for that.
_NARROW = 64
# Seconds. Chosen: reading compiled kernels is quicker.
_ANNOUNCE_AFTER = 1.0

_lock = threading.Lock()
_loaded: set[bool] = set()  # whether narrow
_work = 0


def takes_plain(net: Network, depths: NDArray[np.int64], pairs: int) -> bool:
    """Whether plain Python should compute flows of so many pairs, from layers `depths` of `net`.

    It is then counted as work.
    """
    global _work  # noqa: PLW0603 - of the process
    nodes = net.capacity.shape[1]
    work = pairs * int((depths + 1).sum()) * (nodes * nodes + _WORK_OF_LAYER)
    with _lock:
        if _is_narrow(nodes) in _loaded or _work + work > _most_work():
            return False
        _work += work
    return True


def load_kernels(nodes: int) -> None:
    """Load the kernels for layers of that many nodes; compile them if there are none on disk.

    Logs a line if they are compiled, which takes a quarter of a minute.
    """
    narrow = _is_narrow(nodes)
    if narrow in _loaded:
        return
    # The kernels are imported where they are needed: they bring Numba's compiler along.
    from attnflow.maxflow._sink import solve_sink  # noqa: PLC0415
    from attnflow.maxflow._source import new_sink_bounds  # noqa: PLC0415
    from attnflow.maxflow._state import new_workspace  # noqa: PLC0415

    size = 8 if narrow else _NARROW + 8
    capacity = np.zeros((4, size, size))
    capacity[1:, 0, 0] = 1.0  # one unit flows straight down
    with _announced(solve_sink):
        workspace, bounds = new_workspace(capacity), new_sink_bounds(*capacity.shape[:2])
        keep = False
        _ = solve_sink(workspace, bounds, 0, np.zeros(1, np.int64), 3, 3, keep)
    _loaded.add(narrow)


def is_compiled_on_disk() -> bool:
    """Whether the kernels need not be compiled when they are first needed."""
    return is_compiled(Path(__file__).parent, "_sink.solve_sink")


def _is_narrow(nodes: int) -> bool:
    return nodes <= _NARROW


@functools.cache
def _most_work() -> int:
    """The work for plain Python, by whether this installation has compiled kernels."""
    return _WORK_BEFORE_LOADING if is_compiled_on_disk() else _WORK_BEFORE_COMPILING


@contextmanager
def _announced(kernel: Any) -> Generator[None]:
    """Log after a moment that the kernels are being compiled, unless they are read from disk."""
    done = threading.Event()

    def announce() -> None:
        # Again and again: on a busy machine others are compiled before this one is looked up.
        while not done.wait(_ANNOUNCE_AFTER):
            if kernel.stats.cache_misses:
                logging.getLogger("attnflow").warning(
                    "attnflow: %s, for about a quarter of a minute", COMPILING
                )
                return

    threading.Thread(target=announce, daemon=True).start()
    try:
        yield
    finally:
        done.set()
