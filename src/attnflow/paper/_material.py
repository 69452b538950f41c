"""What the model learns from: the sentences of an epoch, drawn and changed by chance."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnflow.paper._augment import Augmentation, changed, inner_prefixes, with_subjects
from attnflow.paper._leads import lead_in, leads
from attnflow.paper._nouns import Nouns
from attnflow.paper._sentences import NOUNS, generate
from attnflow.paper._vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnflow.paper._batches import Example
    from attnflow.paper._prefix import Prefix
    from attnflow.paper._splits import Splits

_LONGEST = 40  # words of a lengthened prefix; long ones are rare, and cost most


@dataclass(frozen=True, slots=True)
class Mix:
    """How often an epoch takes each kind of sentence; 1.5 is each once and half of them twice.

    The defaults were chosen on the validation split.

    Parameters
    ----------
    natural
        Sentences in the natural mix.
    inner
        Prefixes of other verbs of the same sentences.
    attractors
        Sentences from the attractor files.
    generated
        How many of our own sentences, new ones each epoch.
    """

    natural: float = 1.0
    inner: float = 0.5
    attractors: float = 0.2
    generated: int = 1000


@dataclass(frozen=True, slots=True)
class Material:
    """Sentences for training with their subjects where known, and the words and nouns in them."""

    natural: list[Prefix]
    inner: list[Prefix]
    attractors: list[Prefix]
    leads: list[tuple[str, ...]]
    nouns: Nouns
    vocabulary: Vocabulary
    texts: list[tuple[str, ...]] = field(repr=False)
    measured: frozenset[tuple[str, ...]] = field(repr=False)

    @classmethod
    def of(cls, splits: Splits) -> Material:
        """All that may be trained on: nothing that is measured on, nor a prefix equal to it."""
        given = (*splits.natural, *splits.attractors)
        # Where the rest of a sentence is not known, its verb's tag stands for it.
        tags = ("VBZ", "VBP")
        texts = [(*p.words, *(p.rest or (tags[p.number],))) for p in given]
        nouns = Nouns(tuple(dict.fromkeys((*Nouns.of(texts).pairs, *NOUNS))))
        own = [word for pair in NOUNS for word in pair]
        inner = inner_prefixes(given, without=splits.measured | {p.words for p in given})
        return cls(
            with_subjects(splits.natural, nouns),
            with_subjects(inner, nouns),
            with_subjects(splits.attractors, nouns),
            leads(given, nouns),
            nouns,
            Vocabulary.of([*(p.words for p in given), own]),
            texts,
            splits.measured,
        )

    def epoch(self, mix: Mix, how: Augmentation, *, seed: int, number: int) -> list[Example]:
        """The examples of epoch `number` in random order; the same arguments give the same ones."""
        rng = random.Random(f"{seed} {number}")  # noqa: S311 (sentences, not secrets)
        drawn: list[Prefix] = []
        pools = ((self.natural, mix.natural), (self.inner, mix.inner))
        for pool, times in (*pools, (self.attractors, mix.attractors)):
            whole = int(times)
            drawn += pool * whole + rng.sample(pool, round(len(pool) * (times - whole)))
        ready: list[tuple[Sequence[str], int]] = []
        for prefix in drawn:
            words, plural = changed(prefix, prefix.subject, self.nouns, how, rng)
            if rng.random() < how.lead:
                front = lead_in(self.leads, self.natural, self.nouns, rng)
                if len(front) + len(words) <= _LONGEST:
                    words = front + words
            ready.append((words, plural))
        # Half of our own sentences with our own nouns, half with those of the corpus.
        for nouns in (NOUNS, self.nouns.pairs):
            made = generate(mix.generated // 2, seed=rng.randrange(2**32), nouns=nouns)
            ready += [(prefix.words, prefix.number) for prefix in made]
        rng.shuffle(ready)
        # A change may by chance make a prefix that is measured on.
        encode, measured = self.vocabulary.encode, self.measured
        return [(encode(words), n) for words, n in ready if tuple(words) not in measured]
