"""Edge weights of real models."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from real_models import REAL_MODELS

import attnflow as af
from attnflow import edges

Load = Callable[[str], tuple[Any, Any]]


@pytest.mark.parametrize("name", ["effective", "norms", "alti", "value_zeroing"])
def test_rows_of_minilm_sum_to_one(real: Load, name: str) -> None:
    model, tokenizer = real("minilm")
    found = getattr(edges, name)(model, tokenizer, REAL_MODELS["minilm"].text)
    assert found.n_layers == 6
    for layer in found.layers:
        assert (layer >= 0).all()
        np.testing.assert_allclose(layer.sum(axis=1), 1, rtol=0, atol=1e-6)
    assert af.rollout(found).scores.shape == (6, len(found.tokens), len(found.tokens))


@pytest.mark.parametrize("name", ["norms", "alti"])
def test_the_blocks_of_smollm2_are_as_the_layout_says(real: Load, name: str) -> None:
    model, tokenizer = real("smollm2")
    found = getattr(edges, name)(model, tokenizer, REAL_MODELS["smollm2"].text)
    assert found.n_layers == 30
    assert found.settings["causal"] is True


@pytest.mark.parametrize(("parent", "pronoun", "other"), [("father", "his", "her")])
def test_a_parent_speaks_for_the_pronoun_in_smollm2(
    real: Load, parent: str, pronoun: str, other: str
) -> None:
    model, tokenizer = real("smollm2")
    explain: Any = edges.logit_contributions
    found = explain(
        model, tokenizer, f"My {parent} lost", target=f" {pronoun}", against=f" {other}"
    )
    place = found.tokens.index(f"Ġ{parent}")
    assert found.values[place] > 0
    rest = sum(found.settings["feed_forward"]) + found.settings["bias"]
    assert found.values.sum() + rest == pytest.approx(found.settings["input_score"], rel=1e-3)
    assert found.settings["input_score"] > 0
