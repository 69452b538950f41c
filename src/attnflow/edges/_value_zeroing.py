"""`value_zeroing`: an edge weight says how much the output of a block changes without a value."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.edges._blocks import Block, Execution
from attnflow.edges._calls import first_tensor, no_values
from attnflow.edges._capture import capture_blocks
from attnflow.edges._graph import graph, normalize
from attnflow.edges._inputs import BlockSettings, one_or_all
from attnflow.edges._layout import BlockLayout, layout_of, layout_settings
from attnflow.models.capture import (
    Sizes,
    evaluation_mode,
    force_eager,
    hook_modules,
    hook_transformers,
    not_finite,
)
from attnflow.models.inputs import (
    Inputs,
    ModelInput,
    Several,
    Single,
    WithTokenizer,
    is_pretrained,
    name_example,
    takes_pipeline,
)
from attnflow.types import AttentionGraph

if TYPE_CHECKING:
    from torch import Tensor, nn

# Tokens in a batch of copies of one input. Chosen: more tokens are hardly faster on a processor,
# and take more memory.
TOKENS = 1024


class ValueZeroingSettings(BlockSettings, total=False):
    """Settings of `value_zeroing`, for its overloads."""

    progress: checks.Progress | None


@overload
def value_zeroing(
    model: nn.Module, tokenizer: Any, text: Single, **settings: Unpack[ValueZeroingSettings]
) -> AttentionGraph: ...
@overload
def value_zeroing(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[ValueZeroingSettings]
) -> list[AttentionGraph]: ...
@overload
def value_zeroing(
    model: WithTokenizer, text: Single, **settings: Unpack[ValueZeroingSettings]
) -> AttentionGraph: ...
@overload
def value_zeroing(
    model: WithTokenizer, text: Several, **settings: Unpack[ValueZeroingSettings]
) -> list[AttentionGraph]: ...
@takes_pipeline
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
    checks.check_progress(progress)

    def compute(model: nn.Module, inputs: Inputs) -> AttentionGraph:
        chosen = layout_of(model, layout)
        blocks = capture_blocks(model, inputs, chosen, _kept)
        layers: list[NDArray[np.float64]] = []
        for number, block in enumerate(blocks, start=1):
            layers.append(normalize(_changes(model, block, chosen)))
            if progress is not None:
                progress(number, len(blocks))
        (tokens,), origin = name_example(model, inputs, 0, layers[0].shape[:1])
        return graph(
            layers, tokens, origin, edges="value_zeroing", residual="measured",
            **layout_settings(layout),
        )  # fmt: skip

    return one_or_all(
        compute, model, tokenizer, text, truncate=truncate, name="value_zeroing", estimate=_memory
    )


def _memory(sizes: Sizes) -> float:
    """Return bytes at the peak: attention and states of a batch of copies."""
    copies = _copies_at_once(sizes.nodes)
    return sizes.returned + copies * (2 * sizes.weights + 12 * sizes.states) + 2 * sizes.graph


def _copies_at_once(positions: int) -> int:
    return max(1, TOKENS // positions)


class _Kept(NamedTuple):
    """What is needed of a block after the pass, without its weights."""

    execution: Execution
    output: Tensor  # (position, width)
    sees: Tensor  # bool (query, key)


def _kept(block: Block) -> _Kept:
    return _Kept(block.execution, block.output, block.sees())


def _changes(model: nn.Module, block: _Kept, layout: BlockLayout) -> NDArray[np.float64]:
    """Return `1 − cos` (query, key) of the block's output with and without each key's value."""
    import torch

    module = block.execution.module
    whole = torch.nn.functional.normalize(block.output.double(), dim=-1)
    count = len(whole)
    found = whole.new_empty(count, count)
    zeroed = _zeroed(model, module, layout)
    with torch.no_grad(), evaluation_mode(model), force_eager(), zeroed as set_keys:
        for keys in torch.arange(count, device=whole.device).split(_copies_at_once(count)):
            args, kwargs = _copies(block.execution, len(keys))
            set_keys(keys)
            output = first_tensor((module(*args, **kwargs),), {})
            changed = torch.nn.functional.normalize(output.double(), dim=-1)
            # |a − b|² / 2 is 1 − cos of unit vectors, without the rounding of the difference.
            found[:, keys] = ((changed - whole).square().sum(dim=-1) / 2).T
    if not bool(found.isfinite().all()):
        raise not_finite(model)
    # Exactly zero where a value is not used, whatever rounding changed.
    return (found * block.sees).cpu().numpy()


def _copies(execution: Execution, count: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a block with `count` copies of its hidden states.

    The cache of a model that keeps one, which has the keys and values of the pass, is left out.
    """
    hidden = first_tensor(execution.args, execution.kwargs)
    copies = execution.hidden.repeat(count, 1, 1)

    def replaced(value: Any) -> Any:
        return copies if value is hidden else None if hasattr(value, "get_seq_length") else value

    kwargs = {name: replaced(value) for name, value in execution.kwargs.items()}
    return tuple(map(replaced, execution.args)), kwargs


@contextlib.contextmanager
def _zeroed(
    model: nn.Module, block: nn.Module, layout: BlockLayout
) -> Generator[Callable[[Tensor], None]]:
    """Set the value of one key in each copy to zero, in the runs of the block made inside.

    Yields a function that sets these keys, one for each copy.
    """
    import torch

    copies = keys = torch.empty(0)
    runs = 0

    def set_keys(chosen: Tensor) -> None:
        nonlocal copies, keys
        copies, keys = torch.arange(len(chosen), device=chosen.device), chosen

    def project(_module: nn.Module, _args: Any, output: Tensor) -> Tensor:
        nonlocal runs
        runs += 1
        output = output.clone()  # (copy, key, heads · width)
        output[copies, keys] = 0
        return output

    def receive(call: Any) -> None:
        nonlocal runs
        runs += 1
        if getattr(call, "value", None) is None:
            raise no_values(model)
        call.value = call.value.clone()  # (copy, head, key, width)
        call.value[copies, :, keys] = 0
        _ = call.weights()

    with contextlib.ExitStack() as undo:
        if layout.value:
            handle = block.get_submodule(layout.value).register_forward_hook(project)
            _ = undo.callback(handle.remove)
        else:
            of_transformers = any(is_pretrained(module) for module in model.modules())
            hooks = (
                hook_transformers(model, receive, fused=False)
                if of_transformers
                else hook_modules(model, receive)
            )
            _ = undo.enter_context(hooks)
        yield set_keys
    if not runs:
        raise no_values(model)
