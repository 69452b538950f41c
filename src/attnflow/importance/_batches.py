"""Variants of inputs put together to batches, as few as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.models.inputs import is_pretrained

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import nn

    from attnflow.importance._example import Example

# How many tokens a pass reads where callers do not say. Chosen: on one core a model of a few
# million weights is about as quick with 512 as with 8,192; fewer and larger passes suit several
# cores, which wait for one another at every step. A large model gets fewer, as many as make this
# number of multiplications, to save memory. The weights count its vocabulary too, and so bound the
# logits. For gradients all of a pass is kept, so a quarter is taken.
_TOKENS_AT_MOST, _TOKENS_AT_LEAST, _MULTIPLICATIONS = 4096, 512, 2**34


class Row(NamedTuple):
    """An example, and the positions of it that are blanked."""

    example: int
    blanked: tuple[int, ...] = ()


def batches(
    model: nn.Module,
    examples: Sequence[Example],
    rows: Sequence[Row],
    *,
    size: int | None,
    blank: int = 0,
    gradients: bool = False,
) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """Rows that can be run together: numbers of the rows, and what the model is called with.

    They are of one length, so nothing is padded: `size` of them, or as many as have the tokens that
    suit the model, fewer where `gradients` are wanted. `blank` is the id that stands at the
    positions that are blanked.
    """
    kinds: dict[Any, list[int]] = {}
    of_example: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        kind = of_example.get(row.example)
        if kind is None:
            kind = kinds.setdefault(_shape(examples[row.example]), [])
            of_example[row.example] = kind
        kind.append(number)
    size, tokens = _limits(model, size, gradients=gradients)
    for numbers in kinds.values():
        length = examples[rows[numbers[0]].example].read.shape[1]
        step = size or max(1, tokens // length)
        for start in range(0, len(numbers), step):
            part = numbers[start : start + step]
            yield part, _together(examples, [rows[number] for number in part], blank)


def _shape(example: Example) -> tuple[Any, ...]:
    """What examples that are run together have in common."""
    import torch

    return (
        example.main,
        *(
            (name, value.shape, value.dtype)
            if isinstance(value, torch.Tensor)
            else (name, repr(value))
            for name, value in example.fields.items()
        ),
    )


def _limits(model: nn.Module, size: int | None, *, gradients: bool) -> tuple[int | None, int]:
    """How many rows are run at once, and where that is not said, how many tokens."""
    if size is not None:
        size = checks.as_int(size, "batch_size")
        if size < 1:
            raise InputError(f"batch_size is {size}; 1 or more is wanted")
    config: Any = getattr(model, "config", None)
    # Classifiers of transformers on top of a decoder look for the last token that is no padding,
    # and refuse several rows if they don't know what padding is.
    looks = is_pretrained(model) and type(model).__name__.endswith("ForSequenceClassification")
    if looks and getattr(config, "pad_token_id", None) is None:
        size = 1
    weights = max(1, sum(parameter.numel() for parameter in model.parameters()))
    most = _TOKENS_AT_MOST // 4 if gradients else _TOKENS_AT_MOST
    return size, min(most, max(_TOKENS_AT_LEAST, _MULTIPLICATIONS // weights))


def _together(examples: Sequence[Example], rows: Sequence[Row], blank: int) -> dict[str, Any]:
    """What the model is called with for these rows."""
    import torch

    first = examples[rows[0].example]
    place = {number: at for at, number in enumerate(dict.fromkeys(row.example for row in rows))}
    variants = torch.tensor([place[row.example] for row in rows])
    fields: dict[str, Any] = {}
    for name, value in first.fields.items():
        if isinstance(value, torch.Tensor) and value.ndim and len(value) == 1:
            each = torch.cat([examples[number].fields[name] for number in place])
            fields[name] = each[variants.to(each.device)]  # a copy, which may be written to
        else:
            fields[name] = value
    spots = [(at, position) for at, row in enumerate(rows) for position in row.blanked]
    if spots:
        fields[first.main][tuple(torch.tensor(spots).T.to(fields[first.main].device))] = blank
    return fields
