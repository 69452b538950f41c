"""The ear for Hugging Face models: transformers' own attention interface.

Every attention of a model that follows the interface goes through one function, chosen by a name in
its configuration. For one forward pass the name is ours. The function answers with the model's own
eager attention, or with fused attention, and so needs to know nothing about the family: soft caps,
grouped heads, sliding windows and position biases are in the masks and arguments that come with the
call.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from attnflow.errors import UnsupportedModelError
from attnflow.models.capture._call import BLOCK, Buffer, Receive, Role, head_mean, role_of
from attnflow.models.capture._extra_values import (
    FUSED_COLUMNS,
    attend_with_extra_values,
    mask_of_heads,
)
from attnflow.models.capture._softmax import softmax_into

if TYPE_CHECKING:
    from torch import Tensor, nn

# What transformers finds our functions by: one that wants the masks of eager attention, one that
# wants those of fused attention, which are often none at all.
_EAGER, _FUSED = "attnflow_eager", "attnflow_fused"

# Settings by which models pass on which keys or blocks of keys are seen, as DeepSeek-V3.2 and
# MiniMax-M3 do unless they run with transformers' own eager attention or SDPA.
_CHOSEN_KEYS = ("indices", "block_indices")

# Who listens to the pass under way. A context variable, since transformers calls a plain function,
# and passes may run in several threads.
_active_capture: ContextVar[_Capture] = ContextVar("attnflow_listening")


@dataclass(frozen=True, slots=True)
class _Capture:
    receive: Receive
    names: dict[int, str]  # of the modules, by their identity
    fused: bool  # whether masks are those of fused attention
    kernel: bool  # whether that may be computed by PyTorch's fused kernel


@contextlib.contextmanager
def hook_transformers(model: nn.Module, receive: Receive, *, fused: bool) -> Generator[None]:
    """Report every attention of `model` that goes through the interface while this is open."""
    _register()
    modules = dict(model.named_modules())
    names = {id(module): name for name, module in modules.items()}
    configs = _configs(modules.values())
    before = [config._attn_implementation_internal for config in configs]  # noqa: SLF001
    # By transformers' own word for its model, so false for a model it has not heard of.
    kernel = fused and all(getattr(each, "_supports_sdpa", True) for each in modules.values())
    token = _active_capture.set(_Capture(receive, names, fused, kernel))
    chosen = _FUSED if fused else _EAGER
    try:
        for config in configs:
            config._attn_implementation_internal = chosen  # noqa: SLF001
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


def _configs(modules: Iterable[nn.Module]) -> list[Any]:
    """Every configuration that one of the modules may look its attention up in."""
    from transformers import PreTrainedConfig

    found: dict[int, Any] = {}

    def add(config: object) -> None:
        if isinstance(config, PreTrainedConfig) and id(config) not in found:
            found[id(config)] = config
            for part in config.sub_configs:
                add(getattr(config, part, None))

    for module in modules:
        add(getattr(module, "config", None))
    return list(found.values())


def _attention_function(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **settings: Any,
) -> tuple[Tensor, None]:
    """The function that transformers calls: report, and give the output of the attention."""
    capture = _active_capture.get(None)
    if capture is None:
        raise UnsupportedModelError(
            f"{type(module).__name__} attends where nobody listens: its model runs parts of a pass "
            "in threads of their own, or in two passes at a time; run it in one thread, one pass "
            "after the other, without DataParallel"
        )
    name = capture.names.get(id(module), "")
    _check_every_key(module, name, settings)
    call = _TransformersCall(module, query, key, value, attention_mask, settings, name, capture)
    capture.receive(call)
    return cast("Tensor", call.output), None


def _check_every_key(module: nn.Module, name: str, settings: Mapping[str, Any]) -> None:
    """Refuse sparse attention that is given the keys it may see: how is not in the mask."""
    for setting in _CHOSEN_KEYS:
        if settings.get(setting) is not None:
            raise UnsupportedModelError(
                f"{name or type(module).__name__} attends only to keys that an index of its own "
                f"chose ({setting}), and leaves it to the attention to take the others out. Load "
                "the model with attn_implementation='eager', call it with output_attentions=True, "
                "and pass its .attentions to attnflow.Attention"
            )


@dataclass(slots=True)
class _TransformersCall:
    """A call through the interface. Whatever it is asked for gives `output` as well."""

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
        return softmax.kept(weights)

    def mean(self) -> Tensor:
        return self._by_blocks(head_mean)

    def times(self, R: Tensor) -> Tensor:
        if R.shape[-1] > FUSED_COLUMNS or not self._fits_kernel():
            return self._by_blocks(lambda weights: head_mean(weights).to(R) @ R)
        self.output, product = attend_with_extra_values(
            self._kernel, self.query, self.key, self.value, R
        )
        self.output = self.output.transpose(1, 2)
        return product

    def _by_blocks(self, answer: Callable[[Tensor], Tensor]) -> Tensor:
        """`answer` to the weights of a block of queries, block by block."""
        import torch

        outputs: list[Tensor] = []
        answers: list[Tensor] = []
        for start in range(0, self.size[1], BLOCK):
            output, weights = self._eager(slice(start, start + BLOCK))
            outputs.append(output)
            answers.append(answer(weights))
        self.output = torch.cat(outputs, dim=1)
        return torch.cat(answers, dim=1)

    def _eager(self, rows: slice) -> tuple[Tensor, Tensor]:
        """The model's own eager attention for some of the queries."""
        settings = dict(self.settings)
        bias = settings.get("position_bias")
        if bias is not None and bias.shape[2] > 1:
            settings["position_bias"] = bias[:, :, rows]
        eager = _eager_attention(self.module)
        mask = self._additive_mask(rows)
        return eager(self.module, self.query[:, :, rows], self.key, self.value, mask, **settings)

    def _additive_mask(self, rows: slice) -> Tensor | None:
        """The mask as eager attention wants it: minus infinity, nearly, where there is no edge."""
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
            closed = torch.finfo(self.query.dtype).min
            mask = torch.zeros_like(mask, dtype=self.query.dtype).masked_fill_(~mask, closed)
        return mask

    def _causal_without_mask(self) -> bool:
        """Whether a missing mask stands for a causal one, as it may for fused attention.

        Not for a single query, which sees every key: transformers' own rule.
        """
        if not self.capture.fused or self.size[1] == 1:
            return False
        causal = self.settings.get("is_causal")
        return bool(getattr(self.module, "is_causal", True) if causal is None else causal)

    def _fits_kernel(self) -> bool:
        """Whether fused attention knows everything that this call asks for."""
        beyond = (self.settings.get(name) for name in ("softcap", "s_aux"))
        return self.capture.kernel and all(setting is None for setting in beyond)

    def _kernel(self, query: Tensor, key: Tensor, value: Tensor, heads: slice) -> Tensor:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        settings = dict(self.settings)
        if settings.get("scaling") is None:  # the default looks at the width, which is filled up
            settings["scaling"] = self.query.shape[-1] ** -0.5
        if settings.get("position_bias") is not None:
            settings["position_bias"] = mask_of_heads(settings["position_bias"], heads)
        mask = mask_of_heads(self.mask, heads)
        output, _ = sdpa_attention_forward(self.module, query, key, value, mask, **settings)
        return output.transpose(1, 2)


def _eager_attention(module: nn.Module) -> Callable[..., tuple[Tensor, Tensor]]:
    """The eager attention in the file that defines the module's class, or one it is made from."""
    for kind in type(module).__mro__:
        found = getattr(sys.modules.get(kind.__module__), "eager_attention_forward", None)
        if found is not None:
            return found
    raise UnsupportedModelError(
        f"{type(module).__name__} uses transformers' attention interface, but its file "
        f"({type(module).__module__}) has no eager_attention_forward; define one there that "
        "returns (output, weights), as the models of transformers do"
    )
