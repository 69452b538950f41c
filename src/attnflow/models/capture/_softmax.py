"""The softmax of an attention, redirected to write into a buffer.

A TorchFunctionMode intercepts the softmax in the code of a model. That saves a copy of all weights.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from attnflow.models.capture._call import Buffer

if TYPE_CHECKING:
    from torch import Tensor

# Keyword arguments of the supported calls of softmax.
_SETTINGS = {"dim", "dtype", "_stacklevel"}


def softmax_into(buffer: Buffer, shape: tuple[int, int, int, int]) -> Any:
    """Return a mode in which the first softmax over keys of a shape writes to the buffer.

    Only scores (batch, head, query, key) in float32 on the CPU are redirected. Its method
    `result(weights)` returns the weights of an attention: in the buffer if unchanged since the
    softmax.
    """
    return _mode()(buffer, shape)


@functools.cache
def _mode() -> Any:
    """Return the class of the mode, which needs torch."""
    import torch
    from torch.overrides import TorchFunctionMode

    functions = {torch.softmax, torch.Tensor.softmax, torch.nn.functional.softmax}

    class Into(TorchFunctionMode):
        def __init__(self, buffer: Buffer, shape: tuple[int, int, int, int]) -> None:
            super().__init__()
            self._buffer, self._shape = buffer, shape
            self._written: Tensor | None = None
            self._version = 0

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = kwargs or {}
            if func not in functions or self._written is not None or not self._fits(args, given):
                return func(*args, **given)
            self._written = torch.softmax(args[0], dim=-1, out=self._buffer(self._shape))
            self._version = self._written._version  # noqa: SLF001 (has no public name)
            return self._written

        def _fits(self, args: Any, given: dict[str, Any]) -> bool:
            if len(args) != 1 or not _SETTINGS.issuperset(given):
                return False
            scores, wide = args[0], torch.float32
            return (
                tuple(scores.shape) == self._shape
                and scores.dtype == wide
                and scores.device.type == "cpu"
                and given.get("dim") in (-1, len(self._shape) - 1)
                and given.get("dtype") in (None, wide)
                # Inference tensors have no version counter.
                and not torch.is_inference_mode_enabled()
            )

        def result(self, weights: Tensor) -> Tensor:
            written = self._written
            if written is None or weights.data_ptr() != written.data_ptr():
                return weights
            same = weights is written and written._version == self._version  # noqa: SLF001
            return weights if same else weights.clone()

    return Into
