"""The accuracy of a model on prefixes, overall and by number of attractors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from attnflow.errors import InputError
from attnflow.paper.data import PLURAL, Nouns, Prefix, Splits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from attnflow.models import Loaded

_BATCH_SIZE = 256  # chosen: larger batches are not faster
_PAD_ID = 0  # PAD is the first word of the vocabulary


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of prefixes whose number was predicted correctly.

    Parameters
    ----------
    distinct
        Every prefix counts once.
    natural
        Every prefix counts as often as it occurs in its file.
    loss
        Mean of −log p(correct number) over distinct prefixes.
    count
        Number of distinct prefixes.
    rows
        Number of their occurrences.
    """

    distinct: float
    natural: float
    loss: float
    count: int
    rows: int


def accuracy(model: nn.Module, tokenizer: Any, prefixes: Sequence[Prefix]) -> Accuracy:
    """Return how often a model predicts the number of the verb after `prefixes`.

    Parameters
    ----------
    model, tokenizer
        As `load` returns them; any classifier with two logits, singular and plural.
    prefixes
        At least one.

    Notes
    -----
    One forward pass without dropout for 256 prefixes: about a second for 1,000 prefixes on one
    core.

    Examples
    --------
    >>> from attnflow import paper
    >>> loaded = paper.load()
    >>> paper.accuracy(loaded.model, loaded.tokenizer, paper.generate(99)).distinct > 0.9
    True
    """
    return accuracy_of_ids(model, _encode(tokenizer, prefixes), prefixes)


def by_attractors(
    model: nn.Module, tokenizer: Any, prefixes: Sequence[Prefix]
) -> dict[int, Accuracy]:
    """Return the accuracy for each number of attractors, without prefixes of unknown number.

    Parameters
    ----------
    model, tokenizer, prefixes
        As for `accuracy`; without a prefix the result is empty.
    """
    groups: dict[int, list[Prefix]] = {}
    for prefix in prefixes:
        if prefix.attractors is not None:
            groups.setdefault(prefix.attractors, []).append(prefix)
    return {count: accuracy(model, tokenizer, groups[count]) for count in sorted(groups)}


@dataclass(frozen=True, slots=True)
class Accuracies:
    """The accuracy on each split, and by number of attractors; None for an empty split.

    Parameters
    ----------
    validation, test, wiki_test
        The splits.
    test_attractors
        By number of attractors: on `attractor_test`, and on `test` where attractors are counted.
    wiki_attractors
        By number of attractors on `wiki_test`, counted with the nouns of the training sentences.
    """

    validation: Accuracy
    test: Accuracy | None
    wiki_test: Accuracy | None
    test_attractors: dict[int, Accuracy]
    wiki_attractors: dict[int, Accuracy]

    def to_dict(self) -> dict[str, Any]:
        """Return the accuracies as JSON values; numbers of attractors become strings."""
        values = asdict(self)
        for name in ("test_attractors", "wiki_attractors"):
            values[name] = {str(count): found for count, found in values[name].items()}
        return values


def accuracies(loaded: Loaded, splits: Splits, nouns: Nouns) -> Accuracies:
    """Return the accuracies of a model on the splits that it was trained with."""
    both = loaded.model, loaded.tokenizer
    wiki_test = [replace(p, attractors=count_attractors(p, nouns)) for p in splits.wiki_test]
    return Accuracies(
        accuracy(*both, splits.validation),
        accuracy(*both, splits.test) if splits.test else None,
        accuracy(*both, wiki_test) if wiki_test else None,
        by_attractors(*both, (*splits.test, *splits.attractor_test)),
        by_attractors(*both, wiki_test),
    )


def count_attractors(prefix: Prefix, nouns: Nouns) -> int | None:
    """Return the number of known attractors; None without a known subject."""
    if prefix.subject is None:
        return None
    other = prefix.number != PLURAL
    return sum(nouns.is_plural(word) is other for word in prefix.words[prefix.subject + 1 :])


def _encode(tokenizer: Any, prefixes: Sequence[Prefix]) -> list[list[int]]:
    if not prefixes:  # a tokenizer fails without any text
        return []
    texts = [prefix.text for prefix in prefixes]
    rows: list[list[int]] = tokenizer(texts, verbose=False)["input_ids"]
    for text, row in zip(texts, rows, strict=True):
        if len(row) > tokenizer.model_max_length:
            raise InputError(
                f"expected at most {tokenizer.model_max_length} tokens, got {len(row)} for the "
                f"prefix {text[:40]!r}…; leave it out or shorten it"
            )
    return rows


def accuracy_of_ids(
    model: nn.Module, rows: Sequence[list[int]], prefixes: Sequence[Prefix]
) -> Accuracy:
    """Return the `accuracy` on prefixes with these token ids."""
    import torch

    if not prefixes:
        raise InputError("accuracy needs at least one prefix, got none")
    plural = _plural_probabilities(model, rows)
    numbers = torch.tensor([prefix.number for prefix in prefixes])
    counts = torch.tensor([float(prefix.count) for prefix in prefixes])
    probability = torch.where(numbers == PLURAL, plural, 1 - plural)
    correct = (probability > 0.5).float()
    return Accuracy(
        correct.mean().item(),
        ((correct * counts).sum() / counts.sum()).item(),
        -probability.clamp_min(1e-7).log().mean().item(),
        len(prefixes),
        int(counts.sum()),
    )


def _plural_probabilities(model: nn.Module, rows: Sequence[list[int]]) -> Tensor:
    """Return p(plural) for each row of token ids in evaluation mode; the mode is restored."""
    import torch

    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))  # similar lengths, little padding
    result = torch.empty(len(rows))
    training = model.training
    _ = model.eval()
    try:
        with torch.inference_mode():
            for start in range(0, len(order), _BATCH_SIZE):
                part = order[start : start + _BATCH_SIZE]
                ids, mask = pad([rows[i] for i in part])
                logits = model(input_ids=ids, attention_mask=mask).logits
                result[part] = logits.float().softmax(-1)[:, PLURAL]
    finally:
        _ = model.train(training)
    return result


def pad(rows: Sequence[list[int]], *, extra: int = 0) -> tuple[Tensor, Tensor | None]:
    """Return token ids (row, token) and their attention mask, None without padding.

    Every row gets `extra` padding tokens more than the longest row needs.
    """
    import torch

    width = max(map(len, rows)) + extra
    ids = torch.tensor([row + [_PAD_ID] * (width - len(row)) for row in rows])
    if all(len(row) == width for row in rows):
        return ids, None
    return ids, (ids != _PAD_ID).long()
