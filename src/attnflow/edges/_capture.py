"""One forward pass in which every block is captured: weights, values, residual stream and norms.

A block is passed on when it has run, so that the weights of one layer are held at a time. It is
checked first, so that a wrong layout is an error and not a wrong result.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attnflow.edges._blocks import Block, Execution
from attnflow.edges._calls import check_one, first_tensor, reject_pairs, values_of, wide
from attnflow.edges._consistency import inconsistency, tolerance_for
from attnflow.edges._layer_norm import Norm
from attnflow.edges._layout import BlockLayout, blocks_of, layout_mismatch
from attnflow.errors import UnsupportedModelError
from attnflow.models.capture import Call, capture_attention, evaluation_mode
from attnflow.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import Tensor, nn

T = TypeVar("T")


# The field of a layout that names the module of a part.
_FIELDS = {
    "weights": "attention",
    "values": "value",
    "attention_input": "attention",
    "norm_input": "norm",
    "norm_output": "norm",
    "output": "norm",
}


def capture_blocks(
    model: nn.Module, inputs: Inputs, layout: BlockLayout, receive: Callable[[Block], T]
) -> list[T]:
    """Run the model on a batch of one and return what `receive` returns of each block, in order.

    Blocks hold all weights of a layer: `receive` keeps only what it needs of them.
    """
    reject_pairs(model, inputs)
    recorder = _Recorder(model, layout, receive)
    with evaluation_mode(model), _hooks(recorder):  # locked: hooks see one pass
        _ = capture_attention(model, inputs.forward, recorder.attention)
    recorder.check_complete()
    return recorder.results


@dataclass(slots=True)
class _Parts:
    """What hooks saw of one call of a block, None where they saw nothing."""

    execution: Execution
    weights: Tensor | None = None  # (head, query, key)
    values: Tensor | None = None  # (head or group of heads, key, width), or of the projection
    attention_input: Tensor | None = None
    norm_input: Tensor | None = None
    norm_output: Tensor | None = None
    output: Tensor | None = None


class _Recorder(Generic[T]):
    """Collects the parts of each block in one pass, and passes complete blocks on."""

    def __init__(
        self, model: nn.Module, layout: BlockLayout, receive: Callable[[Block], T]
    ) -> None:
        self.model, self.layout, self.results = model, layout, list[T]()
        self._receive, self._tolerance = receive, tolerance_for(model)
        self._running: _Parts | None = None
        # Blocks that have run without weights: of models that return them after the pass.
        self._without_weights: deque[_Parts] = deque()

    def begin(self, *_: Any) -> None:
        """Forget the blocks of a pass in which no attention was captured."""
        self._without_weights.clear()

    def enter(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        """Start a block."""
        hidden = first_tensor(args, kwargs).detach().clone()
        self._running = _Parts(Execution(module, args, kwargs, hidden))

    def part(self, name: str, tensor: Tensor) -> None:
        """Store a part of the block that runs."""
        if self._running is None:  # a norm that is also called outside the blocks
            return
        described = name.replace("_", " ")
        if getattr(self._running, name) is not None:
            raise self._mismatch(f"{described}: seen more than once in it", _FIELDS[name])
        if not hasattr(tensor, "detach") or tensor.ndim < 2:
            found = type(tensor).__name__
            raise self._mismatch(
                f"{described}: expected a tensor (…, width), got {found}", _FIELDS[name]
            )
        # A copy, since a model may overwrite it; of one example, whose axis OPT leaves out.
        setattr(self._running, name, wide(tensor).flatten(0, -2).clone())

    def attention(self, call: Call) -> None:
        """Store the weights of an attention: of the block that runs, or of the next without."""
        check_one(self.model, call)
        inside = self._running
        if inside is None and not self._without_weights:
            raise UnsupportedModelError(
                f"{type(self.model).__name__}: {call.name or 'an attention'} is in no block that "
                "has the parts of the layout"
            )
        parts = self._without_weights.popleft() if inside is None else inside
        if parts.weights is not None:
            raise self._mismatch("it has more than one attention", "attention")
        parts.weights = wide(call.weights())[0]
        if not self.layout.value:
            parts.values = values_of(self.model, call)
        if inside is None:
            self._complete(parts)

    def leave(self, _module: nn.Module, _args: Any, output: Any) -> None:
        """End a block."""
        self.part("output", first_tensor((output,), {}))
        parts, self._running = self._running, None
        if parts is not None and parts.weights is not None:
            self._complete(parts)
        elif parts is not None:
            self._without_weights.append(parts)

    def check_complete(self) -> None:
        """Reject a pass in which some blocks had no attention."""
        if self._without_weights:
            raise UnsupportedModelError(
                f"{type(self.model).__name__}: expected attention in every block, got none in "
                f"{len(self._without_weights)} of "
                f"{len(self._without_weights) + len(self.results)}"
            )

    def _complete(self, parts: _Parts) -> None:
        missing = [field.name for field in fields(parts) if getattr(parts, field.name) is None]
        if missing:
            described = ", ".join(missing).replace("_", " ")
            raise self._mismatch(
                f"no {described} was seen in it", *(_FIELDS[name] for name in missing)
            )
        seen: Any = parts  # of which nothing is None
        try:
            block = _assembled(self.layout, seen)
            problem = inconsistency(
                self.model, block, seen.attention_input, seen.norm_output, self._tolerance
            )
        except (IndexError, RuntimeError) as reason:
            wrong = _of_other_shapes(self.layout, seen)
            raise self._mismatch("parts of it have shapes that do not fit", *wrong) from reason
        if problem:
            raise self._mismatch(*problem)
        self.results.append(self._receive(block))

    def _mismatch(self, problem: str, *fields: str) -> UnsupportedModelError:
        layer = len(self.results) + 1
        return layout_mismatch(self.model, self.layout, layer, problem, *fields)


@contextlib.contextmanager
def _hooks(recorder: _Recorder[Any]) -> Generator[None]:
    """Record the calls of every block, and of its attention, norm and value projection."""
    model, layout = recorder.model, recorder.layout

    def reads(name: str) -> Callable[..., None]:
        def enter(_module: nn.Module, args: Any, kwargs: Any) -> None:
            recorder.part(name, first_tensor(args, kwargs))

        return enter

    def returns(name: str) -> Callable[..., None]:
        def leave(_module: nn.Module, _args: Any, output: Tensor) -> None:
            recorder.part(name, output)

        return leave

    with contextlib.ExitStack() as undo:
        _ = undo.callback(model.register_forward_pre_hook(recorder.begin).remove)
        for block in blocks_of(model, layout).values():
            attention, norm = map(block.get_submodule, (layout.attention, layout.norm))
            for handle in (
                block.register_forward_pre_hook(recorder.enter, with_kwargs=True),
                block.register_forward_hook(recorder.leave),
                attention.register_forward_pre_hook(reads("attention_input"), with_kwargs=True),
                norm.register_forward_pre_hook(reads("norm_input"), with_kwargs=True),
                norm.register_forward_hook(returns("norm_output")),
            ):
                _ = undo.callback(handle.remove)
            if layout.value:
                value = block.get_submodule(layout.value)
                _ = undo.callback(value.register_forward_hook(returns("values")).remove)
        yield


def _assembled(layout: BlockLayout, parts: Any) -> Block:
    """Return the block of complete parts."""
    execution, weights, values = parts.execution, parts.weights, parts.values
    projection, bias = _output_projection(execution.module, layout, len(weights))
    if layout.value:  # (key, heads · width), with fewer heads if they are grouped
        values = values.unflatten(-1, (-1, projection.shape[1])).transpose(0, 1)
    norm = None
    if not layout.norm_first:
        module = execution.module.get_submodule(layout.norm)
        norm = Norm.of(module, parts.norm_input, parts.norm_output)
    return Block(
        execution,
        weights,
        values.repeat_interleave(len(weights) // len(values), dim=0).to(projection),
        projection,
        bias,
        wide(execution.hidden)[0],
        parts.norm_input,
        parts.output,
        norm,
    )


def _output_projection(module: nn.Module, layout: BlockLayout, heads: int) -> tuple[Tensor, Tensor]:
    """Return the output projection (head, width of a head, width), and its bias (width)."""
    import torch

    projection: Any = module.get_submodule(layout.output)
    weight = getattr(projection, "weight", None)
    if not isinstance(weight, torch.Tensor) or not weight.is_floating_point():
        raise UnsupportedModelError(
            f"output={layout.output!r}: expected an output projection with a weight of floats, got "
            f"{type(projection).__name__}, which has none or is quantised. Name the projection "
            "itself, load the model without quantisation, or use attnflow.edges.attention or "
            "effective"
        )
    weight = wide(weight)
    if type(projection).__name__ != "Conv1D":  # whose weight is (input, output)
        weight = weight.T
    bias = getattr(projection, "bias", None)
    added = weight.new_zeros(weight.shape[1]) if bias is None else wide(bias)
    if layout.scale:
        path, _, name = layout.scale.rpartition(".")
        scale = wide(getattr(module.get_submodule(path), name))
        weight, added = weight * scale, added * scale
    return weight.unflatten(0, (heads, -1)), added


def _of_other_shapes(layout: BlockLayout, parts: Any) -> list[str]:
    """Return the fields whose parts do not have the shapes that the others ask for."""
    module, states, heads = parts.execution.module, parts.output.shape, len(parts.weights)
    projection: Any = module.get_submodule(layout.output)
    shape = tuple(projection.weight.shape)  # (width, heads · width of a head)
    if type(projection).__name__ == "Conv1D":
        shape = shape[::-1]
    projects = len(shape) == 2 and shape[0] == states[-1] and shape[1] % heads == 0
    per_head = shape[1] // heads if projects else 1
    groups, rest = divmod(parts.values.shape[-1], per_head)  # of a value projection
    fits = {
        "attention": parts.attention_input.shape == states,
        "output": projects and (bool(layout.value) or parts.values.shape[-1] == per_head),
        "norm": parts.norm_input.shape == parts.norm_output.shape == states,
        "value": not layout.value or (rest == 0 and groups > 0 and heads % groups == 0),
        "scale": not layout.scale or module.get_parameter(layout.scale).numel() in (1, states[-1]),
    }
    return [field for field, fit in fits.items() if not fit] or [*fits]
