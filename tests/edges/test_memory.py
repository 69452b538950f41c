"""Memory that does not suffice is an error before any work, which says how much is needed."""

from typing import Any

import pytest
import torch
from edge_models import FAMILIES, IMAGES, METHODS, PAIRS, hf, inputs_for, model_of
from own_models import NORM_FIRST, OwnModel
from peak_memory import peak_bytes

import attnflow as af
from attnflow.edges import _blocks, _effective_weights
from attnflow.models.capture import Call, _memory, capture_attention, sizes_of
from attnflow.models.inputs import prepare

GIB = 2**30


def _limit(monkeypatch: pytest.MonkeyPatch, available: int | None) -> None:
    monkeypatch.setattr(_memory, "available_bytes", lambda: available)


class PassError(Exception):
    """The model ran."""


def _long_model() -> Any:
    """A decoder for long inputs that must not run."""
    small = {"num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 16}
    more = {"intermediate_size": 24, "vocab_size": 30, "max_position_embeddings": 200_000}
    model = hf.LlamaForCausalLM(hf.LlamaConfig(**small, **more))

    def fail(*_: Any) -> None:
        raise PassError

    _ = model.register_forward_pre_hook(fail)
    return model


# GiB for 100,000 positions: 3 layers and 4 heads in float32, of width 16.
NEEDED = {
    "attention": 447.0,
    "effective": 2_384.2,
    "gradient": 2_012.0,
    "norms": 1_490.2,
    "alti": 894.1,
    "value_zeroing": 745.1,
    "logit_contributions": 894.1,
}


@pytest.mark.parametrize("method", METHODS)
def test_an_input_that_does_not_fit_is_an_error_before_the_model_runs(
    method: str, monkeypatch: pytest.MonkeyPatch
):
    _limit(monkeypatch, 8 * GIB)
    inputs = {"input_ids": torch.ones(1, 100_000, dtype=torch.int64)}
    with pytest.raises(af.InputError, match="100,000 positions") as raised:
        _ = METHODS[method](_long_model(), None, inputs)
    text = str(raised.value)
    needed = float(text.partition(" GiB")[0].rpartition(" ")[2].replace(",", ""))
    assert text.startswith(f"{method} needs about ")
    assert needed == pytest.approx(NEEDED[method], rel=0.01)
    assert "and 8.0 GiB are available" in text
    assert "use a shorter input, or attnflow.models.rollout_segments" in text


@pytest.mark.parametrize("available", [None, 16 * GIB])
def test_an_input_that_fits_or_a_system_that_does_not_say_is_no_error(
    available: int | None, monkeypatch: pytest.MonkeyPatch
):
    _limit(monkeypatch, available)
    for method in METHODS.values():
        with pytest.raises(PassError):
            _ = method(_long_model(), None, {"input_ids": torch.ones(1, 9, dtype=torch.int64)})


def test_the_longest_of_several_texts_is_checked_before_the_first_runs(
    monkeypatch: pytest.MonkeyPatch,
):
    _limit(monkeypatch, 8 * GIB)
    ids = torch.ones(2, 100_000, dtype=torch.int64)
    mask = ids.clone()
    mask[0, 9:] = 0
    with pytest.raises(af.InputError, match="norms needs about"):
        _ = METHODS["norms"](_long_model(), None, {"input_ids": ids, "attention_mask": mask})


def test_heads_that_are_not_averaged_need_the_weights_of_all(monkeypatch: pytest.MonkeyPatch):
    _limit(monkeypatch, 500 * GIB)
    inputs = {"input_ids": torch.ones(1, 100_000, dtype=torch.int64)}
    with pytest.raises(PassError):
        _ = METHODS["attention"](_long_model(), None, inputs)
    with pytest.raises(af.InputError, match="attention needs about"):
        _ = METHODS["attention"](_long_model(), None, inputs, heads="max")


@pytest.mark.parametrize("family", [*FAMILIES, *PAIRS])
def test_sizes_are_those_of_the_pass(family: str):
    model = model_of(family)
    inputs = prepare(model, None, inputs_for(family))
    [sizes] = sizes_of(model, inputs)
    calls: list[tuple[int, int]] = []

    def receive(call: Call) -> None:
        assert call.weights().shape[1] == sizes.heads
        calls.append(call.size[1:])

    _ = capture_attention(model, inputs.forward, receive)
    if family == "dinov2-with-registers":  # which are not counted
        calls = [(queries - 4, keys - 4) for queries, keys in calls]
    assert list(sizes.calls) == calls
    assert (sizes.width, sizes.itemsize) == (16, 8)
    assert sizes.nodes == (14 if family in PAIRS else 17 if family in IMAGES else 9)
    assert sizes.returns_weights is (family == "mpnet")


def test_where_sizes_are_unknown_nothing_is_checked(monkeypatch: pytest.MonkeyPatch):
    _limit(monkeypatch, 0)
    ids = inputs_for("bert")["input_ids"]
    assert len(METHODS["norms"](OwnModel(), None, ids, layout=NORM_FIRST)) == 1


def _model(family: str, **settings: int) -> Any:
    small: dict[str, Any] = {"num_hidden_layers": 3, "num_attention_heads": 8, "hidden_size": 32}
    small |= {"intermediate_size": 128, "vocab_size": 30, "max_position_embeddings": 300}
    small |= settings
    kinds: dict[str, Any] = {
        "bert": (hf.BertForSequenceClassification, hf.BertConfig),
        "mpnet": (hf.MPNetForSequenceClassification, hf.MPNetConfig),
        "llama": (hf.LlamaForCausalLM, hf.LlamaConfig),
    }
    kind, config = kinds[family]
    return kind(config(**small)).eval()


@pytest.mark.parametrize("method", ["norms", "alti"])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_no_vector_for_each_pair_exists(method: str, family: str):
    model = _model(family, num_attention_heads=2, hidden_size=512)
    inputs = {"input_ids": torch.arange(240)[None] % 25 + 3}
    vectors = 240**2 * 512 * 4  # in float32
    _ = METHODS[method](model, None, {"input_ids": inputs["input_ids"][:, :20]})  # loads modules
    assert 3 * peak_bytes(model, lambda: METHODS[method](model, None, inputs)) < vectors


# The peak of the arrays of a call, in units of the estimate: an estimate counts what grows with the
# square of the number of positions, so it is good for long inputs.
@pytest.mark.parametrize(
    ("method", "family"),
    [
        (method, family)
        for method in METHODS
        for family in ("bert", "mpnet", "llama")
        if method != "logit_contributions" or family == "llama"  # whose logit is a sum over layers
    ],
)
def test_estimates_are_close_to_what_is_allocated(
    method: str, family: str, monkeypatch: pytest.MonkeyPatch
):
    # The chunks of these have a fixed size, which counts for short inputs only.
    monkeypatch.setattr(_blocks, "MAX_ELEMENTS", 2**14)
    monkeypatch.setattr(_effective_weights, "_MAX_ELEMENTS", 2**14)
    model, inputs = _model(family), {"input_ids": torch.arange(240)[None] % 25 + 3}
    _limit(monkeypatch, 0)
    with pytest.raises(af.InputError, match="needs about"):
        _ = METHODS[method](model, None, inputs)
    estimates: list[float] = []
    original = _memory.check_memory

    def record(name: str, model: Any, items: Any, estimate: Any) -> None:
        original(name, model, items, lambda sizes: estimates.append(estimate(sizes)) or 0)

    monkeypatch.setattr("attnflow.edges._inputs.check_memory", record)
    monkeypatch.setattr("attnflow.edges._attention.check_memory", record)
    _limit(monkeypatch, 1000 * GIB)
    _ = METHODS[method](model, None, {"input_ids": inputs["input_ids"][:, :20]})  # loads modules
    estimates.clear()
    peak = peak_bytes(model, lambda: METHODS[method](model, None, inputs))
    [estimate] = estimates
    assert 0.6 * peak < estimate < 1.5 * peak
