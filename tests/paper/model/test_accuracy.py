import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnflow import InputError
from attnflow.paper import PLURAL, SINGULAR, Prefix, accuracy, by_attractors
from attnflow.paper.model import Vocabulary, tokenizer

VOCABULARY = Vocabulary.from_texts([["the", "key", "keys", "to", "cabinet", "cabinets"]])
TOKENIZER = tokenizer(VOCABULARY, max_length=64)


class LastWord(nn.Module):
    """Says plural, with probability 0.8, after a last word that ends in s; else singular."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Any:
        assert not self.training
        del attention_mask
        plural = {n for word, n in VOCABULARY.ids.items() if word.endswith("s")}
        rows = [[i for i in row if i > 3] for row in input_ids.tolist()]
        signs = torch.tensor([1.0 if row[-1] in plural else -1.0 for row in rows])
        return SimpleNamespace(logits=torch.stack([-signs, signs], 1) * math.log(4) / 2)


def _prefix(text: str, number: int, attractors: int | None, count: int = 1) -> Prefix:
    return Prefix(tuple(text.split()), number, attractors, subject=1, count=count)


PREFIXES = [
    _prefix("the key", SINGULAR, 0, count=6),
    _prefix("the keys", PLURAL, 0, count=2),
    _prefix("the key to the cabinets", SINGULAR, 1),
    _prefix("the keys to the cabinets", PLURAL, None),
]


def test_accuracy_counts_prefixes_once_and_as_often_as_they_occur() -> None:
    found = accuracy(LastWord(), TOKENIZER, PREFIXES)
    assert found.distinct == 3 / 4
    assert found.natural == pytest.approx(9 / 10)
    assert (found.count, found.rows) == (4, 10)
    assert found.loss == pytest.approx(-(3 * math.log(0.8) + math.log(0.2)) / 4)


def test_accuracy_by_attractors_leaves_out_prefixes_without_a_count() -> None:
    found = by_attractors(LastWord(), TOKENIZER, PREFIXES)
    assert {kind: (each.distinct, each.count) for kind, each in found.items()} == {
        0: (1.0, 2), 1: (0.0, 1),
    }  # fmt: skip
    assert by_attractors(LastWord(), TOKENIZER, PREFIXES[3:]) == {}


def test_the_mode_of_the_model_is_put_back() -> None:
    model = LastWord().train()
    _ = accuracy(model, TOKENIZER, PREFIXES)
    assert model.training


def test_no_prefix_has_no_accuracy() -> None:
    with pytest.raises(InputError, match="at least one prefix, got none"):
        _ = accuracy(LastWord(), TOKENIZER, [])


def test_a_prefix_that_is_too_long_is_an_input_error() -> None:
    long = _prefix("the key " * 40, SINGULAR, 0)
    with pytest.raises(InputError, match="at most 64 tokens, got 82"):
        _ = accuracy(LastWord(), TOKENIZER, [PREFIXES[0], long])
