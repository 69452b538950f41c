"""`norms` is the formula, for every family."""

import numpy as np
import pytest
import reference
from edge_models import FAMILIES, NORM_LAST, norms, one


@pytest.mark.parametrize("family", FAMILIES)
def test_norms_are_those_of_the_literal_vectors(family: str):
    found = one(norms, family)
    layers = reference.layers_of(family)
    assert found.n_layers == len(layers) == 3
    for mine, layer in zip(found.layers, layers, strict=True):
        np.testing.assert_allclose(mine, reference.norms(layer), rtol=0, atol=1e-6)
    assert found.settings["edges"] == "norms"
    assert found.settings["residual"] == "measured"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_given_residual_leaves_residual_connection_and_norm_out(family: str):
    found = one(norms, family, residual=0.25)
    layers = reference.layers_of(family)
    assert found.n_layers == len(layers) == 3
    for mine, layer in zip(found.layers, layers, strict=True):
        shares = reference.rows_to_one(np.linalg.norm(layer.T, axis=-1))
        expected = 0.75 * shares + 0.25 * np.eye(len(shares))
        np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-6)
    assert found.settings["residual"] == 0.25


@pytest.mark.parametrize("family", NORM_LAST)
def test_the_norm_that_follows_matters(family: str):
    # So that a norm left out would show above.
    layer = reference.layers_of(family)[0]
    without = reference.rows_to_one(np.linalg.norm(layer.v, axis=-1))
    assert np.abs(without - one(norms, family).layers[0]).max() > 1e-3
