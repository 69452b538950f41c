"""`alti` is the formula, for every family."""

import numpy as np
import pytest
import reference
from edge_models import CAUSAL, FAMILIES, alti, new_model, one
from small_models import inputs_for

from attnflow.edges import _blocks
from close_results import assert_close


@pytest.mark.parametrize("family", FAMILIES)
def test_contributions_are_those_of_the_literal_vectors(family: str):
    found = one(alti, family)
    expected = [reference.alti(layer) for layer in reference.layers_of(family)]
    assert found.n_layers == len(expected) == 3
    for mine, (_, shares) in zip(found.layers, expected, strict=True):
        np.testing.assert_allclose(mine, shares, rtol=0, atol=1e-5)
    signed = np.concatenate([distances.ravel() for distances, _ in expected])
    clipped = -signed[signed < 0].sum() / np.abs(signed).sum()
    assert found.settings["clipped"] == pytest.approx(clipped, abs=1e-5)
    assert clipped > 0.001


@pytest.mark.parametrize("family", CAUSAL)
def test_nothing_comes_from_a_position_that_is_not_seen(family: str):
    # In single precision and for many positions, where sums round in different ways.
    [found] = alti(new_model(family).float(), None, inputs_for(family, length=50))
    assert found.settings["causal"] is True
    assert found.n_layers == 3
    assert not any(np.triu(layer, k=1).any() for layer in found.layers)


def test_a_few_positions_at_a_time_give_the_same(monkeypatch: pytest.MonkeyPatch):
    expected = one(alti, "bert")
    monkeypatch.setattr(_blocks, "MAX_ELEMENTS", 2 * 9 * 16)
    assert_close(one(alti, "bert"), expected, atol=1e-9)
