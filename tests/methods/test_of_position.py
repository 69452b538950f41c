"""The scores of one position of many texts are those of raw, rollout and flow of each."""

from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow.methods import scores_of_position
from attnflow.types import METHODS, random_attention

FUNCTIONS: dict[str, Any] = {"raw": af.raw, "rollout": af.rollout, "flow": af.flow}


def _expected(texts: list[Any], method: str, layers: list[int], query: int) -> Any:
    rows = {"layers": layers, "queries": query}
    return np.stack([FUNCTIONS[method](text, **rows).scores[:, 0] for text in texts])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layers", [[1, 2, 3, 4, 5], [4, 2], [1]])
def test_scores_of_attention_are_those_of_each_text(method: Any, layers: list[int]) -> None:
    texts = [random_attention(5, 3, 7, seed=seed) for seed in range(4)]
    for query in (0, 6):
        found = scores_of_position(texts, method, layers, query)
        assert found.shape == (4, len(layers), 7)
        np.testing.assert_allclose(found, _expected(texts, method, layers, query), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_scores_of_graphs_are_those_of_each_text(method: Any) -> None:
    graphs = [random_attention(3, 2, 5, seed=seed).graph(residual=0.2) for seed in range(3)]
    unbounded = [np.where(np.eye(5), np.inf, matrix) for matrix in graphs[0].layers]
    for texts in (graphs, [*graphs, af.AttentionGraph(unbounded)]):
        found = scores_of_position(texts, method, [3, 1], 2)
        np.testing.assert_allclose(found, _expected(texts, method, [3, 1], 2), atol=1e-12)


def test_products_that_overflow_are_an_error() -> None:
    graph = af.AttentionGraph([np.full((2, 2), 1e200)] * 2)
    with pytest.raises(af.InputError, match="overflow float64"):
        _ = scores_of_position([graph], "rollout", [2], 0)
