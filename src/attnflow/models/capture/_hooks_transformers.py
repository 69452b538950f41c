"""Hooks for Hugging Face models, by transformers' `AttentionInterface`.

The name of the attention implementation in a model's config selects the function that computes
attention. For one forward pass it is the name of the function below, which runs the model's own
eager attention, or SDPA. It works for any family: soft caps, grouped heads, sliding windows and
position biases are in its mask and arguments.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnflow.errors import UnsupportedModelError
from attnflow.models._model import configs_of
from attnflow.models.capture._blocks import BlockCall, mask_of_heads
from attnflow.models.capture._calls import Buffer, Receive, role_of, visible_keys

if TYPE_CHECKING:
    from torch import Tensor, nn

# Registered names of the function, with the masks of eager attention or of SDPA, often None.
_EAGER, _FUSED = "attnflow_eager", "attnflow_fused"

# Arguments with the keys, or blocks of keys, that sparse attention selects. DeepSeek-V3.2 and
# MiniMax-M3 pass them to implementations other than transformers' own eager attention and SDPA.
_SELECTED_KEYS = ("indices", "block_indices")

# A context variable, since transformers calls a plain function and several threads may run passes.
_active_capture: ContextVar[_Capture] = ContextVar("attnflow_capture")

# Keyword arguments of the calls of softmax that are redirected.
_SOFTMAX_SETTINGS = {"dim", "dtype", "_stacklevel"}


@dataclass(frozen=True, slots=True)
class _Capture:
    receive: Receive
    names: dict[int, str]  # names of modules by id(module)
    fused: bool  # whether masks are those of SDPA
    kernel: bool  # whether SDPA may compute the attention


@contextlib.contextmanager
def hook_transformers(model: nn.Module, receive: Receive, *, fused: bool) -> Generator[None]:
    """Pass every attention of `model` that uses the interface to `receive` inside the context."""
    _register()
    modules = dict(model.named_modules())
    names = {id(module): name for name, module in modules.items()}
    configs = configs_of(modules.values())
    before = [config._attn_implementation_internal for config in configs]  # noqa: SLF001
    # PreTrainedModel has False unless the class of a model says that SDPA supports it.
    kernel = fused and all(getattr(module, "_supports_sdpa", True) for module in modules.values())
    token = _active_capture.set(_Capture(receive, names, fused, kernel))
    name = _FUSED if fused else _EAGER
    try:
        for config in configs:
            config._attn_implementation_internal = name  # noqa: SLF001
        yield
    finally:
        for config, implementation in zip(configs, before, strict=True):
            config._attn_implementation_internal = implementation  # noqa: SLF001
        _active_capture.reset(token)


def _register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask, sdpa_mask

    AttentionInterface.register(_EAGER, _attention_function)
    AttentionMaskInterface.register(_EAGER, eager_mask)
    AttentionInterface.register(_FUSED, _attention_function)
    AttentionMaskInterface.register(_FUSED, sdpa_mask)


def _attention_function(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **settings: Any,
) -> tuple[Tensor, None]:
    """Capture the call and return the output of the attention; transformers calls this."""
    capture = _active_capture.get(None)
    if capture is None:
        raise UnsupportedModelError(
            f"{type(module).__name__} was called outside the captured pass: its model runs parts "
            "of a pass in other threads, or two passes at the same time. Run one pass after the "
            "other in one thread, without DataParallel"
        )
    name = capture.names.get(id(module), "")
    _check_not_sparse(module, name, settings)
    call = _TransformersCall(module, query, key, value, attention_mask, settings, name, capture)
    capture.receive(call)
    return call.attended(), None


def _check_not_sparse(module: nn.Module, name: str, settings: Mapping[str, Any]) -> None:
    """Reject sparse attention whose selected keys are arguments and not in the mask."""
    for setting in _SELECTED_KEYS:
        if settings.get(setting) is not None:
            raise UnsupportedModelError(
                f"{name or type(module).__name__} uses sparse attention with selected keys "
                f"({setting}), which is not supported. Load the model with "
                "attn_implementation='eager', call it with output_attentions=True, and pass its "
                ".attentions to attnflow.Attention"
            )


class _TransformersCall(BlockCall):
    """A call through the interface."""

    def __init__(
        self,
        module: nn.Module,
        query: Tensor,  # (batch, head, query, width)
        key: Tensor,  # (batch, head or group of heads, key, width)
        value: Tensor,  # as key
        mask: Tensor | None,
        settings: dict[str, Any],
        name: str,
        capture: _Capture,
    ) -> None:
        super().__init__(name, role_of(name), (query.shape[0], query.shape[2], key.shape[2]))
        self.module, self.mask, self.settings, self.capture = module, mask, settings, capture
        self.query, self.key, self.value = query, key, value
        self._outputs: list[Tensor] = []  # (batch, query, head, width) of each block of queries

    def attended(self) -> Tensor:
        """Return the output (batch, query, head, width)."""
        import torch

        if self.output is not None:
            return self.output.transpose(1, 2)
        return self._outputs[0] if len(self._outputs) == 1 else torch.cat(self._outputs, dim=1)

    def weights(self, buffer: Buffer | None = None) -> Tensor:
        if buffer is None:
            return self.rows(slice(None))
        examples, queries, keys = self.size
        with softmax_into(buffer, (examples, self.query.shape[1], queries, keys)) as softmax:
            weights = self.rows(slice(None))
        return softmax.result(weights)

    def rows(self, rows: slice) -> Tensor:
        """Return weights of the model's own eager attention for some queries; keep its output."""
        settings = dict(self.settings)
        bias = settings.get("position_bias")
        if bias is not None and bias.shape[2] > 1:
            settings["position_bias"] = bias[:, :, rows]
        eager, mask = _eager_attention(self.module), self._additive_mask(rows)
        query = self.query[:, :, rows]
        output, weights = eager(self.module, query, self.key, self.value, mask, **settings)
        self._outputs.append(output)
        return weights

    def _additive_mask(self, rows: slice) -> Tensor | None:
        """Return the mask for eager attention: the dtype's minimum where attention is masked."""
        import torch

        mask = self.mask
        if mask is None and self._causal_without_mask():
            places = torch.arange(max(self.size[1:]), device=self.query.device)
            mask = places[None, None, None, : self.size[2]] <= places[: self.size[1]][rows, None]
        elif mask is not None and mask.shape[2] > 1:
            mask = mask[:, :, rows]
        if mask is None:
            return None
        if mask.dtype == torch.bool:
            lowest = torch.finfo(self.query.dtype).min
            mask = torch.zeros_like(mask, dtype=self.query.dtype).masked_fill_(~mask, lowest)
        return mask

    def visible(self) -> Tensor | None:
        mask = self._additive_mask(slice(None))
        if mask is None and not self.capture.fused and self._is_causal():
            return None  # a causal model without a mask may have one of its own
        return visible_keys(mask, self.query, self.size)

    def _causal_without_mask(self) -> bool:
        """Return whether no mask means a causal one, by the rule of transformers for SDPA.

        A single query attends to every key.
        """
        return self.capture.fused and self.size[1] > 1 and self._is_causal()

    def _is_causal(self) -> bool:
        causal = self.settings.get("is_causal")
        return bool(getattr(self.module, "is_causal", True) if causal is None else causal)

    def fits_kernel(self) -> bool:
        unsupported = (self.settings.get(name) for name in ("softcap", "s_aux"))
        return self.capture.kernel and all(setting is None for setting in unsupported)

    def kernel(self, query: Tensor, key: Tensor, value: Tensor, heads: slice) -> Tensor:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        settings = dict(self.settings)
        if settings.get("scaling") is None:  # the default depends on the width, which is padded
            settings["scaling"] = self.query.shape[-1] ** -0.5
        if settings.get("position_bias") is not None:
            settings["position_bias"] = mask_of_heads(settings["position_bias"], heads)
        mask = mask_of_heads(self.mask, heads)
        output, _ = sdpa_attention_forward(self.module, query, key, value, mask, **settings)
        return output.transpose(1, 2)


def _eager_attention(module: nn.Module) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return eager_attention_forward from the file of the module's class or of a base class."""
    for kind in type(module).__mro__:
        found = getattr(sys.modules.get(kind.__module__), "eager_attention_forward", None)
        if found is not None:
            return found
    raise UnsupportedModelError(
        f"{type(module).__name__} uses transformers' attention interface, but its file "
        f"({type(module).__module__}) has no eager_attention_forward. Define one there that "
        "returns (output, weights), as the models of transformers do"
    )


def softmax_into(buffer: Buffer, shape: tuple[int, int, int, int]) -> Any:
    """Return a mode in which the first softmax over keys of a shape writes to the buffer.

    That saves a copy of all weights. Only scores (batch, head, query, key) in float32 on the CPU
    are redirected. Its method `result(weights)` returns the weights of an attention: in the buffer
    if unchanged since the softmax.
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
            if len(args) != 1 or not _SOFTMAX_SETTINGS.issuperset(given):
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
