"""`prepare`: the argument `text` of public functions as the input of a forward pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from attnflow._internal import checks
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models.inputs._generate import Generate
from attnflow.models.inputs._inputs import Inputs
from attnflow.models.inputs._tensors import as_tensors, prepare_tensors
from attnflow.models.inputs._texts import prepare_texts

if TYPE_CHECKING:
    from torch import Tensor, nn

# Inputs that give a list of results: several texts, or tensors with a batch axis.
Several: TypeAlias = "list[str] | tuple[str, ...] | Mapping[str, Any] | Tensor"
# `Inputs` are for other packages of attnflow, which use one text several times.
ModelInput: TypeAlias = "str | Several | Inputs"


def prepare(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    target: str | list[str] | None = None,
    truncate: bool = False,
    generate: Generate | None = None,
) -> Inputs:
    """Return `text`, one or several texts or tensors, as the input of a forward pass.

    `Inputs` are returned unchanged.
    """
    _check_model(model)
    if isinstance(text, Inputs):
        return text
    if isinstance(text, str | list | tuple):
        texts = [text] if isinstance(text, str) else list(text)
        if not texts:
            raise InputError("expected at least one text, got an empty list")
        return prepare_texts(
            model,
            tokenizer,
            texts,
            targets=_targets(target, texts),
            truncate=checks.as_bool(truncate, "truncate"),
            generate=generate,
            single=isinstance(text, str),
        )
    for name, given in (("target", target), ("generate", generate)):
        if given is not None:
            raise InputError(
                f"{name} needs a text, got tensors. Add decoder_input_ids to them, or generate "
                "first and pass prompt and output together"
            )
    return prepare_tensors(model, tokenizer, as_tensors(model, text))


def _targets(target: str | list[str] | None, texts: list[str]) -> list[str] | None:
    """Return one target per text, or None."""
    if target is None:
        return None
    targets = list(target) if isinstance(target, list | tuple) else [target]
    if len(targets) != len(texts):
        raise InputError(f"target: expected {len(texts)}, one for each text, got {len(targets)}")
    return targets


def _check_model(model: object) -> None:
    import torch
    from torch import nn

    if not isinstance(model, nn.Module):
        raise InputError(
            f"model: expected a torch module, such as attnflow.models.load(folder).model, got "
            f"{type(model).__name__}"
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise UnsupportedModelError(
            f"TorchScript ({type(model).__name__}) is not supported, since it calls no hooks. Pass "
            "the original module"
        )
    if any(parameter.is_meta for parameter in model.parameters()):
        raise InputError(
            f"{type(model).__name__} has parameters on the meta device, which have no values. Load "
            "the model onto a real device first"
        )
