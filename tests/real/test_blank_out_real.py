"""Blank-out of a real decoder: the tokens that decide its answer come first."""

from collections.abc import Callable
from typing import Any

import pytest

from attnflow.importance import blank_out

Load = Callable[[str], tuple[Any, Any]]


@pytest.mark.parametrize(
    ("text", "decides", "does_not"),
    [
        ("Paris is the capital of France and Rome is the capital of", "ĠRome", "Ġof"),
        ("My mother lost", "Ġmother", "Ġlost"),
        ("My father lost", "Ġfather", "Ġlost"),
    ],
)
def test_the_token_that_decides_the_answer_of_smollm2_comes_first(
    real: Load, text: str, decides: str, does_not: str
) -> None:
    model, tokenizer = real("smollm2")
    found = blank_out(model, tokenizer, text)
    order = found.values.argsort()[::-1]
    first = [found.tokens[place] for place in order[:2]]
    assert decides in first
    assert does_not not in first
    assert found.settings["replaced_by"] == "attention mask 0"
