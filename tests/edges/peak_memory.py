"""The memory that tensors and arrays hold at most while something runs."""

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class _Tensors(TorchDispatchMode):
    """Counts the bytes of all tensors that operations return, while they live."""

    def __init__(self, known: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known = {tensor.untyped_storage()._cdata for tensor in known}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        return result

    def _count(self, storage: Any) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._known:
            return
        self._known.add(key)
        self.now += size
        self.peak = max(self.peak, self.now)
        _ = weakref.finalize(storage, self._release, key, size)

    def _release(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


def peak_bytes(model: torch.nn.Module, call: Callable[[], Any]) -> int:
    """Bytes of tensors and of NumPy's arrays at their peaks, which may be at different times.

    The parameters of the model do not count.
    """
    _ = gc.collect()
    tracemalloc.start()
    try:
        with _Tensors([*model.parameters(), *model.buffers()]) as tensors:
            _ = call()
        return tensors.peak + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
