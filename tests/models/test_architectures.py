"""Models that no table knows: other architectures, models inside of models, models compiled."""

import inspect
import types
from typing import Any

import numpy as np
import pytest
import torch
import transformers
import unknown_model
from small_models import (
    attend,
    attend_one,
    inputs_for,
    new_model,
    rollout_one,
    rollout_segments,
    small_model,
)
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput
from unknown_model import PlainlyScaledModel, UnknownConfig, UnknownModel

import attnflow as af
from close_results import assert_close

hf: Any = transformers
IDS = {"input_ids": torch.tensor([[5, 9, 13, 7, 4], [8, 6, 7, 5, 3]])}


def sharp(model: Any) -> Any:
    """The model with weights for which attention is far from uniform."""
    seed = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            _ = parameter.copy_(torch.randn(parameter.shape, generator=seed) * 0.4)
    return model.eval()


def by_hand(model: Any, ids: torch.Tensor) -> np.ndarray:
    """The attention of an UnknownModel (layer, example, head, query, key)."""
    x = model.embedding(ids)
    layers: list[torch.Tensor] = []
    for block in model.blocks:
        heads = block.projections(x).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = heads
        weights = (query @ key.transpose(-2, -1) / 0.7).softmax(dim=-1)
        layers.append(weights)
        x = x + (weights @ value).transpose(1, 2).flatten(2)
    return torch.stack(layers).detach().numpy()


def test_an_unknown_architecture_that_uses_the_interface_works_without_an_entry():
    model = sharp(UnknownModel(UnknownConfig()))
    found = attend(model, None, IDS)
    expected = by_hand(model, IDS["input_ids"])
    assert len(found) == 2
    for example, attention in enumerate(found):
        np.testing.assert_allclose(attention.weights, expected[:, example], rtol=0, atol=1e-6)


def test_rollout_of_an_unknown_architecture_keeps_to_the_models_own_attention():
    # The fused kernel ignores its temperature, so it may not be used.
    model = sharp(UnknownModel(UnknownConfig()))
    found = rollout_segments(model, None, IDS)
    assert len(found) == 2
    for mine, attention in zip(found, attend(model, None, IDS), strict=True):
        np.testing.assert_allclose(mine.scores, af.rollout(attention).scores, rtol=0, atol=1e-6)


def test_an_attention_that_leaves_its_scale_to_the_kernel_is_scaled_by_its_own_width():
    # The kernel looks at the width of what it gets, which is filled up with the shares.
    model = sharp(PlainlyScaledModel(UnknownConfig()))
    found = rollout_segments(model, None, IDS)
    assert len(found) == 2
    for mine, attention in zip(found, attend(model, None, IDS), strict=True):
        np.testing.assert_allclose(mine.scores, af.rollout(attention).scores, rtol=0, atol=1e-6)


def test_a_model_from_a_notebook_works_though_its_source_cannot_be_read():
    notebook = types.ModuleType("notebook")
    source = inspect.getsource(unknown_model)
    exec(compile(source, "<cell>", "exec"), notebook.__dict__)  # noqa: S102 (our own source)
    import sys

    sys.modules["notebook"] = notebook
    for each in vars(notebook).values():
        if isinstance(each, type) and each.__module__ == "builtins":
            each.__module__ = "notebook"
    try:
        model = sharp(notebook.UnknownModel(notebook.UnknownConfig()))
        assert not model._can_set_attn_implementation()
        found = attend(model, None, IDS)
    finally:
        del sys.modules["notebook"]
    expected = by_hand(model, IDS["input_ids"])
    np.testing.assert_allclose(found[1].weights, expected[:, 1], rtol=0, atol=1e-6)


class OwnWay(PreTrainedModel):
    """A Hugging Face model that calls PyTorch's function itself."""

    config_class = PreTrainedConfig
    main_input_name = "input_ids"

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(20, 8)
        self.post_init()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(input_ids).unflatten(-1, (2, 4)).transpose(1, 2)
        return scaled_dot_product_attention(x, x, x)


def test_a_pretrained_model_that_calls_pytorchs_function_is_captured_too():
    model = OwnWay(PreTrainedConfig()).eval()
    found = attend(model, None, IDS)
    x = model.embedding(IDS["input_ids"]).unflatten(-1, (2, 4)).transpose(1, 2)
    expected = (x @ x.transpose(-2, -1) / 2).softmax(dim=-1).detach().numpy()
    assert len(found) == 2
    for example, attention in enumerate(found):
        np.testing.assert_allclose(attention.weights[0], expected[example], rtol=0, atol=1e-6)


class Returning(OwnWay):
    """One that computes its attention as it likes and returns it, with few other arguments."""

    def forward(self, input_ids: torch.Tensor, output_attentions: bool = False) -> Any:
        x = self.embedding(input_ids).unflatten(-1, (2, 4)).transpose(1, 2)
        weights = (x @ x.transpose(-2, -1)).softmax(dim=-1)
        attentions = (weights, weights.flip(1)) if output_attentions else None
        return BaseModelOutput(last_hidden_state=weights @ x, attentions=attentions)


