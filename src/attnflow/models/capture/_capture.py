"""One forward pass with hooks on the attention, which are removed afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from attnflow.errors import UnsupportedModelError
from attnflow.models._model import (
    accepts,
    evaluation_mode,
    explain_failure,
    force_eager,
    is_pretrained,
)
from attnflow.models.capture._call import GivenWeights, Receive, Role
from attnflow.models.capture._check_calls import CallChecker
from attnflow.models.capture._hooks_modules import hook_modules
from attnflow.models.capture._hooks_transformers import hook_transformers

if TYPE_CHECKING:
    from torch import nn


def capture_attention(
    model: nn.Module, inputs: Mapping[str, Any], receive: Receive, *, fused: bool = False
) -> None:
    """Run `model` on `inputs` and pass each captured attention to `receive`, in order.

    With `fused`, `receive` must use `Call.times` only, and models may leave their masks to the
    fused kernels. The model runs in evaluation mode, and its state is restored afterwards, also
    after an error. Raises UnsupportedModelError if no strategy captures any attention, after a
    pass for each, and if only some layers attend, or some more than once.
    """
    import torch

    captured = CallChecker(model, inputs, receive)
    with torch.no_grad(), evaluation_mode(model), force_eager():
        for strategy in _strategies(model):
            strategy(model, inputs, captured.receive, fused=fused)
            if captured:
                break
        else:
            raise UnsupportedModelError(
                f"no supported attention found in {type(model).__name__}. Supported are: models of "
                "transformers that use its attention interface or return attentions; "
                "nn.MultiheadAttention; calls of F.scaled_dot_product_attention; a dropout named "
                "attn_drop. For others, collect the weights and pass them to attnflow.Attention"
            )
    captured.check()


def _strategies(model: nn.Module) -> tuple[Callable[..., None], ...]:
    """Return the strategies to try in order, until one captures attention.

    `output_attentions` comes after the hooks, since some models compute something else with it:
    Falcon's mask is then not causal if attention is fused.
    """
    if is_pretrained(model):
        # transformers searches the model's source code for this, so it may be wrong either way.
        interface = bool(cast("Any", model)._can_set_attn_implementation())  # noqa: SLF001
        if interface:
            return _with_transformers_hooks, _with_module_hooks, _with_output_attentions
        return _with_module_hooks, _with_output_attentions, _with_transformers_hooks
    if any(is_pretrained(module) for module in model.modules()):
        return _with_transformers_hooks, _with_module_hooks
    return (_with_module_hooks,)


def _with_transformers_hooks(
    model: nn.Module, inputs: Mapping[str, Any], receive: Receive, *, fused: bool
) -> None:
    with hook_transformers(model, receive, fused=fused):
        _ = _run(model, inputs)


def _with_module_hooks(
    model: nn.Module, inputs: Mapping[str, Any], receive: Receive, *, fused: bool
) -> None:
    del fused  # makes no difference here
    with hook_modules(model, receive):
        _ = _run(model, inputs)


def _with_output_attentions(
    model: nn.Module, inputs: Mapping[str, Any], receive: Receive, *, fused: bool
) -> None:
    """Pass on the attentions that a model returns: the encoder's, then those of decoder layers."""
    del fused  # the model computes its weights in any case
    if not accepts(model, "output_attentions"):
        return
    flags = {name: True for name in ("output_attentions", "return_dict") if accepts(model, name)}
    output = _run(model, {**inputs, **flags})

    def report(role: Role, field: str, number: int, weights: Any) -> None:
        if weights is not None:
            receive(GivenWeights(f"{field}[{number}]", role, weights))

    attentions = getattr(output, "encoder_attentions", None) or getattr(output, "attentions", None)
    for number, weights in enumerate(attentions or ()):
        report("self", "attentions", number, weights)
    decoder = getattr(output, "decoder_attentions", None) or ()
    cross = getattr(output, "cross_attentions", None) or (None,) * len(decoder)
    for number, (own, other) in enumerate(zip(decoder, cross, strict=True)):
        report("decoder", "decoder_attentions", number, own)
        report("cross", "cross_attentions", number, other)


def _run(model: nn.Module, inputs: Mapping[str, Any]) -> Any:
    positional = inputs.get("")  # the single tensor of a plain module
    tensors = ", ".join(
        f"{name or 'a tensor'} ({str(value.dtype).removeprefix('torch.')} {tuple(value.shape)})"
        for name, value in inputs.items()
        if hasattr(value, "dtype")
    )
    failed = f"{type(model).__name__} does not run on {tensors}"
    with explain_failure(failed, "call the model directly"):
        return model(**inputs) if positional is None else model(positional)
