"""Figure 4 with a real decoder: the pronoun is the next word, with the space before it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from attnflow import paper

Load = Callable[[str], tuple[Any, Any]]


@pytest.mark.parametrize(("parent", "likely"), [("father", "his"), ("mother", "her")])
def test_smollm2_resolves_a_pronoun(real: Load, parent: str, likely: str) -> None:
    model, tokenizer = real("smollm2")
    text = f"After the long walk home my {parent} lost the New York map and [MASK] keys"
    sentence = paper.PronounSentence(text, (parent, "New York"), ("his", "her"))
    found = paper.resolve(model, tokenizer, sentence)
    with torch.no_grad():
        logits = model(**tokenizer(found.text, return_tensors="pt")).logits[0, -1]
    odds = logits.double().softmax(-1)
    assert found.probabilities.keys() == {"his", "her"}
    for pronoun, p in found.probabilities.items():
        (number,) = tokenizer.encode(f" {pronoun}", add_special_tokens=False)
        assert p == pytest.approx(float(odds[number]), rel=1e-3)
    assert max(found.probabilities, key=lambda name: found.probabilities[name]) == likely
    words = found.scores[0].tokens
    assert [words[place] for place in found.candidates["New York"]] == ["New", "York"]
    assert [len(view.layers) for view in found.scores] == [30, 30, 30]
