"""Attention of small models with a sink put in, where trained decoders have one by themselves."""

from typing import Any

import pytest

import attnflow as af
from attnflow import models


def with_sink(attention: af.Attention, *positions: int) -> af.Attention:
    """The attention with 70 % of each row moved to the first of these positions it can see."""
    weights = 0.3 * attention.weights
    for query in range(attention.n_tokens):
        seen = [key for key in positions if key <= query or not attention.causal]
        weights[:, :, query, seen[0] if seen else query] += 0.7
    return af.Attention(weights, attention.tokens, causal=attention.causal, origin=attention.origin)


def put_in_sinks(monkeypatch: pytest.MonkeyPatch, module: str, *positions: int) -> None:
    """Let the `attend` that a module calls return attention with sinks."""

    def attend(*arguments: Any, **settings: Any) -> Any:
        return with_sink(models.attend(*arguments, **settings), *positions)

    monkeypatch.setattr(f"{module}.attend", attend)
