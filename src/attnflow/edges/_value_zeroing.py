"""`value_zeroing`: an edge weight says how much the output of a block changes without a value."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.edges._blocks import Block, Execution, capture_blocks, first_tensor, no_values
from attnflow.edges._graph import graph, normalize
from attnflow.edges._inputs import BlockSettings, one_or_all
from attnflow.edges._layout import BlockLayout, layout_of
from attnflow.models.capture import evaluation_mode, force_eager, hook_transformers
from attnflow.models.inputs import Inputs, ModelInput, Several, name_example
from attnflow.types import AttentionGraph

if TYPE_CHECKING:
    from torch import Tensor, nn

# Tokens in a batch of copies of one input. Chosen: more tokens are hardly faster on a processor,
# and take more memory.
_TOKENS = 1024


class ValueZeroingSettings(BlockSettings, total=False):
    """Settings of `value_zeroing`, for its overloads."""

    progress: checks.Progress | None


@overload
def value_zeroing(
    model: nn.Module, tokenizer: Any, text: str, **settings: Unpack[ValueZeroingSettings]
) -> AttentionGraph: ...
@overload
def value_zeroing(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[ValueZeroingSettings]
) -> list[AttentionGraph]: ...
def value_zeroing(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    layout: BlockLayout | None = None,
    truncate: bool = False,
    progress: checks.Progress | None = None,
) -> AttentionGraph | list[AttentionGraph]:
    """Return the graph whose edge weights say how much a block's output changes without a value.

    `1 − cos(out_i, out_i without value j)`, where the block runs on its original input with the
    value vectors of position j set to zero in every head; rows are then divided by their sum. The
    block is complete, with its feed-forward part, and the residual connection is not added to the
    graph: the diagonal is the change without the position's own value.

    Parameters
    ----------
    model, tokenizer, text, layout, truncate
        As for `norms`.
    progress
        Called with (layers done, layers in total), for each text anew.

    Notes
    -----
    Every block runs n + 1 times for n positions, in batches: about the time of n + 1 passes.
    Mohebbi et al. (2023), https://doi.org/10.18653/v1/2023.eacl-main.245

    Examples
    --------
    >>> from attnflow import edges, paper
    >>> shipped = paper.load()
    >>> edges.value_zeroing(shipped.model, shipped.tokenizer, "the key to the cabinets")
    AttentionGraph(layers=6, nodes=7)
    """

    def compute(model: nn.Module, inputs: Inputs) -> AttentionGraph:
        chosen = layout_of(model, layout)
        blocks = capture_blocks(model, inputs, chosen)
        layers: list[NDArray[np.float64]] = []
        for number, block in enumerate(blocks, start=1):
            layers.append(normalize(_changes(model, block, chosen)))
            if progress is not None:
                progress(number, len(blocks))
        (tokens,), origin = name_example(model, inputs, 0, layers[0].shape[:1])
        return graph(layers, tokens, origin, edges="value_zeroing", residual="measured")

    return one_or_all(compute, model, tokenizer, text, truncate=truncate)


def _changes(model: nn.Module, block: Block, layout: BlockLayout) -> NDArray[np.float64]:
    """Return `1 − cos` (query, key) of the block's output with and without each key's value."""
    import torch

    whole = torch.nn.functional.normalize(block.output.double(), dim=-1)
    count = len(whole)
    found = whole.new_empty(count, count)
    with torch.no_grad(), evaluation_mode(model), force_eager():
        for keys in torch.arange(count, device=whole.device).split(max(1, _TOKENS // count)):
            args, kwargs = _copies(block.execution, len(keys))
            with _zeroed(model, block.execution.module, layout, keys):
                output = first_tensor((block.execution.module(*args, **kwargs),), {})
            changed = torch.nn.functional.normalize(output.double(), dim=-1)
            # |a − b|² / 2 is 1 − cos of unit vectors, without the rounding of the difference.
            found[:, keys] = ((changed - whole).square().sum(dim=-1) / 2).T
    # Exactly zero where a value is not used, whatever rounding changed.
    return (found * block.sees()).cpu().numpy()


def _copies(execution: Execution, count: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a block with `count` copies of its hidden states."""
    hidden = first_tensor(execution.args, execution.kwargs)
    copies = execution.hidden.repeat(count, 1, 1)
    args = tuple(copies if value is hidden else value for value in execution.args)
    return args, {
        name: copies if value is hidden else value for name, value in execution.kwargs.items()
    }


@contextlib.contextmanager
def _zeroed(
    model: nn.Module, block: nn.Module, layout: BlockLayout, keys: Tensor
) -> Generator[None]:
    """Set the value of the key of each copy to zero in the run of the block made inside."""
    import torch

    copies = torch.arange(len(keys), device=keys.device)

    def project(_module: nn.Module, _args: Any, output: Tensor) -> Tensor:
        output = output.clone()  # (copy, key, heads · width)
        output[copies, keys] = 0
        return output

    if layout.value:
        handle = block.get_submodule(layout.value).register_forward_hook(project)
        try:
            yield
        finally:
            handle.remove()
        return
    runs = 0

    def receive(call: Any) -> None:
        nonlocal runs
        runs += 1
        call.value = call.value.clone()  # (copy, head, key, width)
        call.value[copies, :, keys] = 0
        _ = call.weights()

    with hook_transformers(model, receive, fused=False):
        yield
    if not runs:
        raise no_values(model)
