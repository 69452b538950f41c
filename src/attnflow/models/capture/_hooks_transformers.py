"""Hooks for Hugging Face models, by transformers' `AttentionInterface`.

The name of the attention implementation in a model's config selects the function that computes
attention. For one forward pass it is the name of the function below, which runs the model's own
eager attention, or SDPA. It works for any family: soft caps, grouped heads, sliding windows and
position biases are in its mask and arguments.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from attnflow.errors import UnsupportedModelError
from attnflow.models._model import configs_of
from attnflow.models.capture._call import BLOCK, Buffer, Receive, Role, head_mean, role_of
from attnflow.models.capture._extra_values import (
    FUSED_COLUMNS,
    attend_with_extra_values,
    mask_of_heads,
)
from attnflow.models.capture._softmax import softmax_into

if TYPE_CHECKING:
    from torch import Tensor, nn

# Registered names of the function, with the masks of eager attention or of SDPA, often None.
_EAGER, _FUSED = "attnflow_eager", "attnflow_fused"

# Arguments with the keys, or blocks of keys, that sparse attention selects. DeepSeek-V3.2 and
# MiniMax-M3 pass them to implementations other than transformers' own eager attention and SDPA.
_SELECTED_KEYS = ("indices", "block_indices")

# A context variable, since transformers calls a plain function and several threads may run passes.
_active_capture: ContextVar[_Capture] = ContextVar("attnflow_capture")


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
    return cast("Tensor", call.output), None


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


@dataclass(slots=True)
class _TransformersCall:
    """A call through the interface. Every method also sets `output`."""

    module: nn.Module
    query: Tensor  # (batch, head, query, width)
    key: Tensor  # (batch, head or group of heads, key, width)
    value: Tensor  # as key
    mask: Tensor | None
    settings: dict[str, Any]
    name: str
    capture: _Capture
    output: Tensor | None = field(default=None, init=False)  # (batch, query, head, width)

    @property
    def role(self) -> Role:
        return role_of(self.name)

    @property
    def size(self) -> tuple[int, int, int]:
        return self.query.shape[0], self.query.shape[2], self.key.shape[2]

    def weights(self, buffer: Buffer | None = None) -> Tensor:
        if buffer is None:
            self.output, weights = self._eager(slice(None))
            return weights
        examples, queries, keys = self.size
        with softmax_into(buffer, (examples, self.query.shape[1], queries, keys)) as softmax:
            self.output, weights = self._eager(slice(None))
        return softmax.result(weights)

    def mean(self) -> Tensor:
        return self._reduce_blocks(head_mean)

    def times(self, R: Tensor) -> Tensor:
        if R.shape[-1] > FUSED_COLUMNS or not self._fits_kernel():
            return self._reduce_blocks(lambda weights: head_mean(weights).to(R) @ R)
        self.output, product = attend_with_extra_values(
            self._kernel, self.query, self.key, self.value, R
        )
        self.output = self.output.transpose(1, 2)
        return product

    def _reduce_blocks(self, reduce: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply `reduce` to the weights of each block of queries and concatenate the results."""
        import torch

        outputs: list[Tensor] = []
        reduced: list[Tensor] = []
        for start in range(0, self.size[1], BLOCK):
            output, weights = self._eager(slice(start, start + BLOCK))
            outputs.append(output)
            reduced.append(reduce(weights))
        self.output = torch.cat(outputs, dim=1)
        return torch.cat(reduced, dim=1)

    def _eager(self, rows: slice) -> tuple[Tensor, Tensor]:
        """Return output and weights of the model's own eager attention for some queries."""
        settings = dict(self.settings)
        bias = settings.get("position_bias")
        if bias is not None and bias.shape[2] > 1:
            settings["position_bias"] = bias[:, :, rows]
        eager = _eager_attention(self.module)
        mask = self._additive_mask(rows)
        return eager(self.module, self.query[:, :, rows], self.key, self.value, mask, **settings)

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

    def _causal_without_mask(self) -> bool:
        """Return whether no mask means a causal one, by the rule of transformers for SDPA.

        A single query attends to every key.
        """
        if not self.capture.fused or self.size[1] == 1:
            return False
        causal = self.settings.get("is_causal")
        return bool(getattr(self.module, "is_causal", True) if causal is None else causal)

    def _fits_kernel(self) -> bool:
        """Return whether SDPA supports the arguments of this call."""
        unsupported = (self.settings.get(name) for name in ("softcap", "s_aux"))
        return self.capture.kernel and all(setting is None for setting in unsupported)

    def _kernel(self, query: Tensor, key: Tensor, value: Tensor, heads: slice) -> Tensor:
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
