"""First word embeddings, from what stands beside a word and how it ends.

A word seen five times has too few gradients to learn its number from, and its neighbours tell it:
"these _ are". So embeddings start from a truncated singular value decomposition of the positive
pointwise mutual information between words and their neighbours, as in Levy & Goldberg (NeurIPS
2014); the last letters of a word count as neighbours of it too.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attnflow.paper._vocabulary import SPECIAL, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

_PLACES = (-2, -1, 1, 2)  # of the neighbours, each place apart: what precedes is not what follows
_NEIGHBOURS = 800  # the most common words; rarer ones tell little
_ENDINGS = (1, 2)  # letters


def embeddings_from_neighbours(
    texts: Iterable[Sequence[str]],
    vocabulary: Vocabulary,
    width: int,
    *,
    seed: int = 0,
    spread: float = 0.1,
) -> Tensor:
    """A (word, width) tensor whose entries have mean 0 and standard deviation `spread`."""
    import torch

    pairs, shape = _counted(texts, vocabulary)
    keys = torch.tensor(list(pairs.keys())).T
    counts = torch.tensor(list(pairs.values()), dtype=torch.float64)
    table = torch.zeros(shape, dtype=torch.float64).index_put_(tuple(keys), counts)
    rows, columns = table.sum(1, keepdim=True), table.sum(0, keepdim=True)
    # Neighbours count less than as often as they occur: Levy, Goldberg & Dagan (2015),
    # https://doi.org/10.1162/tacl_a_00134, who take this exponent too.
    expected = rows * columns**0.75 / (columns**0.75).sum()
    information = (table / expected.clamp_min(1e-12)).clamp_min(1e-12).log().clamp_min(0).float()
    information[table.float() == 0] = 0
    _ = torch.manual_seed(seed)
    left, values, _ = torch.svd_lowrank(information, q=width + 16, niter=3)
    vectors = left[:, :width] * values[:width].sqrt()
    vectors = vectors - vectors.mean(0)
    vectors = vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1e-6)
    return vectors * (spread / vectors.std())


def _counted(
    texts: Iterable[Sequence[str]], vocabulary: Vocabulary
) -> tuple[Counter[tuple[int, int]], tuple[int, int]]:
    """How often each (word, neighbour) was seen, and the shape of the table of them."""
    number = {word: i for i, word in enumerate(vocabulary.words)}
    common = {word: i for i, word in enumerate(vocabulary.words[: _NEIGHBOURS + len(SPECIAL)])}
    pairs: Counter[tuple[int, int]] = Counter()
    seen: Counter[int] = Counter()
    for text in texts:
        for place, word in enumerate(text):
            row = number.get(word)
            if row is None:
                continue
            seen[row] += 1
            for k, step in enumerate(_PLACES):
                other = place + step
                inside = 0 <= other < len(text)
                column = common.get(text[other], 1) if inside else 0  # 0: outside, 1: a rare word
                pairs[row, k * len(common) + column] += 1
    endings: dict[str, int] = {}
    for word, row in number.items():
        if word.islower() and word.isalpha():
            for length in _ENDINGS:
                if len(word) > length + 1:
                    column = endings.setdefault("-" + word[-length:], len(endings))
                    # As often as the word itself, up to four times: spelling is known, not sampled.
                    pairs[row, len(_PLACES) * len(common) + column] += min(max(seen[row], 1), 4)
    return pairs, (len(vocabulary), len(_PLACES) * len(common) + len(endings))
