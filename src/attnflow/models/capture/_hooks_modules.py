"""Hooks for plain PyTorch modules.

Three kinds of attention are captured: `nn.MultiheadAttention`, calls of
`F.scaled_dot_product_attention`, and a softmax followed by a dropout named `attn_drop`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, cast

from attnflow.errors import UnsupportedModelError
from attnflow.models._families import DROPOUT_NAMES
from attnflow.models._model import SharedContext
from attnflow.models.capture._blocks import BlockCall, mask_of_heads
from attnflow.models.capture._calls import (
    Buffer,
    Call,
    GivenWeights,
    Receive,
    role_of,
    visible_keys,
)

if TYPE_CHECKING:
    from torch import Tensor, nn


@contextlib.contextmanager
def hook_modules(model: nn.Module, receive: Receive) -> Generator[None]:
    """Pass every attention of a plain module to `receive` inside the context."""
    captured = False

    def record(call: Call) -> None:
        nonlocal captured
        captured = True
        receive(call)

    hooks = _hook_multihead(model, record), _hook_function(record)
    with _hook_dropout(model, record) as rejected, hooks[0], hooks[1]:
        yield
    if captured and rejected:
        raise UnsupportedModelError(
            f"the input of the attention dropout in {', '.join(rejected)} has rows that do not sum "
            "to one, so that only some layers have supported attention. Collect the weights and "
            "pass them to attnflow.Attention"
        )


@contextlib.contextmanager
def _switch_off_fast_path() -> Generator[None]:
    """Switch off PyTorch's fast path, which computes encoder layers without their submodules."""
    from torch.backends import mha

    before = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(before)


_NO_FAST_PATH = SharedContext(_switch_off_fast_path)


@functools.cache
def _multihead_signature() -> inspect.Signature:
    import torch

    return inspect.signature(torch.nn.MultiheadAttention.forward)


