"""Rollout during the pass is the rollout of the matrices, which are never held."""

from typing import Any

import numpy as np
import pytest
import torch
from plain_modules import FunctionViT
from small_models import (
    FAMILIES,
    PAIRS,
    attend,
    attend_one,
    hf,
    inputs_for,
    new_model,
    rollout_one,
    rollout_segments,
    small_model,
)
from small_tokenizers import byte_level, tokenizer_for
from torch.utils._python_dispatch import TorchDispatchMode

import attnflow as af
from attnflow.models.capture import _blocks, _hooks_modules
from attnflow.models.capture._calls import GivenWeights
from attnflow.models.inputs._inputs import Inputs, Positions
from attnflow.models.segments import _accumulate

# Within float error of single precision; the figure that is promised.
CLOSE: Any = {"rtol": 0, "atol": 1e-5}


@pytest.fixture(params=["fused", "fused, head by head", "by blocks"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The ways to multiply: through the fused kernel, and heads averaged block by block."""
    if request.param == "fused, head by head":
        monkeypatch.setattr(_blocks, "_MAX_ELEMENTS", 1)
    if request.param == "by blocks":
        monkeypatch.setattr(_blocks, "FUSED_COLUMNS", 0)
    return request.param


@pytest.mark.parametrize("at_once", [1, 60, 2**20])  # numbers: one head, three heads, all five
@pytest.mark.parametrize("per_head", [False, True])
def test_heads_are_multiplied_some_at_a_time_with_their_own_masks(
    at_once: int, per_head: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_blocks, "_MAX_ELEMENTS", at_once)
    random = torch.manual_seed(0)
    query, key, value = (torch.randn(1, 5, 4, 3, generator=random) for _ in range(3))
    mask = torch.randn(1, 5 if per_head else 1, 4, 4, generator=random)
    R = torch.randn(1, 4, 2, generator=random)
    call = _hooks_modules._FunctionCall(
        {"query": query, "key": key, "value": value, "attn_mask": mask}
    )
    weights = call.weights()
    torch.testing.assert_close(call.times(R), weights.mean(dim=1) @ R)
    torch.testing.assert_close(call.attended(), weights @ value)


@pytest.mark.parametrize("residual", [0, 0.3, 0.5])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.usefixtures("way")
def test_rollout_in_the_pass_is_the_rollout_of_the_matrices(family: str, residual: float):
    model, inputs = small_model(family), inputs_for(family, batch=2)
    found = rollout_segments(model, None, inputs, residual=residual)
    assert len(found) == 2
    for mine, attention in zip(found, attend(model, None, inputs), strict=True):
        expected = af.rollout(attention.graph(residual=residual))
        np.testing.assert_allclose(mine.scores, expected.scores, **CLOSE)
        assert mine.tokens == expected.tokens
        assert (mine.layers, mine.queries) == (expected.layers, expected.queries)
        assert mine.origin == expected.origin
        assert mine.method == "rollout"
        assert mine.settings == {**expected.settings, "segments": "tokens"}


@pytest.mark.parametrize("family", ["bert", "llama", "deberta", "t5", "vit"])
def test_only_the_given_layers_and_queries_are_kept(family: str):
    model, inputs = small_model(family), inputs_for(family)
    whole = rollout_one(model, None, inputs)
    part = rollout_one(model, None, inputs, layers=[3, 1], queries=[4, 0])
    assert (part.layers, part.queries) == ((3, 1), (4, 0))
    np.testing.assert_allclose(part.scores, whole.scores[[2, 0]][:, [4, 0]], rtol=0, atol=1e-6)
    last = rollout_one(model, None, inputs, layers=3, queries=0)
    np.testing.assert_allclose(last.scores, whole.scores[2:3, :1], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("family", "asked", "message"),
    [
        ("bert", {"layers": 4}, "layers must be 1 to 3, got 4"),
        ("bert", {"layers": [0]}, "layers must be 1 to 3, got 0"),
        ("bert", {"queries": 9}, "queries must be 0 to 8, got 9"),
        ("bart", {"layers": 0}, "layers must be 1 or more, got 0"),
        ("bart", {"layers": 8}, "layers must be 1 to 7, got 8"),
        ("bert", {"layers": []}, "layers must not be empty. Leave it out for all"),
        ("bert", {"layers": [1, 1]}, r"layers must be distinct, got \(1, 1\)"),
        ("bert", {"queries": []}, "queries must not be empty. Leave it out for all"),
        ("bert", {"queries": [2, 0, 2]}, r"queries must be distinct, got \(2, 0, 2\)"),
    ],
)
def test_layers_and_queries_that_are_not_there_are_refused(
    family: str, asked: dict[str, Any], message: str
):
    with pytest.raises(af.InputError, match=message):
        _ = rollout_segments(small_model(family), None, inputs_for(family), **asked)


@pytest.mark.parametrize("asked", [{"layers": 4}, {"layers": []}, {"queries": [1, 1]}])
def test_layers_and_queries_are_checked_before_the_pass(asked: dict[str, Any]):
    model = new_model("bert")

    def run(*_: object) -> None:
        pytest.fail("the model ran")

    _ = model.register_forward_pre_hook(run)
    with pytest.raises(af.InputError):
        _ = rollout_segments(model, None, inputs_for("bert"), **asked)


def test_layers_of_a_decoder_alone_are_not_those_of_the_encoder():
    config = small_model("bart").config
    changed = type(config).from_dict({**config.to_dict(), "decoder_layers": 5})
    model = hf.BartForCausalLM(changed).eval()
    found = rollout_one(model, None, {"input_ids": torch.tensor([[1, 5, 6]])}, layers=5)
    assert found.layers == (5,)


def test_settings_have_no_causality_for_columns_that_are_not_tokens():
    model, tokenizer = small_model("gpt2"), tokenizer_for("gpt2")
    assert rollout_segments(model, tokenizer, "the cat").settings["causal"] is True
    assert "causal" not in rollout_segments(model, tokenizer, "the cat", segments="words").settings


@pytest.mark.parametrize("residual", [1, -0.1, "half", True])
def test_a_residual_outside_of_its_range_is_refused(residual: Any):
    with pytest.raises(af.InputError, match=r"must be a number in \[0, 1\), got"):
        _ = rollout_segments(small_model("bert"), None, inputs_for("bert"), residual=residual)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("family", ["bert", "llama", "gemma2", "mpnet", "t5", "vit"])
@pytest.mark.usefixtures("way")
def test_other_precisions_are_as_close_as_they_can_be(family: str, dtype: torch.dtype):
    model = new_model(family).to(dtype)
    fields = inputs_for(family)
    inputs = {name: t.to(dtype) if t.is_floating_point() else t for name, t in fields.items()}
    found = rollout_one(model, None, inputs)
    expected = af.rollout(attend_one(model, None, inputs)).scores
    # Shares are rounded where they go through the kernel: 8 bits of bfloat16, 11 of float16. The
    # matrices are in single precision, also those of a model in double precision.
    atol = {torch.bfloat16: 2.0**-6, torch.float16: 2.0**-9}.get(dtype, 1e-6)
    np.testing.assert_allclose(found.scores, expected, rtol=0, atol=atol)
    np.testing.assert_allclose(found.scores.sum(axis=-1), 1, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    "family", ["bert", "gpt2", "llama", "mistral", "gemma2", "gemma3", "t5", "bart"]
)
def test_more_columns_than_the_kernel_takes_are_the_same(family: str, monkeypatch: Any):
    model = new_model(family, positions=150)
    inputs = inputs_for(family, length=150)
    found = rollout_one(model, None, inputs)
    expected = af.rollout(attend_one(model, None, inputs))
    assert found.scores.shape[2] > _blocks.FUSED_COLUMNS
    np.testing.assert_allclose(found.scores, expected.scores, **CLOSE)
    monkeypatch.setattr(_blocks, "FUSED_COLUMNS", 1000)
    fused = rollout_one(model, None, inputs)
    np.testing.assert_allclose(fused.scores, expected.scores, **CLOSE)


@pytest.mark.parametrize("family", PAIRS)
@pytest.mark.usefixtures("way")
def test_a_decoder_of_one_position_attends_to_all_of_the_source(family: str):
    # Fused attention takes a missing mask for a causal one, but not for a single query. Modules
    # that do not say whether they are causal count as such.
    model, inputs = new_model(family), inputs_for(family)
    for name, module in model.named_modules():
        if name.endswith(("EncDecAttention", "encoder_attn")):
            module.is_causal = True
    inputs["decoder_input_ids"] = inputs["decoder_input_ids"][:, :1]
    found = rollout_one(model, None, inputs)
    expected = af.rollout(attend_one(model, None, inputs))
    np.testing.assert_allclose(found.scores, expected.scores, **CLOSE)


class Given(GivenWeights):
    """A call with one product for all R, whatever the weights."""

    product: torch.Tensor

    def times(self, R: torch.Tensor) -> torch.Tensor:
        del R
        return self.product


def rolled_out(product: torch.Tensor, *kept: list[bool] | None) -> list[af.TokenAttention]:
    """The rollout of one layer with this product, of positions that are padding where not kept."""
    examples, n, _ = product.shape
    sources = tuple(Positions(kept=None if each is None else np.array(each)) for each in kept)
    inputs = Inputs(forward={}, sources=sources, targets=None, single=False)
    accumulator = _accumulate.RolloutAccumulator(
        torch.nn.Linear(1, 1), inputs, ["tokens"], nested=False, residual=0.5, layers=None,
        queries=None,
    )  # fmt: skip
    call = Given("layer", "self", torch.zeros(examples, 1, n, n))
    call.product = product
    accumulator.receive(call)
    return accumulator.results()


def test_rows_of_padding_may_be_no_numbers():
    product = torch.full((2, 3, 3), 1 / 3)
    product[1] = torch.tensor([[torch.nan] * 3, [0.5, 0.5, 0], [0.5, 0.5, 0]])
    first, second = rolled_out(product, None, [False, True, True])
    np.testing.assert_allclose(first.scores.sum(axis=-1), 1, **CLOSE)
    assert second.scores.tolist() == [[[0.75, 0.25], [0.25, 0.75]]]


def test_a_mask_of_other_positions_than_the_attention_has_is_refused():
    with pytest.raises(af.UnsupportedModelError, match=r"expected 2 positions, as many .* got 3"):
        _ = rolled_out(torch.eye(3)[None], [True, False])


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (0.5, "layer: expected .* rows that sum to 1, got a sum of 0.5. Attention with a sink"),
        (0.998, "got a sum of 0.998"),
        (1.5, "got a sum of 1.5.* or that is no distribution"),
        (0.0, "is NaN or infinite"),  # what fused kernels give for one
        (torch.nan, "is NaN or infinite"),
    ],
)
def test_rows_that_do_not_sum_to_one_are_refused(share: float, message: str):
    product = torch.eye(3)[None].clone()
    product[0, 1] *= share
    with pytest.raises(af.UnsupportedModelError, match=message):
        _ = rolled_out(product, None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("length", [5, 200])
def test_attention_with_a_sink_outside_the_sequence_is_refused(dtype: torch.dtype, length: int):
    config = hf.GptOssConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, head_dim=4,
        num_key_value_heads=2, intermediate_size=8, num_local_experts=2, num_experts_per_tok=1,
    )  # fmt: skip
    model = hf.GptOssModel(config).to(dtype).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("sinks"):
                _ = parameter.fill_(0.0)
    inputs = {"input_ids": torch.ones(1, length, dtype=torch.int64)}
    with pytest.raises(af.UnsupportedModelError, match=r"got a sum of 0\.\d+"):
        _ = rollout_segments(model, None, inputs)


@pytest.mark.parametrize("residual", [0.99, 0.9999, 1 - 1e-9])
def test_a_large_residual_does_not_exceed_the_tolerance(residual: float):
    scores = rollout_one(small_model("bert"), None, inputs_for("bert"), residual=residual).scores
    np.testing.assert_allclose(scores.sum(axis=-1), 1, **CLOSE)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("family", ["bert", "llama", "t5", "vit"])
@pytest.mark.usefixtures("way")
def test_precision_is_that_of_the_pass_under_autocast(family: str, dtype: torch.dtype):
    model, inputs = small_model(family), inputs_for(family)
    with torch.autocast("cpu", dtype=dtype):
        found = rollout_one(model, None, inputs).scores
    expected = rollout_one(model, None, inputs).scores
    # As far off as a model in that precision, see above.
    atol = 2.0**-6 if dtype == torch.bfloat16 else 2.0**-9
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
    np.testing.assert_allclose(found.sum(axis=-1), 1, rtol=0, atol=1e-3)


def test_half_precision_of_many_positions_is_not_taken_for_a_sink():
    model = new_model("llama", positions=1024).to(torch.bfloat16)
    inputs = inputs_for("llama", length=1000)
    scores = rollout_one(model, None, inputs, layers=3, queries=[0, 999]).scores
    np.testing.assert_allclose(scores.sum(axis=-1), 1, rtol=0, atol=1e-3)


# ---- memory ---------------------------------------------------------------------------------


class Largest(TorchDispatchMode):
    """The most numbers that a tensor had which any operation made."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        del types
        made = func(*args, **(kwargs or {}))
        for each in made if isinstance(made, tuple | list) else [made]:
            # Views and expanded tensors take no memory: what counts is what is behind them.
            if isinstance(each, torch.Tensor):
                held = each.untyped_storage().nbytes() // each.element_size()
                self.numbers = max(self.numbers, held)
        return made


HEADS, LONG = 4, 1024


@pytest.mark.parametrize("family", ["llama", "qwen3", "mistral", "gemma", "gemma2", "gemma3"])
@pytest.mark.parametrize("segments", ["lines", "tokens"])
def test_no_matrix_of_all_heads_is_ever_held(family: str, segments: Any):
    model = new_model(family, positions=LONG).model  # without the head, whose output is large
    text = "\n".join(["the cat sat on the mat. " * 5] * 10)
    n = len(byte_level()(text).input_ids)
    assert 700 < n < LONG
    with Largest() as largest:
        _ = rollout_segments(model, byte_level(), text, segments=segments, layers=3, queries=0)
    # With a column for each token R itself has n², and so has the mask of a sliding window.
    assert largest.numbers <= n * n
    if segments == "lines" and family in ("llama", "qwen3", "gemma"):
        assert largest.numbers < n * n / 4
    with Largest() as largest:
        _ = attend(model, byte_level(), text)
    assert largest.numbers >= HEADS * n * n, "the measure sees matrices where there are some"


def test_no_matrix_is_held_for_segments_of_a_plain_module():
    model = FunctionViT(is_causal=True).eval()
    x = torch.randn(1, 600, 16)
    with Largest() as largest:
        _ = rollout_segments(model, None, x)
    assert largest.numbers <= 600 * 600
    with Largest() as largest:
        _ = attend(model, None, x, heads="mean")
    assert largest.numbers <= 600 * 600


def test_the_mean_of_heads_is_taken_without_the_matrices_of_all():
    model = new_model("llama", positions=LONG)
    text = "the cat sat on the mat. " * 40
    n = len(byte_level()(text).input_ids)
    with Largest() as largest:
        found = attend(model, byte_level(), text, heads="mean")
    assert found.n_tokens == n
    assert largest.numbers <= n * n


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_text_and_tokenizer_are_read_as_by_attend(family: str):
    model, tokenizer = small_model(family), tokenizer_for(family)
    target = {"text_target": "the key"} if family in PAIRS else {}
    found = rollout_segments(model, tokenizer, "the old cat", **target)
    expected = af.rollout(attend(model, tokenizer, "the old cat", **target))
    np.testing.assert_allclose(found.scores, expected.scores, **CLOSE)
    assert (found.tokens, found.origin) == (expected.tokens, expected.origin)


@pytest.mark.parametrize("method", [af.rollout, af.flow])
def test_the_receptive_field_of_a_pair_is_refused_in_its_own_words(method: Any):
    attention = attend_one(small_model("t5"), None, inputs_for("t5"))
    with pytest.raises(af.InputError, match="every position sees every source token"):
        _ = method(attention, receptive_field=True)
