"""Variants of inputs in as few batches as possible, without padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from attnflow._internal import checks
from attnflow.models.inputs import is_pretrained, weight_count
from attnflow.models.scoring._single import SingleInput

if TYPE_CHECKING:
    from torch import nn

# Tokens in a batch if callers set no batch_size. Chosen: on one core a model of a few million
# weights is about as fast with 512 as with 8,192; fewer and larger batches suit several cores. To
# save memory, a large model gets fewer tokens: tokens times weights is at most _MULTIPLICATIONS.
# The weights of the vocabulary count, so this limits the logits too. A pass with gradients keeps
# all intermediate results, so it gets a quarter.
_MAX_TOKENS, _MIN_TOKENS, _MULTIPLICATIONS = 4096, 512, 2**34


class Variant(NamedTuple):
    """An input by its number, and the positions whose tokens are replaced."""

    input: int
    replaced: tuple[int, ...] = ()


def batches(
    model: nn.Module,
    inputs: Sequence[SingleInput],
    variants: Sequence[Variant],
    *,
    batch_size: int | None,
    replacement: int | None = None,
    gradients: bool = False,
) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """Yield batches: numbers of variants in rising order, and the arguments of the forward pass.

    The variants of a batch have one length, so there is no padding. `replacement` is the id at the
    replaced positions; None leaves the ids as they are.
    """
    kinds: dict[Any, list[int]] = {}
    of_input: dict[int, list[int]] = {}
    for number, variant in enumerate(variants):
        kind = of_input.get(variant.input)
        if kind is None:
            kind = kinds.setdefault(_shape(inputs[variant.input]), [])
            of_input[variant.input] = kind
        kind.append(number)
    size, tokens = _limits(model, batch_size, gradients=gradients)
    for numbers in kinds.values():
        length = inputs[variants[numbers[0]].input].ids.shape[1]
        step = size or max(1, tokens // length)
        for start in range(0, len(numbers), step):
            part = numbers[start : start + step]
            yield part, _concatenate(inputs, [variants[number] for number in part], replacement)


def _shape(item: SingleInput) -> tuple[Any, ...]:
    """Return what the inputs of a batch have in common."""
    import torch

    return (
        item.main,
        *(
            (name, value.shape, value.dtype)
            if isinstance(value, torch.Tensor)
            else (name, repr(value))
            for name, value in item.fields.items()
        ),
    )


def _limits(model: nn.Module, size: int | None, *, gradients: bool) -> tuple[int | None, int]:
    """Return how many rows a batch has and, if that is None, how many tokens."""
    if size is not None:
        size = checks.as_int(size, "batch_size", least=1)
    config: Any = getattr(model, "config", None)
    # Classifiers of transformers on top of a decoder search for the last token that is not padding,
    # and refuse several rows if they have no padding token.
    searches = is_pretrained(model) and type(model).__name__.endswith("ForSequenceClassification")
    if searches and getattr(config, "pad_token_id", None) is None:
        size = 1
    weights = max(1, weight_count(model))
    most = _MAX_TOKENS // 4 if gradients else _MAX_TOKENS
    return size, min(most, max(_MIN_TOKENS, _MULTIPLICATIONS // weights))


def _concatenate(
    inputs: Sequence[SingleInput], variants: Sequence[Variant], replacement: int | None
) -> dict[str, Any]:
    """Return the arguments of the forward pass for these variants."""
    import torch

    first = inputs[variants[0].input]
    rows = {number: row for row, number in enumerate(dict.fromkeys(v.input for v in variants))}
    chosen = torch.tensor([rows[variant.input] for variant in variants])
    fields: dict[str, Any] = {}
    for name, value in first.fields.items():
        if isinstance(value, torch.Tensor) and value.ndim and len(value) == 1:
            distinct = torch.cat([inputs[number].fields[name] for number in rows])
            fields[name] = distinct[chosen.to(distinct.device)]  # a copy, which may be written to
        else:
            fields[name] = value
    places = [(row, place) for row, variant in enumerate(variants) for place in variant.replaced]
    if places and replacement is not None:
        ids = fields[first.main]
        ids[tuple(torch.tensor(places).T.to(ids.device))] = replacement
    return fields
