"""Forward passes: the logits of a model, and the model unchanged afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from attnflow._internal import checks
from attnflow.errors import InputError, NoPredictionError, UnsupportedModelError
from attnflow.models.capture import evaluation_mode, explain_failure, force_eager
from attnflow.models.inputs import accepts, is_pretrained
from attnflow.models.scoring._single import SingleInput

if TYPE_CHECKING:
    from torch import Tensor, nn


class Logits(NamedTuple):
    """The logits that are read for each row of a batch."""

    values: Tensor  # (row, class)
    per_position: bool  # whether the model has logits at every position, of which one was read


@contextlib.contextmanager
def evaluation(model: nn.Module, *, gradients: bool) -> Generator[None]:
    """The model in evaluation mode, with or without gradients; afterwards all is as before."""
    import torch

    if gradients and any(parameter.is_inference() for parameter in model.parameters()):
        raise InputError(
            f"the parameters of {type(model).__name__} are inference tensors, which have no "
            "gradients. Load the model outside torch.inference_mode()"
        )
    with (
        torch.inference_mode(mode=False),
        torch.set_grad_enabled(gradients),
        evaluation_mode(model),
        force_eager(),
    ):
        yield


def recordable(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that autograd can save: it takes no tensors made in inference mode.

    Called in `evaluation`, since a copy that is made in inference mode is no better.
    """
    import torch

    return {
        name: value.clone() if isinstance(value, torch.Tensor) and value.is_inference() else value
        for name, value in fields.items()
    }


def read_logits(
    model: nn.Module, fields: Mapping[str, Any], inputs: Sequence[SingleInput]
) -> Logits:
    """Return the logits for `fields`, the rows of which are variants of `inputs`."""
    return read_output(model, _run(model, fields), fields, inputs)


def read_output(
    model: nn.Module, output: Any, fields: Mapping[str, Any], inputs: Sequence[SingleInput]
) -> Logits:
    """Return the logits that are read of the output of a pass over `fields`."""
    import torch

    logits = _logits_of(model, output)
    name = type(model).__name__
    if logits.ndim == 2 and len(logits) == len(inputs):
        if inputs[0].given_position is not None:
            raise InputError(
                f"position must be left out: {name} gives one output for the complete input"
            )
        return Logits(logits, per_position=False)
    if logits.ndim != 3 or len(logits) != len(inputs):
        raise UnsupportedModelError(
            f"{name}: expected logits of shape (batch, class) or (batch, position, class) for "
            f"{len(inputs)} inputs, got {tuple(logits.shape)}"
        )
    for item in inputs:
        counted = item.kept and not item.decodes
        last = (len(item.kept) if counted else logits.shape[1]) - 1
        if item.given_position is not None:
            _ = checks.as_int(item.given_position, "position", least=0, most=last)
        if item.read_at is not None:
            continue
        raise InputError(
            f"position must be given: {name} gives an output at every position, and the text has "
            f"no mask token, or several. Choose one from 0 to {last}, or put in one mask token"
        )
    cut = "logits_to_keep" in fields  # the first of these is the one that is read
    places = [0 if cut else cast("int", item.read_at) for item in inputs]
    rows = torch.arange(len(places), device=logits.device)
    return Logits(logits[rows, places], per_position=True)


def all_logits(model: nn.Module, fields: Mapping[str, Any]) -> Tensor:
    """Return all logits of a forward pass, in single precision or better."""
    return _logits_of(model, _run(model, fields))


def _logits_of(model: nn.Module, output: Any) -> Tensor:
    import torch

    found = output
    if isinstance(output, Mapping):
        found = cast("Mapping[str, Any]", output).get("logits")
    elif not isinstance(output, torch.Tensor):
        found = getattr(output, "logits", None)
        if found is None and isinstance(output, tuple) and output:
            found = cast("tuple[Any, ...]", output)[0]
    if not isinstance(found, torch.Tensor) or not found.is_floating_point():
        got = list(output) if isinstance(output, Mapping) else type(output).__name__
        raise NoPredictionError(
            f"{type(model).__name__}: expected an output with logits, got {got}. Use a model with "
            "a head, such as AutoModelForSequenceClassification or AutoModelForCausalLM loads"
        )
    # Minus infinity excludes a class, but not all classes; plus infinity has no probability.
    if not found.numel() or not found.amax(dim=-1).isfinite().all():
        raise UnsupportedModelError(
            f"{type(model).__name__} gave logits that are NaN or infinite; its weights or its "
            "input hold NaN or infinity, or overflow in half precision: try model.float()"
        )
    # Half precision is too coarse for differences of probabilities.
    return found.float() if found.element_size() < 4 else found


def _run(model: nn.Module, fields: Mapping[str, Any]) -> Any:
    with explain_failure(f"{type(model).__name__} does not run on the input", "call it directly"):
        if "" in fields:  # the only argument of a plain module
            return model(fields[""])
        named = is_pretrained(model) and accepts(model, "return_dict")
        return model(**{**fields, "return_dict": True} if named else fields)
