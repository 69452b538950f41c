"""Rollout and flow of real encoder-decoders; rollout by fused attention on small real models."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from real_models import REAL_MODELS
from sounds import hiss

import attnflow as af
from attnflow import models

Load = Callable[[str], tuple[Any, Any]]
PAIRS = pytest.mark.parametrize("name", ["whisper", "flan_t5"])
TOLERANCE = 1e-5  # of the weights, between fused and eager attention in float32
FRAMES = 40  # of Whisper's 1500, for flow


@pytest.fixture(scope="module")
def attended(real: Load) -> Callable[[str], tuple[Any, Callable[..., Any]]]:
    """The attention of a model for its example, once, and `rollout_segments` for the same."""

    @functools.cache
    def both(name: str) -> tuple[Any, Callable[..., Any]]:
        model, tokenizer = real(name)
        example = REAL_MODELS[name]
        if example.text:
            given: Any = (model, tokenizer, example.text)
            more = {} if example.target is None else {"text_target": example.target}
        else:  # Whisper; start, no timestamps, " (", "water"
            said = torch.tensor([[50257, 50362, 357, 7050]])
            given, more = (model, None, {"input_features": hiss(), "decoder_input_ids": said}), {}
        found: Any = models.attend(*given, **more)

        def rolled(**settings: Any) -> Any:
            scores: Any = models.rollout_segments(*given, **more, **settings)
            return scores if example.text else scores[0]

        return found if example.text else found[0], rolled

    return both


def _targets(attention: Any) -> list[int]:
    return list(range(len(attention.source), len(attention.tokens)))


@pytest.mark.real
@PAIRS
def test_the_decoder_draws_on_source_and_target_as_cross_attention_says(attended: Any, name: str):
    attention, _ = attended(name)
    scores = af.rollout(attention, queries=_targets(attention)).scores
    assert scores.min() >= 0
    assert np.abs(scores.sum(axis=-1) - 1).max() < 1e-9
    # Every cross-attention leaves the residual, one half, of what was the target's: whatever the
    # model attends to, the share of the source is the same.
    source = scores[-1, :, : len(attention.source)].sum(axis=-1)
    assert np.abs(source - (1 - 0.5 ** len(attention.cross))).max() < 1e-9
    # Within the target nobody draws on what comes later.
    target = scores[-1, :, len(attention.source) :]
    assert (np.triu(target, k=1) == 0).all()
    assert (np.diagonal(target) > 0).all()


@pytest.mark.real
@PAIRS
def test_rollout_of_a_pair_during_the_pass_is_rollout_of_its_matrices(attended: Any, name: str):
    attention, rolled = attended(name)
    queries = _targets(attention)
    expected, found = af.rollout(attention, queries=queries), rolled(queries=queries)
    assert found.tokens == expected.tokens
    assert found.scores.shape == expected.scores.shape
    assert np.abs(found.scores - expected.scores).max() < TOLERANCE


def _cut_down(attention: af.EncoderDecoderAttention) -> af.EncoderDecoderAttention:
    """The same with the first frames alone, rows renormalised: a graph that is solved in seconds.

    The attention is the model's; that it was not computed for so short a sound does not matter to
    the proof of a flow.
    """
    encoder = attention.encoder[:, :, :FRAMES, :FRAMES]
    cross = attention.cross[..., :FRAMES]
    return af.EncoderDecoderAttention(
        encoder / encoder.sum(axis=-1, keepdims=True),
        attention.decoder,
        cross / cross.sum(axis=-1, keepdims=True),
        attention.source[:FRAMES],
        attention.target,
    )


def _assert_feasible(graph: af.AttentionGraph, found: Any, source: int, sink: int) -> None:
    """No flow above a capacity, nothing lost on the way, and all of it from source to sink."""
    assert len(found.flows) == graph.n_layers > 0
    for flow, capacity in zip(found.flows, graph.layers, strict=True):
        assert flow.min() >= 0
        assert (flow <= capacity + 1e-9).all()
    for below, above in zip(found.flows, found.flows[1:], strict=False):
        assert np.abs(below.sum(axis=1) - above.sum(axis=0)).max() < 1e-9
    ends = found.flows[-1].sum(axis=1), found.flows[0].sum(axis=0)
    for flow, place in zip(ends, (source, sink), strict=True):
        assert np.abs(flow - found.value * np.eye(len(flow))[place]).max() < 1e-9


@pytest.mark.real
@PAIRS
def test_flow_of_a_pair_has_its_proof(attended: Any, name: str):
    attention, _ = attended(name)
    attention = _cut_down(attention) if name == "whisper" else attention
    graph, last = attention.graph(), len(attention.tokens) - 1
    first_target = len(attention.source)
    scores = af.flow(graph, layers=graph.n_layers, queries=last)
    for sink in (0, first_target - 1, first_target, last):
        found = af.max_flow(graph, source=(graph.n_layers, last), sink=sink)
        assert found.value > 0
        assert abs(found.value - found.cut_value) < 1e-9
        _assert_feasible(graph, found, last, sink)
        assert scores.row(graph.n_layers, last)[sink] == pytest.approx(found.value, abs=1e-8)


@pytest.mark.parametrize("name", [name for name, each in REAL_MODELS.items() if each.small])
def test_rollout_by_fused_attention_is_rollout_of_the_matrices(
    real: Load, attended: Any, name: str
):
    assert real(name)[0].config._attn_implementation == "sdpa"
    attention, rolled = attended(name)
    expected, found = af.rollout(attention), rolled()
    assert found.tokens == expected.tokens
    assert found.scores.shape == expected.scores.shape
    assert np.abs(found.scores - expected.scores).max() < TOLERANCE
