"""Rollout during the pass is the rollout of the matrices, which are never held."""

from typing import Any

import numpy as np
import pytest
import torch
from plain_modules import FunctionViT
from small_models import FAMILIES, PAIRS, attend, inputs_for, new_model, rollout, small_model
from small_tokenizers import byte_level, tokenizer_for
from torch.utils._python_dispatch import TorchDispatchMode

import attnflow as af
from attnflow.models import _interface, _plain, _rolling
from attnflow.models._inputs import Positions

# Within float error of single precision; the figure that is promised.
CLOSE: Any = {"rtol": 0, "atol": 1e-5}


@pytest.fixture(params=["fused", "by blocks"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to multiply: through the fused kernel, and heads averaged block by block."""
    if request.param == "by blocks":
        monkeypatch.setattr(_interface, "FUSED_COLUMNS", 0)
        monkeypatch.setattr(_plain, "FUSED_COLUMNS", 0)
    return request.param


@pytest.mark.parametrize("residual", [0, 0.3, 0.5])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.usefixtures("way")
def test_rollout_in_the_pass_is_the_rollout_of_the_matrices(family: str, residual: float):
    model, inputs = small_model(family), inputs_for(family, batch=2)
    found = rollout(model, None, inputs, residual=residual)
    for mine, attention in zip(found, attend(model, None, inputs), strict=True):
        expected = af.rollout(attention.graph(residual=residual))
        np.testing.assert_allclose(mine.scores, expected.scores, **CLOSE)
        assert mine.tokens == expected.tokens
        assert (mine.layers, mine.queries) == (expected.layers, expected.queries)
        assert mine.origin == expected.origin
        assert mine.method == "rollout"
        assert mine.settings["residual"] == residual


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_are_distributions(family: str):
    scores = rollout(small_model(family), None, inputs_for(family)).scores
    assert scores.min() >= 0
    np.testing.assert_allclose(scores.sum(axis=-1), 1, **CLOSE)


@pytest.mark.parametrize("family", ["bert", "llama", "deberta", "t5", "vit"])
def test_only_the_layers_and_queries_asked_for_are_kept(family: str):
    model, inputs = small_model(family), inputs_for(family)
    whole = rollout(model, None, inputs)
    part = rollout(model, None, inputs, layers=[3, 1], queries=[4, 0])
    assert (part.layers, part.queries) == ((3, 1), (4, 0))
    np.testing.assert_array_equal(part.scores, whole.scores[[2, 0]][:, [4, 0]])
    last = rollout(model, None, inputs, layers=3, queries=0)
    np.testing.assert_array_equal(last.scores, whole.scores[2:3, :1])


@pytest.mark.parametrize("asked", [{"layers": 4}, {"layers": [0]}, {"queries": 9}])
def test_layers_and_queries_that_are_not_there_are_refused(asked: dict[str, Any]):
    with pytest.raises(
        af.InputError, match=r"is asked for; (layers are 1 to 3|queries are 0 to 8)"
    ):
        _ = rollout(small_model("bert"), None, inputs_for("bert"), **asked)


@pytest.mark.parametrize("residual", [1, -0.1, "half", True])
def test_a_residual_outside_of_its_range_is_refused(residual: Any):
    with pytest.raises(af.InputError, match="at least 0 and below 1"):
        _ = rollout(small_model("bert"), None, inputs_for("bert"), residual=residual)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("family", ["bert", "llama", "gemma2", "mpnet", "t5", "vit"])
@pytest.mark.usefixtures("way")
def test_other_precisions_are_as_close_as_they_can_be(family: str, dtype: torch.dtype):
    model = new_model(family).to(dtype)
    fields = inputs_for(family)
    inputs = {name: t.to(dtype) if t.is_floating_point() else t for name, t in fields.items()}
    found = rollout(model, None, inputs)
    expected = af.rollout(attend(model, None, inputs)).scores
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
    found = rollout(model, None, inputs)
    expected = af.rollout(attend(model, None, inputs))
    assert found.scores.shape[2] > _interface.FUSED_COLUMNS
    np.testing.assert_allclose(found.scores, expected.scores, **CLOSE)
    monkeypatch.setattr(_interface, "FUSED_COLUMNS", 1000)
    fused = rollout(model, None, inputs)
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
    found = rollout(model, None, inputs)
    expected = af.rollout(attend(model, None, inputs))
    np.testing.assert_allclose(found.scores, expected.scores, **CLOSE)


def test_rows_of_padding_are_zero_even_where_a_kernel_gives_no_number():
    R = torch.full((2, 3, 2), torch.nan)
    R[0], R[1, 1:] = 0.5, 0.5
    positions = (Positions(), Positions(kept=np.array([False, True, True])))
    assert _rolling._without_padding(R, positions).sum(dim=-1).tolist() == [[1, 1, 1], [0, 1, 1]]


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
        _ = rollout(model, byte_level(), text, segments=segments, layers=3, queries=0)
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
        _ = rollout(model, None, x)
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
    target = {"target": "the key"} if family in PAIRS else {}
    found = rollout(model, tokenizer, "the old cat", **target)
    expected = af.rollout(attend(model, tokenizer, "the old cat", **target))
    np.testing.assert_allclose(found.scores, expected.scores, **CLOSE)
    assert (found.tokens, found.origin) == (expected.tokens, expected.origin)
