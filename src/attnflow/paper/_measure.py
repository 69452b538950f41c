"""How often the model is right: on prefixes, and by their number of attractors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnflow.errors import InputError
from attnflow.paper._batches import padded
from attnflow.paper._prefix import PLURAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

    from attnflow.paper._nouns import Nouns
    from attnflow.paper._prefix import Prefix

_BATCH = 256  # chosen: more take no less time


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Shares of prefixes whose number was predicted.

    Parameters
    ----------
    distinct
        Each prefix counted once.
    natural
        Each counted as often as it stands in its file.
    loss
        Mean of −log p(correct number), over distinct prefixes.
    count
        How many distinct prefixes there are.
    rows
        How often they stand in their file, together.
    """

    distinct: float
    natural: float
    loss: float
    count: int
    rows: int


def accuracy(model: nn.Module, tokenizer: Any, prefixes: Sequence[Prefix]) -> Accuracy:
    """How often a model predicts the number of the verb that follows `prefixes`.

    Parameters
    ----------
    model, tokenizer
        As `load` gives them; any classifier whose two logits are of singular and plural.
    prefixes
        At least one.

    Notes
    -----
    One forward pass a 256 prefixes, without dropout: about a second a 1,000 prefixes on one core.

    Examples
    --------
    >>> from attnflow import paper
    >>> loaded = paper.load()
    >>> paper.accuracy(loaded.model, loaded.tokenizer, paper.generate(99)).distinct > 0.9
    True
    """
    return accuracy_of_rows(model, encoded(tokenizer, prefixes), prefixes)


def by_attractors(
    model: nn.Module, tokenizer: Any, prefixes: Sequence[Prefix]
) -> dict[int, Accuracy]:
    """The accuracy for each number of attractors; prefixes of unknown number are left out.

    Parameters
    ----------
    model, tokenizer, prefixes
        As for `accuracy`; no prefix at all gives an empty table.
    """
    counted = [prefix for prefix in prefixes if prefix.attractors is not None]
    return rows_by_attractors(model, encoded(tokenizer, counted), counted)


def encoded(tokenizer: Any, prefixes: Sequence[Prefix]) -> list[list[int]]:
    """Token ids of each prefix, by a tokenizer of transformers."""
    if not prefixes:  # tokenizers trip over no text at all
        return []
    texts = [" ".join(prefix.words) for prefix in prefixes]
    rows: list[list[int]] = tokenizer(texts, verbose=False)["input_ids"]
    for text, row in zip(texts, rows, strict=True):
        if len(row) > tokenizer.model_max_length:
            raise InputError(
                f"the prefix {text[:40]!r}… has {len(row)} tokens, and the model takes "
                f"{tokenizer.model_max_length}; leave it out or shorten it"
            )
    return rows


def rows_by_attractors(
    model: nn.Module, rows: Sequence[list[int]], prefixes: Sequence[Prefix]
) -> dict[int, Accuracy]:
    """`by_attractors` of prefixes whose token ids are there already."""
    pairs = list(zip(rows, prefixes, strict=True))
    kinds = sorted({prefix.attractors for prefix in prefixes if prefix.attractors is not None})
    found: dict[int, Accuracy] = {}
    for kind in kinds:
        some = [pair for pair in pairs if pair[1].attractors == kind]
        found[kind] = accuracy_of_rows(model, [row for row, _ in some], [p for _, p in some])
    return found


def accuracy_of_rows(
    model: nn.Module, rows: Sequence[list[int]], prefixes: Sequence[Prefix]
) -> Accuracy:
    """`accuracy` of prefixes whose token ids are there already."""
    import torch

    if not prefixes:
        raise InputError("there is no prefix to measure accuracy on; pass at least one")
    plural = plural_probabilities(model, rows)
    numbers = torch.tensor([prefix.number for prefix in prefixes])
    times = torch.tensor([float(prefix.times) for prefix in prefixes])
    correct = torch.where(numbers == PLURAL, plural, 1 - plural)
    right = (correct > 0.5).float()
    loss = -correct.clamp_min(1e-7).log().mean()
    return Accuracy(
        right.mean().item(),
        ((right * times).sum() / times.sum()).item(),
        loss.item(),
        len(prefixes),
        int(times.sum()),
    )


def plural_probabilities(model: nn.Module, rows: Sequence[list[int]]) -> Tensor:
    """p(plural) for each row of token ids, without dropout; the model's mode is put back after."""
    import torch

    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))  # alike lengths, little padding
    found = torch.empty(len(rows))
    training = model.training
    _ = model.eval()
    try:
        with torch.inference_mode():
            for start in range(0, len(order), _BATCH):
                part = order[start : start + _BATCH]
                ids, mask = padded([rows[i] for i in part])
                logits = model(input_ids=ids, attention_mask=mask).logits
                found[part] = logits.float().softmax(-1)[:, PLURAL]
    finally:
        _ = model.train(training)
    return found


def count_attractors(prefix: Prefix, nouns: Nouns) -> int | None:
    """Known nouns of the other number between subject and verb; None without a known subject."""
    if prefix.subject is None:
        return None
    other = prefix.number != PLURAL
    return sum(nouns.is_plural(word) is other for word in prefix.words[prefix.subject + 1 :])
