"""Attention that cannot be captured correctly is refused; regressions of wrong captures."""

import threading
from typing import Any

import numpy as np
import pytest
import torch
from plain_checks import X, seeded
from plain_modules import Blocks, DropoutAttention, FunctionAttention, FunctionViT
from small_models import (
    attend,
    attend_one,
    hf,
    inputs_for,
    new_model,
    own_attention,
    rollout_one,
    rollout_segments,
    small_model,
)
from torch import nn
from torch.backends import mha

import attnflow as af
from attnflow.models import token_limit
from attnflow.models.capture._blocks import attend_with_extra_values
from attnflow.models.capture._calls import GivenWeights
from attnflow.models.capture._hooks_modules import _FunctionCall, _hook_multihead
from attnflow.models.capture._hooks_transformers import _attention_function

BOTH = pytest.mark.parametrize(
    "function", [attend, rollout_segments], ids=["attend", "rollout_segments"]
)
SIZES: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4}
DECODER: dict[str, Any] = SIZES | {
    "vocab_size": 400, "intermediate_size": 24, "num_key_value_heads": 2, "head_dim": 4,
}  # fmt: skip
IDS = inputs_for("bert")


# ---- the path that the model itself takes ---------------------------------------------------


def falcon(implementation: str, **settings: Any) -> Any:
    _ = torch.manual_seed(0)
    config = hf.FalconConfig(vocab_size=400, **SIZES, **settings)
    config._attn_implementation = implementation
    model = hf.FalconModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "query_key_value" in name:
                _ = parameter.mul_(20)  # so that attention is far from uniform
    return model


