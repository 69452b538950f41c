"""The ears for plain PyTorch modules: its own attention module, its function, and a dropout.

Three ways are in use to attend without Hugging Face: `nn.MultiheadAttention`, a call of
`F.scaled_dot_product_attention`, and a softmax followed by a dropout called `attn_drop`. All three
are listened to at once; an attention goes through one of them.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from attnflow.errors import UnsupportedModelError
from attnflow.models._families import DROPOUT_NAMES
from attnflow.models.capture._call import (
    BLOCK,
    Buffer,
    Call,
    GivenWeights,
    Receive,
    Role,
    head_mean,
    role_of,
)
from attnflow.models.capture._extra_values import (
    FUSED_COLUMNS,
    attend_with_extra_values,
    mask_of_heads,
)

if TYPE_CHECKING:
    from torch import Tensor, nn


@contextlib.contextmanager
def hook_modules(model: nn.Module, receive: Receive) -> Generator[None]:
    """Report the attention of every kind that plain modules use while this is open."""
    captured = False

    def count(call: Call) -> None:
        nonlocal captured
        captured = True
        receive(call)

    ears = _hook_multihead(model, count), _hook_function(count)
    with _hook_dropout(model, count) as passed_over, ears[0], ears[1]:
        yield
    if captured and passed_over:
        raise UnsupportedModelError(
            f"{', '.join(passed_over)} called a dropout of attention weights with something else: "
            "its rows do not sum to one, while other attention was heard. All layers or none are "
            "wanted; collect the weights and pass them to attnflow.Attention"
        )


class _FastPath:
    """PyTorch's fast path, which computes whole layers without calling the modules in them.

    Its switch is one for the whole process, so it is put back by the last of the threads that
    listen.
    """

    def __init__(self) -> None:
        self._lock, self._users, self._before = threading.Lock(), 0, True

    @contextlib.contextmanager
    def off(self) -> Generator[None]:
        from torch.backends import mha

        with self._lock:
            if not self._users:
                self._before = mha.get_fastpath_enabled()
                mha.set_fastpath_enabled(False)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    mha.set_fastpath_enabled(self._before)


_FAST_PATH = _FastPath()


@contextlib.contextmanager
def _hook_multihead(model: nn.Module, receive: Receive) -> Generator[None]:
    """Have each `nn.MultiheadAttention` give its weights, and take them off its output."""
    import torch

    parameters = inspect.signature(torch.nn.MultiheadAttention.forward)
    asked: list[tuple[bool, bool]] = []  # what the caller wanted of the calls under way

    def ask(module: nn.Module, args: Any, kwargs: Any) -> Any:
        bound = parameters.bind(module, *args, **kwargs)
        bound.apply_defaults()
        wanted = bound.arguments
        asked.append((wanted["need_weights"], wanted["average_attn_weights"]))
        wanted["need_weights"], wanted["average_attn_weights"] = True, False
        return bound.args[1:], bound.kwargs

    def answer(name: str, _module: nn.Module, _inputs: Any, output: Any) -> Any:
        attended, weights = cast("tuple[Tensor, Tensor]", output)
        batched = weights if weights.ndim == 4 else weights[None]
        receive(GivenWeights(name, role_of(name), batched))
        needed, averaged = asked.pop()
        if not needed:
            return attended, None
        return attended, weights.mean(dim=-3) if averaged else weights

    with contextlib.ExitStack() as undo:
        undo.enter_context(_FAST_PATH.off())
        for name, module in model.named_modules():
            if isinstance(module, torch.nn.MultiheadAttention):
                before = module.register_forward_pre_hook(ask, with_kwargs=True)
                _ = undo.callback(before.remove)
                after = module.register_forward_hook(functools.partial(answer, name))
                _ = undo.callback(after.remove)
        yield


@contextlib.contextmanager
def _hook_dropout(model: nn.Module, receive: Receive) -> Generator[dict[str, None]]:
    """Read the weights that go into each dropout that is named for them.

    Gives the modules whose dropout saw only what may have been weights and is no distribution.
    """
    import torch

    captured: set[str] = set()
    passed_over: dict[str, None] = {}  # in the order of the pass

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
                        _ = passed_over.pop(path, None)
                        receive(GivenWeights(path, role_of(path), value))
                    elif path not in captured and value.shape[2] == value.shape[3]:
                        passed_over[path] = None

                hook = module.register_forward_pre_hook(read, with_kwargs=True)
                _ = undo.callback(hook.remove)
        yield passed_over


@contextlib.contextmanager
def _hook_function(receive: Receive) -> Generator[None]:
    """Report calls of the function, by PyTorch's own mode for overriding functions."""
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
            _check_axes(call.arguments["query"].ndim)
            receive(call)
            return call.attended()

    with Capturing():
        yield


