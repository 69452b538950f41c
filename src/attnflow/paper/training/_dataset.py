"""`TrainingData`: the prefixes of an epoch, sampled, augmented and batched."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from attnflow.paper.data import (
    MAX_WORDS,
    NOUNS,
    Nouns,
    Prefix,
    Splits,
    augment,
    find_openings,
    generate,
    inner_prefixes,
    random_opening,
    with_subjects,
)
from attnflow.paper.model import Vocabulary, pad

if TYPE_CHECKING:
    from torch import Tensor

    from attnflow.paper.training._recipe import Recipe

EncodedPrefix: TypeAlias = tuple[list[int], int]  # token ids, number of the verb

_MAX_WORDS = 40  # of a prefix with a prepended opening; longer ones are rare and slow
_SORTED_BATCHES = 64  # sorted by length together; a batch then has nearly one length


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Prefixes for training with their known subjects, and the vocabulary and nouns of them.

    `openings` may be prepended to a prefix, `texts` are whole sentences for co-occurrence counts,
    and `held_out` are the words of prefixes that are never trained on.
    """

    natural: list[Prefix]
    inner: list[Prefix]
    attractors: list[Prefix]
    openings: list[tuple[str, ...]]
    nouns: Nouns
    vocabulary: Vocabulary
    texts: list[tuple[str, ...]] = field(repr=False)
    held_out: frozenset[tuple[str, ...]] = field(repr=False)

    @classmethod
    def from_splits(cls, splits: Splits) -> TrainingData:
        """Return all prefixes that may be trained on: none equals a held-out prefix."""
        train = (*splits.train, *splits.attractor_train)
        # The tag of the verb replaces an unknown rest of a sentence.
        tags = ("VBZ", "VBP")
        texts = [(*p.words, *(p.rest or (tags[p.number],))) for p in train]
        nouns = Nouns(tuple(dict.fromkeys((*Nouns.from_texts(texts).pairs, *NOUNS))))
        generated_words = [word for pair in NOUNS for word in pair]
        inner = inner_prefixes(train, exclude=splits.held_out | {p.words for p in train})
        return cls(
            with_subjects(splits.train, nouns),
            with_subjects(inner, nouns),
            with_subjects(splits.attractor_train, nouns),
            find_openings(train, nouns),
            nouns,
            Vocabulary.from_texts([*(p.words for p in train), generated_words]),
            texts,
            splits.held_out,
        )

    def epoch(self, recipe: Recipe, number: int) -> list[EncodedPrefix]:
        """Return the prefixes of epoch `number` in random order; the same arguments, the same."""
        rng = random.Random(f"{recipe.seed} {number}")  # noqa: S311 (sentences, not secrets)
        mix = recipe.mix
        sampled: list[Prefix] = []
        for prefixes, factor in (
            (self.natural, mix.natural),
            (self.inner, mix.inner),
            (self.attractors, mix.attractors),
        ):
            times = int(factor)
            sampled += prefixes * times
            sampled += rng.sample(prefixes, round(len(prefixes) * (factor - times)))
        labelled: list[tuple[Sequence[str], int]] = []
        for prefix in sampled:
            words, label = augment(prefix, self.nouns, recipe.augmentation, rng)
            if rng.random() < recipe.augmentation.prepend_prob:
                opening = random_opening(self.openings, self.natural, self.nouns, rng)
                if len(opening) + len(words) <= _MAX_WORDS:
                    words = opening + words
            labelled.append((words, label))
        # Half of the generated prefixes have the generator's nouns, half those of the corpus.
        for nouns in (NOUNS, self.nouns.pairs):
            made = generate(mix.generated // 2, seed=rng.randrange(2**32), nouns=nouns)
            labelled += [(prefix.words, prefix.number) for prefix in made]
        rng.shuffle(labelled)
        # Augmentation may create a held-out prefix.
        return [
            (self.vocabulary.encode(words), label)
            for words, label in labelled
            if tuple(words) not in self.held_out
        ]


def batches(
    prefixes: Sequence[EncodedPrefix], size: int, rng: random.Random, *, padding: int = 0
) -> Iterator[tuple[Tensor, Tensor | None, Tensor]]:
    """Yield ids, attention mask and labels of batches of similar length in random order.

    Up to `padding` columns of padding, a random number, are added to each batch.
    """
    import torch

    groups: list[list[EncodedPrefix]] = []
    for start in range(0, len(prefixes), size * _SORTED_BATCHES):
        part = sorted(prefixes[start : start + size * _SORTED_BATCHES], key=lambda p: len(p[0]))
        groups += [part[i : i + size] for i in range(0, len(part), size)]
    rng.shuffle(groups)
    for group in groups:
        rows = [ids for ids, _ in group]
        # The model has MAX_WORDS + 2 positions.
        extra = min(rng.randint(0, padding), MAX_WORDS + 2 - max(map(len, rows)))
        yield (*pad(rows, extra=extra), torch.tensor([label for _, label in group]))
