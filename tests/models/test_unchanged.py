"""`attend` and `rollout_segments` leave a model as it was, also if the pass fails half-way."""

import copy
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from plain_modules import DropoutViT, FunctionViT, MultiheadEncoder
from small_models import FAMILIES, attend, hf, inputs_for, new_model, rollout_segments, small_model
from torch import nn
from torch.backends import mha
from waiting_threads import SharedPasses

import attnflow as af
from close_results import assert_close
from model_state import state, unchanged
from waiting import SECONDS

WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "attend": lambda model, inputs: attend(model, None, inputs),
    "attend-mean": lambda model, inputs: attend(model, None, inputs, heads="mean"),
    "rollout_segments": lambda model, inputs: rollout_segments(model, None, inputs),
}
PLAIN: dict[str, Callable[[], nn.Module]] = {
    "multihead": MultiheadEncoder,
    "function": FunctionViT,
    "dropout": DropoutViT,
    "transformer-encoder": lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(16, 4, 24, batch_first=True), 3
    ),
}
X = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(1))


def output(model: nn.Module, inputs: Any) -> torch.Tensor:
    with torch.no_grad():
        result: Any = model(**inputs) if isinstance(inputs, dict) else model(inputs)
    return result if isinstance(result, torch.Tensor) else result[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_pretrained_model_is_as_it_was(family: str, way: str):
    model, inputs = small_model(family), inputs_for(family)
    expected = output(model, inputs)
    with unchanged(model):
        _ = WAYS[way](model, inputs)
    torch.testing.assert_close(output(model, inputs), expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", PLAIN)
def test_a_plain_module_is_as_it_was(kind: str, way: str):
    model = PLAIN[kind]().eval()
    expected = output(model, X)
    with unchanged(model):
        _ = WAYS[way](model, X)
    torch.testing.assert_close(output(model, X), expected)


@pytest.mark.parametrize("implementation", ["eager", "sdpa", "flex_attention"])
def test_each_part_keeps_its_own_implementation(implementation: str):
    model = new_model("t5", "eager")
    model.encoder.config._attn_implementation = implementation
    own = set(state(model)["implementations"]) - {None}
    assert len(own) == (1 if implementation == "eager" else 2)
    for way in WAYS.values():
        with unchanged(model):
            _ = way(model, inputs_for("t5"))


@pytest.mark.parametrize("family", ["bert", "mpnet", "gpt2", "t5"])
def test_modules_in_training_stay_in_training_one_by_one(family: str):
    model = new_model(family)
    expected = attend(model, None, inputs_for(family))
    for number, module in enumerate(model.modules()):
        module.training = number % 3 == 0
    assert len(set(state(model)["training"])) == 2
    for way in WAYS.values():
        with unchanged(model):
            _ = way(model, inputs_for(family))
    assert_close(attend(model, None, inputs_for(family)), expected)  # without dropout


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_modules_in_training_run_without_dropout_and_stay_in_training(kind: str):
    model = PLAIN[kind]()
    expected = attend(model.eval(), None, X)
    _ = model.train()
    assert_close(attend(model, None, X), expected)
    assert all(module.training for module in model.modules())


@pytest.mark.parametrize("enabled", [True, False])
def test_the_fast_path_stays_as_it_was_set(enabled: bool):
    before = mha.get_fastpath_enabled()
    try:
        mha.set_fastpath_enabled(enabled)
        _ = attend(MultiheadEncoder(), None, X)
        assert mha.get_fastpath_enabled() == enabled
    finally:
        mha.set_fastpath_enabled(before)


@pytest.mark.parametrize("family", ["bert", "deberta", "llama", "bart", "vit"])
def test_a_model_can_be_trained_afterwards(family: str):
    model = new_model(family).train()
    for way in WAYS.values():
        _ = way(model, inputs_for(family))
    model(**inputs_for(family))[0].sum().backward()
    weights = [p for name, p in model.named_parameters() if name.endswith("weight") and p.ndim > 1]
    assert sum(parameter.grad is not None for parameter in weights) > len(weights) / 2


@pytest.mark.parametrize("way", WAYS)
def test_threads_that_share_a_model_take_turns(way: str, monkeypatch: pytest.MonkeyPatch):
    model, inputs = new_model("bert").train(), inputs_for("bert")
    before, expected = copy.deepcopy(state(model)), WAYS[way](model, inputs)
    passes = SharedPasses(4, monkeypatch)
    passes.wait_in([model.encoder.layer[1]])
    hooked = copy.deepcopy(state(model))
    found = passes.run(lambda _: WAYS[way](model, inputs))
    for each in found:
        assert_close(each, expected)
    assert (len(found), passes.most) == (4, 1)
    assert state(model) == hooked
    assert hooked["implementations"] == before["implementations"]


def sharing(what: str) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Two models that share a config or modules, each with its input."""
    if what == "module":
        model = MultiheadEncoder()
        return (model, X), (nn.Sequential(model), X)
    if what == "config":
        model = new_model("bert")
        return (model, inputs_for("bert")), (hf.BertModel(model.config), inputs_for("bert"))
    model = new_model("bart")
    if what == "submodule":
        return (model, inputs_for("bart")), (model.get_encoder(), inputs_for("bert"))
    parts = [new_model("bert").config.to_dict() for _ in range(2)]
    config = hf.EncoderDecoderConfig(encoder=parts[0], decoder=parts[1] | {"is_decoder": True})
    config.decoder.add_cross_attention = True
    model = hf.EncoderDecoderModel(config)
    return (model, inputs_for("bart")), (hf.BertModel(config.encoder), inputs_for("bert"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", ["config", "sub-config", "submodule", "module"])
def test_threads_over_models_that_share_a_config_or_a_module(
    what: str, way: str, monkeypatch: pytest.MonkeyPatch
):
    pair = sharing(what)
    expected = [WAYS[way](model, inputs) for model, inputs in pair]
    passes = SharedPasses(8, monkeypatch)
    passes.wait_in({module for model, _ in pair for module in model.train().modules()})
    before = [copy.deepcopy(state(model)) for model, _ in pair]
    found = passes.run(lambda number: WAYS[way](*pair[number % 2]))
    for number, each in enumerate(found):
        assert_close(each, expected[number % 2])
    assert (len(found), passes.most) == (8, 1)
    assert [state(model) for model, _ in pair] == before


def test_threads_leave_the_stance_of_compiled_code_as_it_was():
    import torch._dynamo.eval_frame as dynamo

    before = dynamo._stance.stance
    first, second = MultiheadEncoder(), MultiheadEncoder()
    first_begun, second_begun, first_ended = (threading.Event() for _ in range(3))

    def in_first(*_: Any) -> None:
        first_begun.set()
        assert second_begun.wait(SECONDS)

    def in_second(*_: Any) -> None:
        second_begun.set()
        assert first_ended.wait(SECONDS)

    _ = first.register_forward_pre_hook(in_first)
    _ = second.register_forward_pre_hook(in_second)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(attend, first, None, X)
        running.add_done_callback(lambda _: first_ended.set())
        assert first_begun.wait(SECONDS)
        found = attend(second, None, X)
        assert (len(found), len(running.result())) == (2, 2)
    assert dynamo._stance.stance == before


class LayerThreeError(Exception):
    """What the model itself raises."""


def raise_in_layer_3(model: nn.Module) -> None:
    """Have the third call of any layer fail, whichever modules the layers are."""
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    calls: list[int] = []

    def third(*_: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise LayerThreeError

    for layer in max(lists, key=len):  # of ALBERT it is one layer that is called three times
        _ = layer.register_forward_pre_hook(third)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_pretrained_model_that_fails_in_layer_3_is_as_it_was(family: str, way: str):
    model = new_model(family)
    raise_in_layer_3(model)
    model.train()
    with unchanged(model), pytest.raises(LayerThreeError):
        _ = WAYS[way](model, inputs_for(family))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", PLAIN)
def test_a_plain_module_that_fails_in_layer_3_is_as_it_was(kind: str, way: str):
    model = PLAIN[kind]()
    raise_in_layer_3(model)
    with unchanged(model), pytest.raises(LayerThreeError):
        _ = WAYS[way](model, X)
    # No hook is left: the function gives what it gives by itself.
    q = torch.ones(1, 1, 2, 4)
    assert nn.functional.scaled_dot_product_attention(q, q, q).shape == q.shape


@pytest.mark.parametrize("way", WAYS)
def test_a_model_is_as_it_was_when_its_attention_is_refused_half_way(way: str):
    model, inputs = new_model("llama").train(), inputs_for("llama")
    with torch.no_grad():
        past = model(**inputs, use_cache=True).past_key_values
    refused = pytest.raises(af.UnsupportedModelError, match="9 queries and 18 keys")
    with unchanged(model), refused:
        _ = WAYS[way](model, {**inputs, "past_key_values": past})
