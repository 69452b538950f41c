"""Random attention that resembles a trained encoder, for demos, tests and benchmarks."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.types._attention import Attention

# What heads attend to. Heads of a layer cycle through them from a random start.
_KINDS = ("previous", "content", "sink", "broad", "self", "content", "next", "broad")
_SHIFTS = {"self": 0, "previous": -1, "next": 1}

# Chosen by hand to resemble the attention of one trained English encoder of 6 layers and 12 heads
# (all-MiniLM-L6-v2) on inputs of 16, 32 and 128 tokens. Ranges over layers and lengths (seed 0), of
# these weights and that model: mean entropy of a head as a share of the maximum 0.28-0.87 and
# 0.00-0.96; share of the first token after averaging heads 0.24-0.36 and 0.03-0.55; share of the
# token itself 0.06-0.21 and 0.01-0.11. This is no fit: it is more local, and has no broad first
# layer.
_LOCAL_AT_BOTTOM, _LOCAL_AT_TOP = 2.5, -0.5  # log-odds of the preferred position of a local head
_SINK = 1.5  # log-odds of the first token in a sink head
_SINK_ELSEWHERE = -0.7  # the same in every other head
_DECAY = 2.0  # log-odds that a local head loses with each position of distance
_NOISE = 0.7  # standard deviation of the noise of a score
_CLUSTER_SIZE = 5  # mean number of tokens of a content cluster
_CLUSTER_DIM = 8


def random_attention(
    n_layers: int,
    n_heads: int,
    n_tokens: int,
    *,
    seed: int = 0,
    causal: bool = False,
    tokens: Sequence[str] | None = None,
) -> Attention:
    """Return random attention that resembles a trained encoder. It is not from a model.

    Each head is a softmax of scores, ``W = softmax(noise + pattern)``. Its pattern prefers the
    token itself, the previous or the next token, the first token (a sink), tokens of the same
    content cluster, or nothing. Lower layers are local and peaked, upper ones closer to uniform.
    The same arguments give the same weights.

    Parameters
    ----------
    n_layers, n_heads, n_tokens
        Size of the attention, each at least one.
    seed
        Seed of the noise, the clusters and the order of the heads.
    causal
        Whether positions attend only to themselves and earlier ones, as in a decoder.
    tokens
        Names of the positions, ``n_tokens`` of them; by default "0", "1", ...

    Returns
    -------
    Attention
        With float32 weights. It takes ``O(n_layers * n_heads * n_tokens**2)`` time and memory.

    Examples
    --------
    >>> from attnflow.types._synthetic import random_attention
    >>> a = random_attention(2, 4, 3, tokens=["[CLS]", "the", "key"])
    >>> a.weights.shape
    (2, 4, 3, 3)
    """
    for name, size in (("n_layers", n_layers), ("n_heads", n_heads), ("n_tokens", n_tokens)):
        _ = checks.as_int(size, name, least=1)
    _ = checks.as_int(seed, "seed", least=0)
    causal = checks.as_bool(causal, "causal")
    rng = np.random.default_rng(seed)
    shape = n_layers, n_heads, n_tokens, n_tokens
    try:
        weights = np.empty(shape, dtype=np.float32)
    except (MemoryError, ValueError) as reason:  # ValueError: more bytes than addresses
        raise InputError(
            f"{n_layers} layers, {n_heads} heads and {n_tokens} tokens need "
            f"{4 * math.prod(shape) / 2**30:,.0f} GiB of memory. Choose smaller sizes"
        ) from reason
    content = _content_scores(n_tokens, rng)
    for layer in range(n_layers):
        depth = layer / max(n_layers - 1, 1)  # 0 at the bottom, 1 at the top
        first_kind = int(rng.integers(len(_KINDS)))
        for head in range(n_heads):
            kind = _KINDS[(first_kind + head) % len(_KINDS)]
            scores = _pattern(kind, n_tokens, depth, content)
            scores += _NOISE * rng.standard_normal((n_tokens, n_tokens))
            if causal:
                scores[np.triu_indices(n_tokens, k=1)] = -np.inf
            weights[layer, head] = _softmax(scores)
    return Attention(weights, tokens, causal=causal)


def _pattern(
    kind: str, n_tokens: int, depth: float, content: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the scores (query, key) of a head, at a depth from 0 (bottom) to 1 (top)."""
    # log(n_tokens) keeps the share of a position independent of the length of the sequence.
    all_others = np.log(n_tokens)
    scores = np.zeros((n_tokens, n_tokens))
    if kind in _SHIFTS:
        position = np.arange(n_tokens)
        distance = np.abs(position[None, :] - (position[:, None] + _SHIFTS[kind]))
        local = _LOCAL_AT_BOTTOM + (_LOCAL_AT_TOP - _LOCAL_AT_BOTTOM) * depth
        scores += np.maximum(local + all_others - _DECAY * distance, 0.0)
    elif kind == "content":
        scores += (2.0 - depth) * content
    sink = _SINK if kind == "sink" else _SINK_ELSEWHERE
    scores[:, 0] += sink + all_others
    return scores


def _content_scores(n_tokens: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the similarity (query, key) of tokens in random clusters; about -1 to 2."""
    n_clusters = max(1, n_tokens // _CLUSTER_SIZE)
    centres = rng.standard_normal((n_clusters, _CLUSTER_DIM))
    own = rng.standard_normal((n_tokens, _CLUSTER_DIM))
    vectors = centres[rng.integers(n_clusters, size=n_tokens)] + 0.5 * own
    return vectors @ vectors.T / _CLUSTER_DIM


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``exp(scores)`` with rows normalized to one; a score of -inf gives exactly zero."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)
