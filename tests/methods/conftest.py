from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attnflow as af


def _flow_of_all_layers(
    layers: Any, onto: int = 0, **options: Any
) -> dict[int, NDArray[np.float64]]:
    g = af.AttentionGraph(layers)
    numbers = range(onto + 1, g.n_layers + 1)
    assert len(numbers) > 0, "there is no layer to compare"
    if len({g.sizes[number] for number in numbers}) == 1:
        t = af.flow(g, onto=onto, **options)
        assert t.layers == tuple(numbers)
        return dict(zip(t.layers, t.scores, strict=True))
    return {number: af.flow(g, layers=number, onto=onto, **options).scores[0] for number in numbers}


@pytest.fixture(scope="session")
def matrices() -> Callable[..., dict[int, NDArray[np.float64]]]:
    """Flow of every layer above `onto`, `matrices(layers, onto=0)`: in one call if sizes allow."""
    return _flow_of_all_layers
