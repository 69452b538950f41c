"""`attention` is the mean over heads with half of each row for the residual connection."""

import numpy as np
import pytest
import reference
from edge_models import FAMILIES, attention, one


@pytest.mark.parametrize("family", FAMILIES)
def test_layers_are_half_the_mean_over_heads_and_half_the_identity(family: str):
    found = one(attention, family)
    layers = reference.layers_of(family)
    assert found.n_layers == len(layers) == 3
    for mine, layer in zip(found.layers, layers, strict=True):
        expected = layer.A.mean(axis=0) / 2 + np.eye(len(layer.x)) / 2
        np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-6)
    assert (found.settings["heads"], found.settings["residual"]) == ("mean", 0.5)