# With alibi, fused and eager attention of transformers' Falcon differ by themselves.
@pytest.mark.parametrize(
    ("implementation", "alibi"), [("eager", False), ("eager", True), ("sdpa", False)]
)
def test_falcon_is_captured_on_the_path_that_it_runs(implementation: str, alibi: bool):
    expected = own_attention(falcon("eager", alibi=alibi), IDS).attentions
    model = falcon(implementation, alibi=alibi)
    found = attend_one(model, None, IDS)
    assert found.causal
    for mine, theirs in zip(found.weights, expected, strict=True):
        np.testing.assert_allclose(mine, theirs[0].numpy(), rtol=0, atol=1e-5)
    rolled = rollout_one(model, None, IDS).scores
    np.testing.assert_allclose(rolled, af.rollout(found).scores, rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", ["mpnet", "deberta"])
def test_models_that_no_hook_captures_return_their_attentions(family: str):
    model, inputs = small_model(family), inputs_for(family)
    expected = own_attention(model, inputs).attentions
    for mine, theirs in zip(attend_one(model, None, inputs).weights, expected, strict=True):
        np.testing.assert_allclose(mine, theirs[0].numpy(), rtol=0, atol=1e-5)


# ---- rows that do not sum to one ------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("heads", ["all", "mean"])
def test_learned_sinks_are_refused_in_half_precision(heads: str):
    config = hf.GptOssConfig(**DECODER, num_local_experts=2, num_experts_per_tok=1)
    model = hf.GptOssModel(config).eval().bfloat16()
    with pytest.raises(af.UnsupportedModelError, match=r"got a sum of 0\..*a sink outside"):
        _ = attend(model, None, IDS, heads=heads)


def test_a_mean_in_half_precision_is_off_by_rounding_only():
    model, inputs = new_model("bert").bfloat16(), inputs_for("bert", length=60)
    with torch.no_grad():
        for parameter in model.parameters():
            _ = parameter.mul_(3)  # the heads' rounding is far from even
    mean = attend_one(model, None, inputs, heads="mean").weights
    every = attend_one(model, None, inputs).weights.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(mean, every, rtol=0, atol=0.004)  # 2⁻⁸: bfloat16 keeps 8 bits


# ---- local, chunked and pooled attention ----------------------------------------------------


def without_keys() -> dict[str, Any]:
    """Models whose attention is not by query and key, by what the error says of it."""
    window: Any = {"vocab_size": 400, "attention_window": 4}
    led = {f"{part}_{name}": 2 for part in ("encoder", "decoder") for name in ("layers", "ffn_dim")}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    chunks = {"lsh_attn_chunk_length": 4, "local_attn_chunk_length": 4, "num_buckets": 4}
    places: Any = {"axial_pos_shape": [8, 8], "max_position_embeddings": 64, "is_decoder": True}
    reformer = hf.ReformerConfig(vocab_size=400, attn_layers=["local", "lsh"], **places, **chunks)
    funnel: Any = {"d_model": 16, "n_head": 4, "d_head": 4, "d_inner": 16, "block_sizes": [1, 1]}
    return {
        "weights by offset, not by key": hf.LongformerModel(
            hf.LongformerConfig(**window, **SIZES, intermediate_size=24)
        ),
        "LEDModel attends within a window": hf.LEDModel(
            hf.LEDConfig(**window, **led, **heads, d_model=16)
        ),
        r"expected weights \(batch, head, query, key\), got shape": hf.ReformerModel(reformer),
        "expected as many queries as keys": hf.FunnelModel(
            hf.FunnelConfig(vocab_size=400, **funnel)
        ),
    }


@BOTH
# Five tokens are as many as the offsets of the window, fourteen are as many chunks as a chunk has.
@pytest.mark.parametrize("length", [5, 14])
def test_attention_that_is_not_by_query_and_key_is_refused(function: Any, length: int):
    for message, model in without_keys().items():
        with pytest.raises(
            af.UnsupportedModelError,
            match=f"{message}.* Local, chunked or pooled attention is not supported",
        ):
            _ = function(model.eval(), None, {"input_ids": torch.arange(3, 3 + length)[None]})


@BOTH
def test_a_cache_that_was_passed_is_named(function: Any):
    model = small_model("gpt2")
    with torch.no_grad():
        cache = model(**IDS, use_cache=True).past_key_values
    with pytest.raises(af.UnsupportedModelError, match="Run the model without a cache"):
        _ = function(model, None, {"input_ids": IDS["input_ids"], "past_key_values": cache})


# ---- layers ---------------------------------------------------------------------------------


class Within(nn.Module):
    """A model inside another module, run some times."""

    def __init__(self, inner: Any, times: int = 1) -> None:
        super().__init__()
        self.inner, self.times = inner, times

    def forward(self, input_ids: torch.Tensor) -> Any:
        return [self.inner(input_ids) for _ in range(self.times)][-1]


@BOTH
def test_layers_captured_twice_are_refused(function: Any):
    twice = hf.DiffLlamaModel(hf.DiffLlamaConfig(**DECODER)).eval()
    for model in (twice, Within(small_model("bert"), 2), Within(falcon("sdpa"), 2)):
        with pytest.raises(af.UnsupportedModelError, match="each of 3 layers, got 6"):
            _ = function(model, None, IDS)


def test_one_layer_may_serve_as_several():
    assert attend_one(Within(small_model("albert")), None, IDS).n_layers == 3
    settings = {"embedding_size": 8, "num_hidden_groups": 2, "num_hidden_layers": 4}
    sizes = SIZES | {"vocab_size": 400, "intermediate_size": 24} | settings
    assert attend_one(hf.AlbertModel(hf.AlbertConfig(**sizes)).eval(), None, IDS).n_layers == 4


@BOTH
def test_a_mixture_within_another_module_is_refused(function: Any):
    kinds = ["conv", "full_attention", "conv"]
    inner = hf.Lfm2Model(hf.Lfm2Config(**DECODER, layer_types=kinds)).eval()
    with pytest.raises(af.UnsupportedModelError, match=r"3 layers, and no .* found in layer 1"):
        _ = function(Within(inner), None, IDS)


def test_lists_around_a_model_are_no_layers_of_it():
    class Chosen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleList([small_model("bert"), nn.Linear(16, 2)])

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            return self.parts[1](self.parts[0](input_ids)[0])

    assert attend_one(Chosen(), None, IDS).n_layers == 3


class Scaled(DropoutAttention):
    """Weights that are no distribution any more where they are dropped from."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = (x @ x.transpose(-2, -1)).softmax(dim=-1)[:, None]
        return x + self.attn_drop(weights * self.factor)[:, 0] @ x


@BOTH
@pytest.mark.parametrize("other", [DropoutAttention, FunctionAttention])
def test_a_dropout_of_something_else_is_named(function: Any, other: Any):
    model = Blocks(other(), Scaled(2.0), other()).eval()
    with pytest.raises(af.UnsupportedModelError, match=r"attention dropout in blocks\.1 has rows"):
        _ = function(model, None, X)


# ---- two sequences --------------------------------------------------------------------------


def pair(config: Any, model: Any, **settings: Any) -> Any:
    sizes: dict[str, Any] = {
        "d_model": 16,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "vocab_size": 400,
    }
    sides = {f"{side}_attention_heads": 4 for side in ("encoder", "decoder")}
    widths = {f"{side}_ffn_dim": 24 for side in ("encoder", "decoder")}
    return model(config(**sizes, **sides, **widths, **settings)).eval()


BOTH_IDS = {**IDS, "decoder_input_ids": IDS["input_ids"].flip(1)}  # of one length, so all fits


def test_attention_to_the_other_sequence_is_known_by_more_names():
    steps = {"num_experts": 2, "encoder_sparse_step": 0, "decoder_sparse_step": 0}
    model = pair(hf.NllbMoeConfig, hf.NllbMoeModel, **steps)
    found = attend_one(model, None, BOTH_IDS)
    assert (len(found.encoder), len(found.decoder), len(found.cross)) == (2, 2, 2)
    assert np.triu(found.decoder[:, 0], k=1).max() == 0
    assert np.triu(found.cross[:, 0], k=1).max() > 0


@BOTH
def test_attention_to_the_other_sequence_under_another_name_is_refused(function: Any):
    model = pair(hf.BartConfig, hf.BartModel)
    for layer in model.decoder.layers:
        layer.forward = type(layer).forward.__get__(_Renamed(layer))
        layer.elsewhere = layer._modules.pop("encoder_attn")
    with pytest.raises(
        af.UnsupportedModelError, match=r"0.self_attn .* followed by .*0.elsewhere. Pass"
    ):
        _ = function(model, None, BOTH_IDS)


class _Renamed:
    """A layer whose `encoder_attn` has another name."""

    def __init__(self, layer: nn.Module) -> None:
        self.__dict__["layer"] = layer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["layer"], "elsewhere" if name == "encoder_attn" else name)


@BOTH
def test_two_sequences_without_names_are_refused(function: Any):
    class Pair(nn.Module):
        def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
            return nn.functional.scaled_dot_product_attention(tgt, src, src)

    inputs = {"src": torch.ones(1, 1, 3, 4), "tgt": torch.ones(1, 1, 3, 4)}
    with pytest.raises(af.UnsupportedModelError, match="Pair reads two sequences and calls F"):
        _ = function(Pair(), None, inputs)


# ---- axes -----------------------------------------------------------------------------------


class Bare(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x, x)


@BOTH
def test_three_axes_may_be_of_a_batch_or_of_heads(function: Any):
    with pytest.raises(af.UnsupportedModelError, match=r"got 3 axes. With three"):
        _ = function(Bare(), None, X)


@BOTH
def test_the_second_axis_is_no_batch_of_a_function(function: Any):
    class Across(FunctionViT):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x.transpose(0, 1))

    with pytest.raises(
        af.UnsupportedModelError, match=r"ran on 7 sequences, .* shape \(3, 7, 16\)"
    ):
        _ = function(seeded(Across), None, X)


def test_positions_that_are_not_in_the_mask_are_refused():
    class Prompted(nn.Module):
        """Two positions in front of every text, as soft prompts are."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = small_model("bert")

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
            embedded = self.inner.embeddings.word_embeddings(input_ids)
            more = torch.ones(len(input_ids), 2)
            return self.inner(
                inputs_embeds=torch.cat([torch.ones(len(input_ids), 2, 16), embedded], dim=1),
                attention_mask=torch.cat([more, attention_mask], dim=1),
            )

    mask = torch.tensor([[1] * 9, [1] * 6 + [0] * 3])
    inputs = {**inputs_for("bert", batch=2), "attention_mask": mask}
    with pytest.raises(af.UnsupportedModelError, match=r"expected 9 queries, as many .* got 11"):
        _ = attend(Prompted(), None, inputs)


# ---- precision, threads, devices ------------------------------------------------------------


def test_scores_of_half_precision_are_computed_in_single():
    q, k = torch.randn(2, 1, 2, 40, 8, generator=torch.Generator().manual_seed(3)).mul(6).bfloat16()
    expected = (q.double() @ k.double().transpose(-2, -1) * 8**-0.5).softmax(dim=-1)
    found = _FunctionCall({"query": q, "key": k, "value": k}).weights()
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5)