@dataclass(slots=True)
class _FunctionCall:
    """A call of `F.scaled_dot_product_attention`, by the names of its parameters."""

    arguments: dict[str, Any]
    name: str = field(default="", init=False)  # the function does not know who calls it
    role: Role = field(default="self", init=False)
    output: Tensor | None = field(default=None, init=False)

    @property
    def size(self) -> tuple[int, int, int]:
        query, key = (self.arguments[name] for name in ("query", "key"))
        return query.shape[0] if query.ndim > 2 else 1, query.shape[-2], key.shape[-2]

    def attended(self) -> Tensor:
        """What the function gives."""
        if self.output is None:
            a = self.arguments
            self.output = self._kernel(a["query"], a["key"], a["value"], slice(None))
        return self.output

    def weights(self, buffer: Buffer | None = None) -> Tensor:
        del buffer  # a copy more; the modules that call the function themselves are few
        return self._rows(slice(None))

    def mean(self) -> Tensor:
        return self._by_blocks(head_mean)

    def times(self, R: Tensor) -> Tensor:
        a = self.arguments
        if R.shape[-1] > FUSED_COLUMNS or a["query"].ndim != 4:
            return self._by_blocks(lambda weights: head_mean(weights).to(R) @ R)
        self.output, product = attend_with_extra_values(
            self._kernel, a["query"], a["key"], a["value"], R
        )
        return product

    def _by_blocks(self, answer: Callable[[Tensor], Tensor]) -> Tensor:
        """`answer` to the weights of a block of queries, block by block."""
        import torch

        starts = range(0, self.size[1], BLOCK)
        return torch.cat([answer(self._rows(slice(s, s + BLOCK))) for s in starts], dim=1)

    def _rows(self, rows: slice) -> Tensor:
        """Weights (batch, head, query, key) of some of the queries."""
        import torch

        query, key = self.arguments["query"][..., rows, :], self.arguments["key"]
        # Kernels for half precision round their output only, and not scores on the way to it.
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

    def _mask(self, rows: slice) -> Tensor | None:
        import torch

        mask = self.arguments.get("attn_mask")
        if self.arguments.get("is_causal"):
            places = torch.arange(max(self.size[1:]), device=self.arguments["query"].device)
            return places[: self.size[2]] <= places[: self.size[1]][rows, None]
        if mask is not None and mask.ndim > 1 and mask.shape[-2] > 1:
            return mask[..., rows, :]
        return mask

    def _scale(self) -> float:
        scale = self.arguments.get("scale")
        return self.arguments["query"].shape[-1] ** -0.5 if scale is None else scale

    def _kernel(self, query: Tensor, key: Tensor, value: Tensor, heads: slice) -> Tensor:
        from torch.nn.functional import scaled_dot_product_attention

        changed: Any = {"query": query, "key": key, "value": value, "scale": self._scale()}
        changed["attn_mask"] = mask_of_heads(self.arguments.get("attn_mask"), heads)
        return scaled_dot_product_attention(**(self.arguments | changed))


def _check_axes(count: int) -> None:
    """Refuse calls whose axes do not tell the batch from the heads."""
    if count not in (2, 4):
        raise UnsupportedModelError(
            f"F.scaled_dot_product_attention was called with {count} axes; (batch, head, position, "
            "width) is wanted, or (position, width). The first of three axes may be the batch or "
            "the heads: give it both, as in x[:, None] for one head. Attention within windows or "
            "frames is not supported"
        )
