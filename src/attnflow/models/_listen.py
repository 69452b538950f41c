"""One forward pass with an ear on its attention, after which the model is as it was."""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Protocol, cast

from attnflow.errors import AttnflowError, InputError, UnsupportedModelError
from attnflow.models._call import GivenWeights, Hear, Role
from attnflow.models._heard import Heard, is_pretrained
from attnflow.models._inputs import accepted
from attnflow.models._interface import interface_ear
from attnflow.models._plain import plain_ears

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from torch import nn


def listen(model: nn.Module, inputs: Mapping[str, Any], hear: Hear, *, fused: bool = False) -> None:
    """Run `model` once on `inputs` and report each attention to `hear`, in the order of the pass.

    With `fused`, calls are asked for `times` only, and models may leave their masks to the fused
    kernels. The model is set to evaluation for the pass, and everything is put back afterwards,
    also when it fails half-way. A model without any attention that can be heard is an
    UnsupportedModelError, after a pass for each way to listen to it; so is one of which only some
    layers attend, or some more than once.
    """
    import torch

    heard = Heard(model, inputs, hear)
    with torch.no_grad(), evaluating(model), as_written():
        for way in _ways(model):
            way(model, inputs, heard.hear, fused=fused)
            if heard:
                break
        else:
            raise UnsupportedModelError(
                f"{type(model).__name__} ran, and no attention was heard. Heard are: models of "
                "transformers that use its attention interface or return attentions; "
                "nn.MultiheadAttention; calls of F.scaled_dot_product_attention; a dropout called "
                "attn_drop. For any other, collect its weights and pass them to attnflow.Attention"
            )
    heard.check()


# What a pass sets in a model it puts back, so passes of one model in several threads take turns.
_turns: weakref.WeakKeyDictionary[nn.Module, threading.RLock] = weakref.WeakKeyDictionary()
_turns_lock = threading.Lock()


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Generator[None]:
    """The model for this thread alone, in evaluation mode; then the mode of each module again."""
    with _turns_lock:
        turn = _turns.setdefault(model, threading.RLock())
    with turn:
        training = [module for module in model.modules() if module.training]
        try:
            for module in training:
                module.training = False
            yield
        finally:
            for module in training:
                module.training = True


@contextlib.contextmanager
def explaining(what: str, advice: str) -> Generator[None]:
    """Say what did not work where PyTorch or a model refuses what came.

    Errors of other types are a model's own, and what there is no memory for is no wrong input.
    """
    try:
        yield
    except AttnflowError:
        raise
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as reason:
        if "memory" in str(reason):
            raise
        raise InputError(
            f"{what}: {type(reason).__name__}: {' '.join(str(reason).split()).rstrip('.')}; "
            f"{advice} to see where"
        ) from reason


def as_written() -> contextlib.AbstractContextManager[Any]:
    """What `torch.compile` made is run as it was written: compiled code calls no ear."""
    if "torch._dynamo" not in sys.modules:  # nothing is compiled, and loading it takes seconds
        return contextlib.nullcontext()
    import torch

    return torch.compiler.set_stance("force_eager")


# ---- ways to listen -------------------------------------------------------------------------


class _Way(Protocol):
    def __call__(
        self, model: nn.Module, inputs: Mapping[str, Any], hear: Hear, *, fused: bool
    ) -> None: ...


def _ways(model: nn.Module) -> tuple[_Way, ...]:
    """How to listen to a model; each one only where nothing was heard before.

    The model is asked for its attentions last: for them some run another path than they do else,
    as Falcon with fused attention, whose mask is then not causal.
    """
    if is_pretrained(model):
        # transformers reads the source of the model for this, so it may be wrong either way.
        interface = bool(cast("Any", model)._can_set_attn_implementation())  # noqa: SLF001
        if interface:
            return _by_interface, _by_plain, _by_output
        return _by_plain, _by_output, _by_interface
    if any(is_pretrained(module) for module in model.modules()):
        return _by_interface, _by_plain
    return (_by_plain,)


def _by_interface(model: nn.Module, inputs: Mapping[str, Any], hear: Hear, *, fused: bool) -> None:
    with interface_ear(model, hear, fused=fused):
        _ = _run(model, inputs)


def _by_plain(model: nn.Module, inputs: Mapping[str, Any], hear: Hear, *, fused: bool) -> None:
    del fused  # plain modules have one way only
    with plain_ears(model, hear):
        _ = _run(model, inputs)


def _by_output(model: nn.Module, inputs: Mapping[str, Any], hear: Hear, *, fused: bool) -> None:
    """Report what a model returned, an encoder first and then decoder layer by decoder layer."""
    del fused  # the model computes its weights in any case
    if not accepted(model, "output_attentions"):
        return
    asked = {name: True for name in ("output_attentions", "return_dict") if accepted(model, name)}
    output = _run(model, {**inputs, **asked})

    def report(role: Role, field: str, number: int, weights: Any) -> None:
        if weights is not None:
            hear(GivenWeights(f"{field}[{number}]", role, weights))

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
    with explaining(f"{type(model).__name__} does not run on {came}", "call the model by itself"):
        return model(**inputs) if positional is None else model(positional)