def test_the_fast_path_is_restored_by_the_last_capture():
    before = mha.get_fastpath_enabled()
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    seen: list[bool] = []

    def first() -> None:
        with _hook_multihead(nn.Linear(1, 1), lambda _: None):
            first_in.set()
            assert second_in.wait(10)
        seen.append(mha.get_fastpath_enabled())
        first_out.set()

    def second() -> None:
        assert first_in.wait(10)
        with _hook_multihead(nn.Linear(1, 1), lambda _: None):
            second_in.set()
            assert first_out.wait(10)
        seen.append(mha.get_fastpath_enabled())

    try:
        mha.set_fastpath_enabled(True)
        threads = [threading.Thread(target=each) for each in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [False, True]
    finally:
        mha.set_fastpath_enabled(before)


def test_a_product_is_on_the_device_of_what_was_multiplied():
    # No second device with numbers is at hand; the meta device takes them and gives none back.
    call = GivenWeights("", "self", torch.ones(1, 2, 3, 3) / 3)
    assert call.times(torch.ones(1, 3, 2, device="meta")).device.type == "meta"
    value = torch.ones(1, 2, 3, 4, device="meta")
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta"):
        _ = attend_with_extra_values(
            lambda _q, _k, v, _heads: v, value, value, value, torch.ones(1, 3, 2)
        )


def test_attention_outside_a_captured_pass_raises_an_error():
    q = torch.ones(1, 1, 2, 4)
    with pytest.raises(
        af.UnsupportedModelError, match="Linear was called outside the captured pass"
    ):
        _ = _attention_function(nn.Linear(1, 1), q, q, q, None)


# ---- families -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["Camembert", "Data2VecText", "Esm", "IBert", "LayoutLMv3", "Lilt", "Longformer", "Luke",
     "MarkupLM", "Roberta", "RobertaPreLayerNorm", "XLMRoberta", "XLMRobertaXL", "Xmod"],
)  # fmt: skip
def test_positions_counted_after_padding_shorten_what_a_model_takes(name: str):
    config = getattr(hf, f"{name}Config")(max_position_embeddings=20, pad_token_id=1, vocab_size=9)
    assert token_limit(nn.Module()) is None
    holder: Any = nn.Module()
    holder.config = config
    assert token_limit(holder) == 18


@BOTH
def test_attention_to_keys_that_an_index_chose_is_refused(function: Any):
    sizes: dict[str, Any] = SIZES | {
        "vocab_size": 400, "intermediate_size": 24, "moe_intermediate_size": 8, "head_dim": 4,
        "num_key_value_heads": 4, "q_lora_rank": 8, "kv_lora_rank": 8, "qk_nope_head_dim": 4,
        "qk_rope_head_dim": 4, "v_head_dim": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "index_head_dim": 8,
        "index_n_heads": 2, "index_topk": 2,
    }  # fmt: skip
    model = hf.DeepseekV32Model(hf.DeepseekV32Config(**sizes)).eval()
    with pytest.raises(
        af.UnsupportedModelError, match=r"sparse attention with selected keys \(indices\)"
    ):
        _ = function(model, None, IDS)
