"""What callers pass as `text`, in whatever form it came."""

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

# `Inputs` are for callers inside attnflow that use one text several times.
ModelInput: TypeAlias = "str | list[str] | tuple[str, ...] | Mapping[str, Any] | Tensor | Inputs"


def prepare(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    target: str | list[str] | None = None,
    truncate: bool = False,
    generate: Generate | None = None,
) -> Inputs:
    """Read `text`, in whatever form it came, for a forward pass of `model`.

    Inputs that are prepared already are returned as they are.
    """
    _check_model(model)
    if isinstance(text, Inputs):
        return text
    if isinstance(text, str | list | tuple):
        texts = [text] if isinstance(text, str) else list(text)
        if not texts:
            raise InputError("an empty list of texts came; pass at least one text")
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
                f"{name} goes with a text, and ready inputs came; put decoder_input_ids into them, "
                "or generate first and pass prompt and output together"
            )
    return prepare_tensors(model, tokenizer, as_tensors(model, text))


def _targets(target: str | list[str] | None, texts: list[str]) -> list[str] | None:
    """One target a text, or none at all."""
    if target is None:
        return None
    targets = list(target) if isinstance(target, list | tuple) else [target]
    if len(targets) != len(texts):
        raise InputError(f"{len(texts)} texts came with {len(targets)} targets; give one each")
    return targets


def _check_model(model: object) -> None:
    import torch
    from torch import nn

    if not isinstance(model, nn.Module):
        raise InputError(
            f"a {type(model).__name__} came as the model; a torch module is wanted, such as "
            "attnflow.models.load(folder) gives"
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise UnsupportedModelError(
            f"the model is a {type(model).__name__}, code that TorchScript made, which calls no "
            "ear; pass the module that it was made from"
        )
    if any(parameter.is_meta for parameter in model.parameters()):
        raise InputError(
            f"the weights of {type(model).__name__} are on the meta device, which holds no "
            "numbers; load the model onto a real device first"
        )
