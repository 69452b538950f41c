"""Initial word embeddings from co-occurrence counts and word endings.

A word that occurs five times gets too few gradients to learn its number; the words around it show
the number: "these _ are". The embeddings therefore start from a truncated singular value
decomposition of the positive pointwise mutual information of words and their neighbours, as in Levy
& Goldberg (NeurIPS 2014). The last letters of a word count as neighbours too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from attnflow.paper.model import SPECIAL, Vocabulary

if TYPE_CHECKING:
    from torch import Tensor

_OFFSETS = (-2, -1, 1, 2)  # of neighbours; counts of different offsets are separate
_NEIGHBOURS = 800  # the most common words; rarer ones add little
_ENDINGS = (1, 2)  # letters


def cooccurrence_embeddings(
    texts: Iterable[Sequence[str]],
    vocabulary: Vocabulary,
    width: int,
    *,
    seed: int = 0,
    std: float = 0.1,
) -> Tensor:
    """Return a (word, width) tensor with mean 0 and standard deviation `std`."""
    import torch

    pairs, shape = _count(texts, vocabulary)
    keys = torch.tensor(list(pairs.keys())).T
    counts = torch.tensor(list(pairs.values()), dtype=torch.float64)
    table = torch.zeros(shape, dtype=torch.float64).index_put_(tuple(keys), counts)
    rows, columns = table.sum(1, keepdim=True), table.sum(0, keepdim=True)
    # The exponent smooths the counts of neighbours: Levy, Goldberg & Dagan (2015),
    # https://doi.org/10.1162/tacl_a_00134, with the same value.
    expected = rows * columns**0.75 / (columns**0.75).sum()
    information = (table / expected.clamp_min(1e-12)).clamp_min(1e-12).log().clamp_min(0).float()
    information[table.float() == 0] = 0
    _ = torch.manual_seed(seed)
    left, values, _ = torch.svd_lowrank(information, q=width + 16, niter=3)
    vectors = left[:, :width] * values[:width].sqrt()
    vectors = vectors - vectors.mean(0)
    vectors = vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1e-6)
    return vectors * (std / vectors.std())


def _count(
    texts: Iterable[Sequence[str]], vocabulary: Vocabulary
) -> tuple[Counter[tuple[int, int]], tuple[int, int]]:
    """Return the count of each (word, neighbour), and the shape of the table of counts."""
    common = {word: i for i, word in enumerate(vocabulary.words[: _NEIGHBOURS + len(SPECIAL)])}
    pairs: Counter[tuple[int, int]] = Counter()
    occurrences: Counter[int] = Counter()
    for text in texts:
        for position, word in enumerate(text):
            row = vocabulary.ids.get(word)
            if row is None:
                continue
            occurrences[row] += 1
            for k, offset in enumerate(_OFFSETS):
                other = position + offset
                inside = 0 <= other < len(text)
                column = common.get(text[other], 1) if inside else 0  # 0: outside, 1: a rare word
                pairs[row, k * len(common) + column] += 1
    endings: dict[str, int] = {}
    for word, row in vocabulary.ids.items():
        if word.islower() and word.isalpha():
            for length in _ENDINGS:
                if len(word) > length + 1:
                    column = endings.setdefault("-" + word[-length:], len(endings))
                    # At most 4: the spelling of a frequent word adds nothing to its neighbours.
                    count = min(max(occurrences[row], 1), 4)
                    pairs[row, len(_OFFSETS) * len(common) + column] += count
    return pairs, (len(vocabulary), len(_OFFSETS) * len(common) + len(endings))