@contextlib.contextmanager
def _hook_multihead(model: nn.Module, receive: Receive) -> Generator[None]:
    """Make each `nn.MultiheadAttention` compute its weights, hidden from its caller."""
    import torch

    signature = _multihead_signature()
    original: list[tuple[bool, bool]] = []  # need_weights and average_attn_weights of open calls

    def request_weights(module: nn.Module, args: Any, kwargs: Any) -> Any:
        bound = signature.bind(module, *args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        original.append((arguments["need_weights"], arguments["average_attn_weights"]))
        arguments["need_weights"], arguments["average_attn_weights"] = True, False
        return bound.args[1:], bound.kwargs

    def take_weights(name: str, _module: nn.Module, _inputs: Any, output: Any) -> Any:
        attended, weights = cast("tuple[Tensor, Tensor]", output)
        batched = weights if weights.ndim == 4 else weights[None]
        receive(GivenWeights(name, role_of(name), batched))
        needed, averaged = original.pop()
        if not needed:
            return attended, None
        return attended, weights.mean(dim=-3) if averaged else weights

    with contextlib.ExitStack() as undo:
        undo.enter_context(_NO_FAST_PATH)
        for name, module in model.named_modules():
            if isinstance(module, torch.nn.MultiheadAttention):
                before = module.register_forward_pre_hook(request_weights, with_kwargs=True)
                _ = undo.callback(before.remove)
                after = module.register_forward_hook(functools.partial(take_weights, name))
                _ = undo.callback(after.remove)
        yield


@contextlib.contextmanager
def _hook_dropout(model: nn.Module, receive: Receive) -> Generator[dict[str, None]]:
    """Capture the input of each dropout with a name of attention dropout.

    Yields the modules whose dropout had an input of that shape, but never rows that sum to one.
    """
    import torch

    captured: set[str] = set()
    rejected: dict[str, None] = {}  # in the order of the pass

    with contextlib.ExitStack() as undo:
        for name, module in model.named_modules():
            path, _, last = name.rpartition(".")
            if last in DROPOUT_NAMES:

                def read(_module: nn.Module, args: Any, kwargs: Any, path: str = path) -> None:
                    value = args[0] if args else kwargs.get("input")
                    # Weights have the axes (batch, head, query, key).
                    tensor = isinstance(value, torch.Tensor) and value.is_floating_point()
                    if not tensor or value.ndim != 4:
                        return
                    if ((value.float().sum(dim=-1) - 1).abs() < 0.01).all():
                        captured.add(path)
                        _ = rejected.pop(path, None)
                        receive(GivenWeights(path, role_of(path), value))
                    elif path not in captured and value.shape[2] == value.shape[3]:
                        rejected[path] = None

                hook = module.register_forward_pre_hook(read, with_kwargs=True)
                _ = undo.callback(hook.remove)
        yield rejected


@contextlib.contextmanager
def _hook_function(receive: Receive) -> Generator[None]:
    """Capture calls of the function by a TorchFunctionMode."""
    from torch.nn.functional import scaled_dot_product_attention
    from torch.overrides import TorchFunctionMode

    parameters = (
        "query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa"
    )  # fmt: skip

    class Capturing(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = kwargs or {}
            if func is not scaled_dot_product_attention:
                return func(*args, **given)
            call = _FunctionCall({**dict(zip(parameters, args, strict=False)), **given})
            _check_axes(call.query.ndim)
            receive(call)
            return call.attended()

    with Capturing():
        yield


class _FunctionCall(BlockCall):
    """A call of `F.scaled_dot_product_attention`, with its arguments by name."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.arguments = arguments
        self.query, self.key, self.value = (arguments[name] for name in ("query", "key", "value"))
        examples = self.query.shape[0] if self.query.ndim > 2 else 1
        # The calling module, and so the role, is unknown.
        super().__init__("", "self", (examples, self.query.shape[-2], self.key.shape[-2]))
        self._recorded: Tensor | None = None  # weights that autograd records

    def attended(self) -> Tensor:
        """Return the output of the function."""
        if self.output is None and self._recorded is not None:
            weights, value = self._recorded, self.value
            if value.shape[1] != weights.shape[1]:
                value = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
            self.output = weights.to(value.dtype) @ value
        elif self.output is None:
            self.output = self.kernel(self.query, self.key, self.value, slice(None))
        return self.output

    def weights(self, buffer: Buffer | None = None) -> Tensor:
        """Return all weights; if autograd records them, the output is computed from them."""
        del buffer  # only saves a copy
        weights = self.rows(slice(None))
        if weights.requires_grad and self.query.ndim == 4 and not self.arguments.get("dropout_p"):
            self._recorded = weights
        return weights

    def fits_kernel(self) -> bool:
        return self.query.ndim == 4

    def rows(self, rows: slice) -> Tensor:
        """Return the weights (batch, head, query, key) of some queries."""
        import torch

        query, key = self.query[..., rows, :], self.key
        # As the kernels for half precision, which round their output but not the scores.
        wide = torch.promote_types(query.dtype, torch.float32)
        query, key = query.to(wide), key.to(wide)
        if query.ndim == 4 and query.shape[1] != key.shape[1]:
            key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
        scores = (query @ key.transpose(-2, -1)) * self._scale()
        mask = self._mask(rows)
        if mask is not None and mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -torch.inf)
        elif mask is not None:
            scores = scores + mask
        weights = scores.softmax(dim=-1)
        return weights if weights.ndim == 4 else weights[None, None]

    def visible(self) -> Tensor | None:
        return visible_keys(self._mask(slice(None)), self.query, self.size)

    def _mask(self, rows: slice) -> Tensor | None:
        import torch

        mask = self.arguments.get("attn_mask")
        if self.arguments.get("is_causal"):
            places = torch.arange(max(self.size[1:]), device=self.query.device)
            return places[: self.size[2]] <= places[: self.size[1]][rows, None]
        if mask is not None and mask.ndim > 1 and mask.shape[-2] > 1:
            return mask[..., rows, :]
        return mask

    def _scale(self) -> float:
        scale = self.arguments.get("scale")
        return self.query.shape[-1] ** -0.5 if scale is None else scale

    def kernel(self, query: Tensor, key: Tensor, value: Tensor, heads: slice) -> Tensor:
        from torch.nn.functional import scaled_dot_product_attention

        changed: Any = {"query": query, "key": key, "value": value, "scale": self._scale()}
        changed["attn_mask"] = mask_of_heads(self.arguments.get("attn_mask"), heads)
        return scaled_dot_product_attention(**(self.arguments | changed))


def _check_axes(count: int) -> None:
    """Reject calls in which batch and heads cannot be distinguished."""
    if count not in (2, 4):
        raise UnsupportedModelError(
            "F.scaled_dot_product_attention: expected tensors (batch, head, position, width) or "
            f"(position, width), got {count} axes. With three axes the first may be the batch or "
            "the heads; call it with both, as in x[:, None] for one head. Attention within windows "
            "or frames is not supported"
        )