def test_a_pretrained_model_that_returns_its_attention_is_believed():
    model = Returning(PreTrainedConfig()).eval()
    found = attend(model, None, IDS)[0]
    assert found.weights.shape == (2, 2, 5, 5)
    np.testing.assert_allclose(found.weights[0], found.weights[1, ::-1], rtol=0, atol=1e-6)
    rolled = rollout_segments(model, None, IDS)[0]
    np.testing.assert_allclose(rolled.scores, af.rollout(found).scores, rtol=0, atol=1e-6)


class Classifier(nn.Module):
    """A head of one's own on a model of transformers."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body, self.head = body, nn.Linear(16, 2)

    def forward(self, input_ids: torch.Tensor, attention_mask: Any = None) -> torch.Tensor:
        return self.head(self.body(input_ids, attention_mask=attention_mask).last_hidden_state)


def test_a_model_inside_another_module_is_captured():
    body = small_model("bert")
    expected = attend(body, None, IDS)
    found = attend(Classifier(body), None, IDS)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.weights, theirs.weights, rtol=0, atol=1e-6)
        assert mine.tokens == theirs.tokens
    scores = rollout_segments(Classifier(body), None, IDS)[0].scores
    np.testing.assert_allclose(scores, af.rollout(expected[0]).scores, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_a_compiled_model_is_run_as_it_was_written(family: str):
    model = new_model(family)
    inputs = inputs_for(family)
    expected = attend_one(model, None, inputs)
    compiled = torch.compile(model, backend="eager")
    _ = compiled(**inputs)
    assert_close(attend_one(compiled, None, inputs), expected)
    inside = new_model(family)
    inside.compile(backend="eager")
    _ = inside(**inputs)
    assert_close(attend_one(inside, None, inputs), expected)
    np.testing.assert_allclose(
        rollout_one(inside, None, inputs).scores, af.rollout(expected).scores, rtol=0, atol=1e-6
    )


def test_a_model_whose_layers_attend_only_in_part_is_refused():
    # Convolutions in the other layers move things between positions, and attention does not tell.
    config = hf.Lfm2Config(
        vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2,
        layer_types=["conv", "full_attention", "conv"],
    )  # fmt: skip
    model = hf.Lfm2Model(config).eval()
    for function in (attend, rollout_segments):
        with pytest.raises(af.UnsupportedModelError, match=r"3 layers, and no .* found in layer 1"):
            _ = function(model, None, IDS)


def test_a_model_without_attention_is_refused():
    settings = {"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4, "vocab_size": 40}
    mamba = hf.MambaModel(hf.MambaConfig(**settings)).eval()
    plain = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    for model, inputs in ((mamba, IDS), (plain, torch.ones(1, 3, 4))):
        for function in (attend, rollout_segments):
            with pytest.raises(af.UnsupportedModelError, match="no supported attention") as caught:
                _ = function(model, None, inputs)
            assert type(model).__name__ in str(caught.value)
            assert "attnflow.Attention" in str(caught.value)


def test_attention_to_another_sequence_alone_is_refused():
    config = hf.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=24, is_decoder=True, add_cross_attention=True,
    )  # fmt: skip
    model = hf.BertModel(config).eval()
    inputs = {**IDS, "encoder_hidden_states": torch.randn(2, 5, 16)}
    with pytest.raises(af.UnsupportedModelError, match="no decoder attention was found"):
        _ = attend(model, None, inputs)
    with pytest.raises(af.UnsupportedModelError, match="is cross-attention, and only one sequence"):
        _ = rollout_segments(model, None, inputs)


def test_keys_of_earlier_positions_in_a_cache_are_refused():
    model = small_model("llama")
    with torch.no_grad():
        past = model(IDS["input_ids"], use_cache=True).past_key_values
    inputs = {**IDS, "past_key_values": past, "attention_mask": torch.ones(2, 10)}
    with pytest.raises(af.InputError, match=r"attention_mask: expected .* got \(2, 10\)"):
        _ = attend(model, None, inputs)
    del inputs["attention_mask"]
    with pytest.raises(af.UnsupportedModelError, match="5 queries and 10 keys"):
        _ = attend(model, None, inputs)


def test_attention_that_is_nan_raises_an_error_about_the_model():
    alone = {"input_ids": IDS["input_ids"][:1]}
    for family, inputs in (("bert", IDS), ("bert", alone), ("t5", inputs_for("t5"))):
        model = new_model(family)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith(
                    ("layer.1.attention.self.query.weight", "1.layer.0.SelfAttention.q.weight")
                ):
                    _ = parameter.fill_(torch.nan)
        for function in (attend, rollout_segments):
            with pytest.raises(af.UnsupportedModelError, match=r"is NaN or infinite. Its param"):
                _ = function(model, None, inputs)
