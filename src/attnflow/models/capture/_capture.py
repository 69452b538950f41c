"""One forward pass with an ear on its attention, after which the model is as it was."""

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
    """Run `model` once on `inputs` and report each attention to `hear`, in the order of the pass.

    With `fused`, calls are asked for `times` only, and models may leave their masks to the fused
    kernels. The model is set to evaluation for the pass, and everything is put back afterwards,
    also when it fails half-way. A model without any attention that can be heard is an
    UnsupportedModelError, after a pass for each way to listen to it; so is one of which only some
    layers attend, or some more than once.
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
                f"{type(model).__name__} ran, and no attention was heard. Heard are: models of "
                "transformers that use its attention interface or return attentions; "
                "nn.MultiheadAttention; calls of F.scaled_dot_product_attention; a dropout called "
                "attn_drop. For any other, collect its weights and pass them to attnflow.Attention"
            )
    captured.check()


def _strategies(model: nn.Module) -> tuple[Callable[..., None], ...]:
    """How to listen to a model; each one only where nothing was heard before.

    The model is asked for its attentions last: for them some run another path than they do else,
    as Falcon with fused attention, whose mask is then not causal.
    """
    if is_pretrained(model):
        # transformers reads the source of the model for this, so it may be wrong either way.
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
    del fused  # plain modules have one way only
    with hook_modules(model, receive):
        _ = _run(model, inputs)


def _with_output_attentions(
    model: nn.Module, inputs: Mapping[str, Any], receive: Receive, *, fused: bool
) -> None:
    """Report what a model returned, an encoder first and then decoder layer by decoder layer."""
    del fused  # the model computes its weights in any case
    if not accepts(model, "output_attentions"):
        return
    asked = {name: True for name in ("output_attentions", "return_dict") if accepts(model, name)}
    output = _run(model, {**inputs, **asked})

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
    came = ", ".join(
        f"{name or 'a tensor'} ({str(each.dtype).removeprefix('torch.')} {tuple(each.shape)})"
        for name, each in inputs.items()
        if hasattr(each, "dtype")
    )
    with explain_failure(
        f"{type(model).__name__} does not run on {came}", "call the model by itself"
    ):
        return model(**inputs) if positional is None else model(positional)
