"""One forward pass in which the weights and values of every attention are captured.

`effective` needs no more of a model, so that it also works with quantised projections.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from attnflow.edges._calls import first_tensor, reject_pairs, values_of, weights_of, wide
from attnflow.edges._consistency import tolerance_for
from attnflow.edges._layout import BlockLayout, blocks_of, layout_mismatch
from attnflow.errors import UnsupportedModelError
from attnflow.models.capture import Call, Role, capture_attention, evaluation_mode, not_finite
from attnflow.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import Tensor, nn

T = TypeVar("T")


class WeightsAndValues(NamedTuple):
    """What is read of an attention of one sequence, in float32 or wider."""

    role: Role
    weights: Tensor  # (head, query, key)
    values: Tensor  # (head or group of heads, key, width)
    visible: Tensor | None  # bool (query, key), as `Call.visible`


def capture_values(
    model: nn.Module,
    inputs: Inputs,
    layout: BlockLayout | None,
    receive: Callable[[WeightsAndValues], T],
) -> list[T]:
    """Run the model on a batch of one and return what `receive` returns of each attention.

    Values are those that the model passes to its attention, or the output of the value projection
    that the layout names.
    """
    found: list[T] = []

    def append(captured: WeightsAndValues) -> None:
        found.append(receive(captured))

    if layout is not None and layout.value:
        reject_pairs(model, inputs)
        projected = _Projected(model, layout, append)
        with evaluation_mode(model), projected.hooks():  # locked: hooks see one pass
            _ = capture_attention(model, inputs.forward, projected.attention)
        projected.check_complete()
        return found

    def passed(call: Call) -> None:
        weights, values = weights_of(model, call), values_of(model, call)
        append(WeightsAndValues(call.role, wide(weights)[0], values, call.visible()))

    _ = capture_attention(model, inputs.forward, passed)
    return found


class _Projected:
    """Pairs weights with the output of the value projection, whichever is captured first.

    The input of the output projection must be their product, so that a wrong layout is an error.
    """

    def __init__(
        self, model: nn.Module, layout: BlockLayout, receive: Callable[[WeightsAndValues], None]
    ) -> None:
        self._model, self._layout, self._receive = model, layout, receive
        self._tolerance = tolerance_for(model)
        self._weights, self._values, self._products = (deque["Tensor"]() for _ in range(3))
        self._visible = deque["Tensor | None"]()  # of the weights
        self._done = 0

    @contextlib.contextmanager
    def hooks(self) -> Generator[None]:
        """Capture the output of each value projection and the input of each output projection."""

        def begin(*_: Any) -> None:  # forgets a pass in which no attention was captured
            self._values.clear()
            self._products.clear()

        def value(_module: nn.Module, _args: Any, output: Tensor) -> None:
            self._add(self._values, output)

        def product(_module: nn.Module, args: Any, kwargs: Any) -> None:
            self._add(self._products, first_tensor(args, kwargs))

        with contextlib.ExitStack() as undo:
            _ = undo.callback(self._model.register_forward_pre_hook(begin).remove)
            for block in blocks_of(self._model, self._layout).values():
                projections = self._layout.value, self._layout.output
                values, outputs = map(block.get_submodule, projections)
                _ = undo.callback(values.register_forward_hook(value).remove)
                handle = outputs.register_forward_pre_hook(product, with_kwargs=True)
                _ = undo.callback(handle.remove)
            yield

    def attention(self, call: Call) -> None:
        """Store the weights of an attention."""
        weights = weights_of(self._model, call)
        self._visible.append(call.visible())
        self._add(self._weights, weights)

    def check_complete(self) -> None:
        """Reject a pass with another number of attentions than of projections."""
        if self._weights or self._values or self._products:
            raise self._mismatch(
                "not every attention has a value and an output projection", "value", "output"
            )

    def _add(self, captured: deque[Tensor], tensor: Tensor) -> None:
        if not hasattr(tensor, "detach"):
            raise self._mismatch("the output of its value projection is no tensor", "value")
        # A copy of the first example, since a model may overwrite its tensors.
        captured.append(wide(tensor)[0].clone())
        if self._weights and self._values and self._products:
            queues = self._weights, self._values, self._products
            self._complete(*(queue.popleft() for queue in queues))

    def _complete(self, weights: Tensor, projected: Tensor, product: Tensor) -> None:
        try:
            width = product.shape[-1] // len(weights)
            values = projected.unflatten(-1, (-1, width)).transpose(0, 1)
            each = values.repeat_interleave(len(weights) // len(values), dim=0)
            expected = (weights.to(each) @ each).transpose(0, 1).flatten(1)
            error = (expected - product).abs()
        except (IndexError, RuntimeError) as reason:
            problem = "parts of it have shapes that do not fit"
            raise self._mismatch(problem, "value", "output") from reason
        if not bool(error.isfinite().all()):
            raise not_finite(self._model)
        if bool((error > self._tolerance.result * product.abs().amax(-1, keepdim=True)).any()):
            raise self._mismatch(
                f"the input of {self._layout.output} is not the attention weights times the output "
                f"of {self._layout.value}",
                "value",
                "output",
            )
        self._receive(WeightsAndValues("self", weights, values, self._visible.popleft()))
        self._done += 1

    def _mismatch(self, problem: str, *fields: str) -> UnsupportedModelError:
        return layout_mismatch(self._model, self._layout, self._done + 1, problem, *fields)
