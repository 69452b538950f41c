"""`value_zeroing` is what a block's output changes without a value, for every family."""

import numpy as np
import pytest
import reference
from edge_models import CAUSAL, FAMILIES, inputs_for, model_of, new_model, one, value_zeroing

import attnflow as af
from attnflow.edges import BlockLayout, _value_zeroing
from close_results import assert_close


# ALBERT's only block runs three times, on other inputs.
@pytest.mark.parametrize("family", FAMILIES)
def test_changes_are_those_of_a_pass_without_the_value(family: str):
    found = one(value_zeroing, family)
    assert found.n_layers == 3
    for number in range(3):
        expected = reference.value_zeroing(family, number)
        np.testing.assert_allclose(found.layers[number], expected, rtol=0, atol=1e-5)
    assert found.settings["edges"] == "value_zeroing"


@pytest.mark.parametrize("tokens", [1, 9, 20])
@pytest.mark.parametrize("family", ["bert", "mpnet", "llama"])
def test_how_many_copies_run_at_once_does_not_matter(
    family: str, tokens: int, monkeypatch: pytest.MonkeyPatch
):
    expected = one(value_zeroing, family)
    monkeypatch.setattr(_value_zeroing, "TOKENS", tokens)
    assert_close(one(value_zeroing, family), expected, atol=1e-6)


@pytest.mark.parametrize("family", CAUSAL)
def test_nothing_comes_from_a_position_that_is_not_seen(family: str):
    [found] = value_zeroing(new_model(family).float(), None, inputs_for(family, length=30))
    assert found.settings["causal"] is True
    assert found.n_layers == 3
    for layer in found.layers:
        assert not np.triu(layer, k=1).any()
        if family == "mistral":  # its window has six positions
            assert not np.tril(layer, k=-6).any()


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_cache_does_not_matter(family: str):
    # As in question answering of GPT-2, whose forward has no argument that leaves it out.
    [found] = value_zeroing(model_of(family), None, inputs_for(family) | {"use_cache": True})
    assert_close(found, one(value_zeroing, family), atol=1e-9)


def test_progress_counts_layers():
    done: list[tuple[int, int]] = []
    _ = one(value_zeroing, "bert", progress=lambda *counts: done.append(counts))
    assert done == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(af.InputError, match=r"progress: expected a function .* got 5"):
        _ = one(value_zeroing, "bert", progress=5)


def test_a_value_projection_that_is_another_is_an_error():
    layout = BlockLayout(
        "attention.attn", "attention.attn.o", "attention.LayerNorm", value="attention.attn.k"
    )
    with pytest.raises(af.UnsupportedModelError, match="not the sum of attention and residual"):
        _ = value_zeroing(model_of("mpnet"), None, inputs_for("mpnet"), layout=layout)
