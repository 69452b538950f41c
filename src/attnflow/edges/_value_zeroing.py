"""`value_zeroing`: edges weigh by how much the output of a block changes without a value."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.edges._blocks import encoder_decoder, first_tensor, values_of
from attnflow.edges._graph import graph, normalize
from attnflow.edges._inputs import BlockSettings, one_or_all
from attnflow.edges._layout import BlockLayout, blocks_of, layout_of
from attnflow.errors import UnsupportedModelError
from attnflow.models.capture import (
    Call,
    capture_attention,
    evaluation_mode,
    force_eager,
    hook_transformers,
)
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


class _Execution(NamedTuple):
    """A call of a block during the pass."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Tensor  # (position, width)


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
    """Return the graph whose edges weigh by how much a block's output changes without a value.

    `1 − cos(out_i, out_i without value j)`, where the block runs on its original input with the
    value vectors of position j set to zero in every head; rows are then divided by their sum. The
    block is complete, with its feed-forward part, and the residual connection is not added to the
    graph: what a position keeps of itself is what its own value changes.

    Parameters
    ----------
    model, tokenizer, text, layout, truncate
        As for `norms`.
    progress
        Called with (runs of a block done, runs in total) for each text.

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
        executions = _record(model, inputs, chosen)
        layers: list[NDArray[np.float64]] = []
        for number, execution in enumerate(executions):
            layers.append(normalize(_changes(model, execution, chosen)))
            if progress is not None:
                progress(number + 1, len(executions))
        (tokens,), origin = name_example(model, inputs, 0, layers[0].shape[:1])
        return graph(layers, tokens, origin, edges="value_zeroing", residual="measured")

    return one_or_all(compute, model, tokenizer, text, truncate=truncate)


def _record(model: nn.Module, inputs: Inputs, layout: BlockLayout) -> list[_Execution]:
    """Run the model once and return the calls of its blocks, in order."""
    calls: list[tuple[nn.Module, Any, Any]] = []
    outputs: list[Tensor] = []
    captured = 0

    def enter(module: nn.Module, args: Any, kwargs: Any) -> None:
        calls.append((module, args, kwargs))

    def leave(_module: nn.Module, _args: Any, output: Any) -> None:
        outputs.append(first_tensor((output,), {}))

    def receive(call: Call) -> None:
        nonlocal captured
        captured += 1
        if call.role == "cross" or call.size[0] != 1:
            raise encoder_decoder(model, call)
        _ = call.weights()

    handles: list[Any] = []
    try:
        for block in blocks_of(model, layout).values():
            handles.append(block.register_forward_pre_hook(enter, with_kwargs=True))
            handles.append(block.register_forward_hook(leave))
        _ = capture_attention(model, inputs.forward, receive)
    finally:
        for handle in handles:
            handle.remove()
    # A pass that captured no attention comes before the one that did.
    pairs = list(zip(calls, outputs, strict=True))[-captured:]
    if len(pairs) != captured:
        raise UnsupportedModelError(
            f"{type(model).__name__}: captured {captured} attentions and {len(pairs)} blocks. Some "
            "layers do not have the parts of the layout"
        )
    return [_Execution(*call, output[0]) for call, output in pairs]


def _changes(model: nn.Module, execution: _Execution, layout: BlockLayout) -> NDArray[np.float64]:
    """Return `1 − cos` (query, key) of the block's output with and without each key's value."""
    import torch

    whole = torch.nn.functional.normalize(execution.output.double(), dim=-1)
    count = len(whole)
    found = np.empty((count, count))
    with torch.no_grad(), evaluation_mode(model), force_eager():
        for start in range(0, count, step := max(1, _TOKENS // count)):
            keys = range(start, min(start + step, count))
            with _zeroed(model, execution.module, layout, keys):
                args, kwargs = _copies(execution, len(keys))
                output = first_tensor((execution.module(*args, **kwargs),), {})
            changed = torch.nn.functional.normalize(output.double(), dim=-1)
            # |a − b|² / 2 is 1 − cos of unit vectors, without the rounding of the difference.
            halves = (changed - whole).square().sum(dim=-1) / 2  # (key, query)
            found[:, start : keys.stop] = halves.T.cpu().numpy()
    return found


def _copies(execution: _Execution, count: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a block with `count` copies of its hidden states."""
    hidden = first_tensor(execution.args, execution.kwargs)
    copies = hidden.expand(count, *hidden.shape[1:])
    args = tuple(copies if value is hidden else value for value in execution.args)
    return args, {
        name: copies if value is hidden else value for name, value in execution.kwargs.items()
    }


@contextlib.contextmanager
def _zeroed(
    model: nn.Module, block: nn.Module, layout: BlockLayout, keys: range
) -> Generator[None]:
    """Set the value of the key of each copy to zero in the runs of the block made inside."""
    import torch

    copies = torch.arange(len(keys))

    def without(values: Tensor) -> Tensor:
        values = values.clone()
        if values.ndim == 4:  # (copy, head, key, width)
            values[copies, :, list(keys)] = 0
        else:  # (copy, key, heads · width)
            values[copies, list(keys)] = 0
        return values

    if layout.value:
        projection = block.get_submodule(layout.value)

        def project(_module: nn.Module, _args: Any, output: Tensor) -> Tensor:
            return without(output)

        handle = projection.register_forward_hook(project)
        try:
            yield
        finally:
            handle.remove()
        return

    def receive(call: Call) -> None:
        cast("Any", call).value = without(values_of(call, model))
        _ = call.weights()

    with hook_transformers(model, receive, fused=False):
        yield
