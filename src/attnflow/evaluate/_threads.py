"""How many threads of torch an evaluation uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

# Weights of a model that one thread runs as fast as several, beside a thread for flow. Chosen: with
# two million weights a second thread is no gain, and a large loss on a busy machine.
_SMALL_MODEL = 10_000_000


def torch_threads(model: nn.Module, threads: int | None) -> int:
    """Return the number of threads of torch: `threads`, by default one for a small model."""
    import torch

    if threads is not None:
        return threads
    small = sum(parameter.numel() for parameter in model.parameters()) < _SMALL_MODEL
    return 1 if small else torch.get_num_threads()
