"""What is captured of a block adds up to its output."""

import numpy as np
import pytest
import reference
from edge_models import FAMILIES, NORM_LAST, inputs_for, model_of

from attnflow.edges._blocks import Block
from attnflow.edges._capture import capture_blocks
from attnflow.edges._layout import layout_of
from attnflow.models.inputs import prepare


def _blocks(family: str) -> list[Block]:
    model = model_of(family)
    inputs = prepare(model, None, inputs_for(family))
    return capture_blocks(model, inputs, layout_of(model, None), lambda block: block)


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_and_bias_sum_to_attention_plus_residual_connection(family: str):
    blocks = _blocks(family)
    layers = reference.layers_of(family)
    assert len(blocks) == len(layers) == 3
    for block, layer in zip(blocks, layers, strict=True):
        for rows, vectors in block.vectors():
            sums = vectors.sum(dim=0) + block.bias
            np.testing.assert_allclose(sums, block.total[rows], rtol=0, atol=1e-4)
            np.testing.assert_allclose(sums, layer.y[rows], rtol=0, atol=1e-4)
            expected = layer.v[rows].transpose(1, 0, 2)
            np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-4)
        np.testing.assert_allclose(block.output, layer.out, rtol=0, atol=1e-4)


@pytest.mark.parametrize("family", NORM_LAST)
def test_after_the_norm_they_sum_to_its_output(family: str):
    blocks, layout = _blocks(family), layout_of(model_of(family), None)
    assert len(blocks) == 3
    for block in blocks:
        norm = block.norm
        assert norm is not None
        linear, spread = block.after_norm(), norm.deviation(block.total)[:, None]
        # The bias of the output projection goes through the norm as well.
        [(_, vectors)] = linear.vectors()
        sums = vectors.sum(dim=0) + norm.linear_part(block.bias)
        np.testing.assert_allclose(sums, linear.total, rtol=0, atol=1e-6)
        found = sums / spread + norm.offset(sums)
        module = block.execution.module.get_submodule(layout.norm)
        np.testing.assert_allclose(found, module(block.total).detach(), rtol=0, atol=1e-6)
