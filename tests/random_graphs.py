"""Random layered graphs of many kinds, bottom layer first, for the tests of flow."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]
Layers: TypeAlias = list[Matrix]
Family: TypeAlias = Callable[[np.random.Generator], Layers]


def _sizes(rng: np.random.Generator, *, same: bool = True, most: int = 9) -> list[int]:
    """Numbers of nodes of layers 0 to L; most graphs have up to 6 layers, some 9 or 12."""
    n_layers = int(rng.choice([1, 2, 3, 4, 5, 6, 9, 12]))
    sizes = rng.integers(1, most + 1, n_layers + 1)
    return [int(size) for size in (np.full_like(sizes, sizes[0]) if same else sizes)]


def _random(rng: np.random.Generator, sizes: Sequence[int]) -> Layers:
    return [rng.random((above, below)) for below, above in itertools.pairwise(sizes)]


def _stochastic(layers: Layers) -> Layers:
    return [layer / layer.sum(axis=1, keepdims=True) for layer in layers]


def dense(rng: np.random.Generator) -> Layers:
    return _random(rng, _sizes(rng))


def sparse(rng: np.random.Generator) -> Layers:
    """Two edges in three are missing; some nodes have none at all."""
    return [layer * (rng.random(layer.shape) < 0.35) for layer in _random(rng, _sizes(rng))]


def rectangular(rng: np.random.Generator) -> Layers:
    return _random(rng, _sizes(rng, same=False, most=12))


def bottleneck(rng: np.random.Generator) -> Layers:
    """A layer of one or two nodes in the middle."""
    wide, narrow = int(rng.integers(3, 9)), int(rng.integers(1, 3))
    return _random(rng, [wide, wide, narrow, wide, wide])


def zero_edges(rng: np.random.Generator) -> Layers:
    """Whole rows and columns of zeros, so that some pairs are not connected."""
    layers = _random(rng, _sizes(rng))
    for layer in layers:
        layer[rng.random(layer.shape[0]) < 0.3] = 0.0
        layer[:, rng.random(layer.shape[1]) < 0.3] = 0.0
    return layers


def ties(rng: np.random.Generator) -> Layers:
    """Few different weights, so that many cuts are minimal at once."""
    return [rng.integers(0, 4, layer.shape) / 4 for layer in _random(rng, _sizes(rng))]


def attention_like(rng: np.random.Generator) -> Layers:
    """Peaked rows that sum to one, half of them residual."""
    peaked = _stochastic([np.exp(6 * layer) for layer in _random(rng, _sizes(rng))])
    return [(layer + np.eye(len(layer))) / 2 for layer in peaked]


def causal(rng: np.random.Generator) -> Layers:
    lower = _stochastic([np.tril(layer + 0.01) for layer in _random(rng, _sizes(rng))])
    return [(layer + np.eye(len(layer))) / 2 for layer in lower]


def one_hot_rows(rng: np.random.Generator) -> Layers:
    """Each node takes everything from one node; in half of the graphs with a residual."""
    residual = 0.5 * rng.integers(2)
    layers = _random(rng, _sizes(rng))
    hard = [np.eye(layer.shape[1])[layer.argmax(axis=1)] for layer in layers]
    return [(1 - residual) * layer + residual * np.eye(len(layer)) for layer in hard]


def near_uniform_rows(rng: np.random.Generator) -> Layers:
    """The differences between weights are about as small as the tolerance."""
    return _stochastic([1 + 1e-8 * layer for layer in _random(rng, _sizes(rng))])


def unbounded_edges(rng: np.random.Generator) -> Layers:
    layers = _random(rng, _sizes(rng, same=False))
    for layer in layers:
        layer[rng.random(layer.shape) < 0.3] = 0.0
        layer[rng.random(layer.shape) < 0.25] = np.inf
    return layers


def carried_along(rng: np.random.Generator) -> Layers:
    """An encoder-decoder in small: each layer changes one half and carries the other along."""
    left, right, n_layers = (int(rng.integers(1, high)) for high in (6, 6, 7))
    layers: Layers = []
    for number in range(n_layers):
        layer = np.zeros((left + right, left + right))
        np.fill_diagonal(layer, np.inf)
        rows = slice(0, left) if number < n_layers // 2 else slice(left, None)
        columns = rows if number < n_layers // 2 else slice(None)
        layer[rows] = 0.0
        layer[rows, columns] = rng.random(layer[rows, columns].shape)
        layers.append(layer)
    return layers


def tiny_weights(rng: np.random.Generator) -> Layers:
    return [1e-5 * layer for layer in _random(rng, _sizes(rng))]


def huge_weights(rng: np.random.Generator) -> Layers:
    return [1e5 * layer for layer in _random(rng, _sizes(rng))]


def tiny_and_huge_weights(rng: np.random.Generator) -> Layers:
    """Weights of all magnitudes from 1e-12 to 100, side by side."""
    return [10 ** (14 * layer - 12) for layer in _random(rng, _sizes(rng))]


def float32_weights(rng: np.random.Generator) -> Layers:
    layers: Any = [layer.astype(np.float32) for layer in _stochastic(_random(rng, _sizes(rng)))]
    return layers


FAMILIES: list[Family] = [
    dense, sparse, rectangular, bottleneck, zero_edges, ties, attention_like, causal, one_hot_rows,
    near_uniform_rows, unbounded_edges, carried_along, tiny_weights, huge_weights,
    tiny_and_huge_weights, float32_weights,
]  # fmt: skip


@pytest.fixture(scope="session", params=FAMILIES, ids=lambda family: family.__name__)
def family(request: pytest.FixtureRequest) -> Family:
    """Makes a random graph of one kind, bottom layer first."""
    return request.param


@pytest.fixture(scope="session")
def any_family() -> Family:
    """Makes a random graph of any kind."""
    return lambda rng: FAMILIES[rng.integers(len(FAMILIES))](rng)
