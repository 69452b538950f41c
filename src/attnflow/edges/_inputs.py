"""One text or several, one after the other: each is a batch of one, without padding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from attnflow.edges._layout import BlockLayout
from attnflow.errors import InputError
from attnflow.models.capture import Estimate, check_memory
from attnflow.models.inputs import (
    Inputs,
    ModelInput,
    is_single,
    is_text,
    model_and_tokenizer,
    prepare,
)
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
    truncate: bool,
    name: str,
    estimate: Estimate,
) -> T | list[T]:
    """Return the result for one text or image, or the list of results for several or for tensors.

    `name` is the function in errors, `estimate` the memory that it needs.
    """
    import torch

    model, tokenizer = model_and_tokenizer(model, tokenizer)
    # Tensors made in inference mode have no gradients.
    with torch.inference_mode(mode=False):
        found = examples(model, tokenizer, text, truncate=truncate)
        check_memory(name, model, found, estimate)
        results = [compute(model, _without_padding(item)) for item in found]
    return results[0] if is_single(text) else results


def examples(model: nn.Module, tokenizer: Any, text: ModelInput, *, truncate: bool) -> list[Inputs]:
    """Return the examples of an input as batches of one, padding at their ends cut off.

    Those of a plain module are one batch, since it is unknown which axis is that of the batch.
    """
    if isinstance(text, list) and text and not is_text(text):
        # Prepared before any work, so that a wrong text is an error at once.
        several: list[Any] = [*text]
        return [prepare(model, tokenizer, [item], truncate=truncate) for item in several]
    inputs = replace(prepare(model, tokenizer, text, truncate=truncate), single=False)
    if inputs.batches and not inputs.sources:
        return [inputs]
    found: list[Inputs] = []
    for number, (fields, _, source) in enumerate(split_batch(inputs)):
        targets = None if inputs.targets is None else (inputs.targets[number],)
        found.append(Inputs(fields, (source,), targets, single=False))
    return found


def _without_padding(inputs: Inputs) -> Inputs:
    """Return a batch of one, an error if it has padding; functions reject several examples."""
    if inputs.batches:
        return inputs.with_batch_size(1, "")
    if any(side.kept is not None for side in (*inputs.sources, *(inputs.targets or ()))):
        raise InputError(
            "expected padding at the ends of the input only and none of a decoder, got padding "
            "between tokens, a mask with more than two axes, or padding of a decoder. Pass the "
            "inputs one by one"
        )
    return inputs
