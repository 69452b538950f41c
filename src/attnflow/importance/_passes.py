"""Forward passes: what a model answers, and all of it as it was afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models.capture import evaluation_mode, explain_failure, force_eager
from attnflow.models.inputs import accepts, is_pretrained

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from torch import Tensor, nn

    from attnflow.importance._example import Example


class Answer(NamedTuple):
    """What a model answers to several inputs."""

    logits: Tensor  # (row, class)
    placed: bool  # whether it answers at every position, and one of them was read


@contextlib.contextmanager
def reading(model: nn.Module, *, gradients: bool) -> Generator[None]:
    """The model in evaluation, with or without gradients; afterwards all as it was."""
    import torch

    with (
        torch.inference_mode(mode=False),
        torch.set_grad_enabled(gradients),
        evaluation_mode(model),
        force_eager(),
    ):
        yield


def answer_of(model: nn.Module, fields: Mapping[str, Any], examples: Sequence[Example]) -> Answer:
    """What the model answers to `fields`, the rows of which are variants of `examples`."""
    import torch

    logits = _logits(model, _run(model, fields))
    if logits.ndim == 2 and len(logits) == len(examples):
        if examples[0].asked:
            raise InputError(
                f"position came, and {type(model).__name__} gives one answer for the whole input; "
                "leave it out"
            )
        return Answer(logits, placed=False)
    if logits.ndim != 3 or len(logits) != len(examples):
        raise UnsupportedModelError(
            f"{type(model).__name__} gave logits of shape {tuple(logits.shape)} for "
            f"{len(examples)} inputs; (batch, class) is wanted, or (batch, position, class)"
        )
    if any(example.place is None for example in examples):
        raise InputError(
            f"{type(model).__name__} gives an answer at each of {logits.shape[1]} positions, and "
            "there is not one mask token that says which is meant; put one into the text, or name "
            "a position: position=0"
        )
    cut = "logits_to_keep" in fields  # from the place on
    places = [0 if cut else cast("int", example.place) for example in examples]
    rows = torch.arange(len(places), device=logits.device)
    return Answer(logits[rows, places], placed=True)


def _run(model: nn.Module, fields: Mapping[str, Any]) -> Any:
    with explain_failure(f"{type(model).__name__} does not run on the input", "call it by itself"):
        if "" in fields:  # the single argument of a plain module
            return model(fields[""])
        named = is_pretrained(model) and accepts(model, "return_dict")
        return model(**fields, **({"return_dict": True} if named else {}))


def _logits(model: nn.Module, output: Any) -> Tensor:
    import torch

    found = output
    if isinstance(output, Mapping):
        found = cast("Mapping[str, Any]", output).get("logits")
    elif not isinstance(output, torch.Tensor):
        found = getattr(output, "logits", None)
        if found is None and isinstance(output, tuple) and output:
            found = cast("tuple[Any, ...]", output)[0]
    if not isinstance(found, torch.Tensor) or not found.is_floating_point():
        held = list(output) if isinstance(output, Mapping) else type(output).__name__
        raise UnsupportedModelError(
            f"{type(model).__name__} gave {held} and no logits; use a model with a head that "
            "answers, such as AutoModelForSequenceClassification or AutoModelForCausalLM gives"
        )
    # Minus infinity rules a class out; of all classes it does not, and infinity is no probability.
    if not found.numel() or not found.amax(dim=-1).isfinite().all():
        raise UnsupportedModelError(
            f"{type(model).__name__} gave logits that are not a number, or infinite; its weights "
            "or its input hold NaN or infinity, or overflow in half precision: try model.float()"
        )
    # Half precisions are too coarse for differences of probabilities.
    return found.float() if found.element_size() < 4 else found
