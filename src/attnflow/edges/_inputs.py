"""One text or several, one after the other: each is a batch of one, without padding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from attnflow.edges._layout import BlockLayout
from attnflow.errors import InputError
from attnflow.models.inputs import Inputs, ModelInput, checked_model, prepare
from attnflow.models.scoring import split_batch

if TYPE_CHECKING:
    from torch import nn

T = TypeVar("T")


class BlockSettings(TypedDict, total=False):
    """Settings of functions that read the blocks of a model, for their overloads."""

    layout: BlockLayout | None
    truncate: bool


def one_or_all(
    compute: Callable[[nn.Module, Inputs], T],
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    truncate: bool = False,
) -> T | list[T]:
    """Return the result for one text, or the list of results for several texts or tensors."""
    import torch

    model = checked_model(model)
    # Tensors made in inference mode have no gradients.
    with torch.inference_mode(mode=False):
        if isinstance(text, list | tuple) and text:
            # Prepared before any work, so that a wrong text is an error at once.
            items = [prepare(model, tokenizer, [item], truncate=truncate) for item in text]
            return [compute(model, item) for item in items]
        inputs = prepare(model, tokenizer, text, truncate=truncate)
        if inputs.single:
            return compute(model, inputs)
        return [compute(model, item) for item in _examples(inputs)]


def _examples(inputs: Inputs) -> Iterator[Inputs]:
    """Yield the examples of a batch of tensors as batches of one."""
    if inputs.batches and not inputs.sources:
        # The batch axis of a plain module is unknown; functions reject more than one example.
        yield inputs.with_batch_size(1, "")
        return
    for number, (fields, main, source) in enumerate(split_batch(inputs)):
        target = None if inputs.targets is None else inputs.targets[number]
        if source.kept is not None or (target is not None and target.kept is not None):
            raise InputError(
                f"{main or 'the input'}: expected padding at the ends only and none of a decoder, "
                "got padding between tokens, a mask with more than two axes, or padding of a "
                "decoder. Pass the inputs one by one"
            )
        yield Inputs(fields, (source,), None if target is None else (target,), single=False)
