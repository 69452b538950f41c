"""Attention that does not fit into the memory is an error before the model runs."""

from typing import Any

import pytest
import torch
import transformers
from plain_modules import MultiheadEncoder

import attnflow as af
from attnflow.models import attend, rollout_segments
from attnflow.models.capture import _memory

GIB = 2**30
hf: Any = transformers


class PassError(Exception):
    """The model ran."""


def _long_model(**more: Any) -> Any:
    """An encoder of 3 layers and 4 heads for long inputs that must not run."""
    small = {"num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 16}
    sizes = {"intermediate_size": 24, "vocab_size": 30, "max_position_embeddings": 60_000}
    model = hf.BertForSequenceClassification(hf.BertConfig(**small, **sizes, **more))

    def fail(*_: Any) -> None:
        raise PassError

    _ = model.register_forward_pre_hook(fail)
    return model


def _ids(examples: int, length: int = 60_000) -> dict[str, torch.Tensor]:
    return {"input_ids": torch.ones(examples, length, dtype=torch.int64)}


def _limit(monkeypatch: pytest.MonkeyPatch, available: int | None) -> None:
    monkeypatch.setattr(_memory, "available_bytes", lambda: available)


# Bytes in float32: 3 layers and one more while a layer is computed, or 3 means over heads.
@pytest.mark.parametrize(("heads", "matrices"), [("all", 4 * 4), ("mean", 3)])
@pytest.mark.parametrize("examples", [1, 2])
def test_attention_that_does_not_fit_is_an_error_before_the_model_runs(
    heads: Any, matrices: int, examples: int, monkeypatch: pytest.MonkeyPatch
):
    needed = 4 * matrices * examples * 60_000**2
    _limit(monkeypatch, needed - GIB)
    with pytest.raises(af.InputError, match=r"^attention needs about ") as raised:
        _ = attend(_long_model(), None, _ids(examples), heads=heads)
    text = str(raised.value)
    assert f"about {needed / GIB:,.1f} GiB of memory for {60_000 * examples:,} positions" in text
    assert f"and {needed / GIB - 1:,.1f} GiB are available" in text
    # Complete, since explain and evaluate, which have no such argument, say the same.
    advice = 'use attnflow.models.attend(…, heads="mean"), a shorter input'
    assert (advice in text) is (heads == "all")
    _limit(monkeypatch, needed + GIB)
    with pytest.raises(PassError):
        _ = attend(_long_model(), None, _ids(examples), heads=heads)


def test_explain_checks_the_memory_too(monkeypatch: pytest.MonkeyPatch):
    _limit(monkeypatch, 0)
    shipped = af.paper.load()
    monkeypatch.setattr("attnflow.models._attend._CHECKED", 4)
    with pytest.raises(af.InputError, match=r"attention needs about .* 0\.0 GiB are available"):
        _ = af.explain(shipped.model, shipped.tokenizer, "the key to the cabinets")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_weights_are_stored_in_float32_whatever_the_model_has(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
):
    model = _long_model().to(dtype)
    wide = 8 if dtype == torch.float64 else 4
    _limit(monkeypatch, 60_000**2 * 4 * (3 * 4 + wide))
    with pytest.raises(PassError):
        _ = attend(model, None, _ids(1))


def test_rollout_over_segments_stores_no_attention_and_is_not_refused(
    monkeypatch: pytest.MonkeyPatch,
):
    _limit(monkeypatch, GIB)
    with pytest.raises(PassError):
        _ = rollout_segments(_long_model(), None, _ids(1), segments=[[0], [1]])


def test_short_inputs_and_unknown_sizes_are_not_checked(monkeypatch: pytest.MonkeyPatch):
    _limit(monkeypatch, 0)
    with pytest.raises(PassError):
        _ = attend(_long_model(), None, _ids(1, length=100))
    assert len(attend(MultiheadEncoder(), None, torch.rand(1, 600, 16))) == 1
    _limit(monkeypatch, None)
    with pytest.raises(PassError):
        _ = attend(_long_model(), None, _ids(1))
