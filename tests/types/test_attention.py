import copy
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import attnflow as af


def softmax_weights(*shape: int, seed: int = 0) -> NDArray[np.float64]:
    weights = np.exp(np.random.default_rng(seed).standard_normal(shape))
    return weights / weights.sum(-1, keepdims=True)


W = softmax_weights(3, 2, 5, 5)


# ---- what comes in --------------------------------------------------------------------------


def test_sizes_are_read_off_the_weights():
    a = af.Attention(W)
    assert (a.n_layers, a.n_heads, a.n_tokens) == (3, 2, 5)
    assert a.tokens == ("0", "1", "2", "3", "4")
    assert repr(a) == "Attention(layers=3, heads=2, tokens=5)"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_keep_their_precision_and_are_a_read_only_copy(dtype: Any):
    mine = W.astype(dtype)
    a = af.Attention(mine)
    mine[0, 0, 0, 0] = 7.0
    assert a.weights.dtype == dtype
    assert np.array_equal(a.weights, W.astype(dtype))
    with pytest.raises(ValueError, match="read-only"):
        a.weights[0, 0, 0, 0] = 1.0


def test_attention_is_frozen():
    a: Any = af.Attention(W)
    with pytest.raises(AttributeError):
        a.causal = True


def test_lists_are_read():
    assert af.Attention(W.tolist()) == af.Attention(W)
    assert af.Attention([[[[1, 0], [0, 1]]]]).weights.dtype == np.float64


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("kind", [tuple, list])
def test_the_tuple_of_a_hugging_face_model_is_read(batch: bool, kind: Any):
    layers = [torch.tensor(w[None] if batch else w, requires_grad=True) for w in W]
    assert af.Attention(kind(layers)) == af.Attention(W)


def test_one_hugging_face_layer_is_one_layer():
    assert af.Attention((torch.tensor(W[:1]),)) == af.Attention(W[:1])


def test_a_torch_tensor_is_read():
    assert af.Attention(torch.tensor(W, requires_grad=True)) == af.Attention(W)


def test_a_real_hugging_face_model_is_read():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=16
    )
    model = transformers.BertModel._from_config(config, attn_implementation="eager").eval()
    out = model(torch.tensor([[1, 2, 3]]), output_attentions=True)
    a = af.Attention(out.attentions, ["a", "b", "c"])
    assert a.weights.shape == (2, 4, 3, 3)
    assert a.weights.dtype == np.float32
    with pytest.raises(
        af.InputError, match=r"expected attention weights, got BaseModel.*Use its \.attentions"
    ):
        _ = af.Attention(out)


def test_the_output_of_an_encoder_decoder_says_where_its_attention_goes():
    outputs = pytest.importorskip("transformers.modeling_outputs")
    with pytest.raises(
        af.InputError, match=r"of an encoder-decoder\. Use its \.encoder_attentions"
    ):
        _ = af.Attention(outputs.Seq2SeqModelOutput())


def test_padding_is_cut_away_as_the_docstring_says():
    padded = np.zeros((3, 2, 2, 7, 7))  # layer, example, head, query, key
    padded[:, 0, :, :5, :5] = W
    padded[:, 0, :, 5:, 0] = 1.0  # what padding attends to is no matter
    assert af.Attention([w[0, :, :5, :5] for w in padded]) == af.Attention(W)
    assert af.Attention(padded[:, 0, :, :5, :5]) == af.Attention(W)


@pytest.mark.parametrize(
    "half",
    [
        lambda w: w.astype(np.float16),
        lambda w: w.astype(ml_dtypes.bfloat16),
        lambda w: torch.tensor(w).to(torch.float16),
        lambda w: torch.tensor(w).to(torch.bfloat16),
        lambda w: tuple(torch.tensor(w).to(torch.bfloat16)),
    ],
    ids=["fp16", "bfloat16", "torch fp16", "torch bfloat16", "tuple of torch bfloat16"],
)
def test_half_precision_is_renormalised_and_stored_as_float32(half: Any):
    weights = softmax_weights(4, 4, 33, 33) ** 3  # peaked rows, whose rounding shows most
    weights /= weights.sum(-1, keepdims=True)
    a = af.Attention(half(weights))
    assert a.weights.dtype == np.float32
    assert np.abs(a.weights.sum(-1, dtype=np.float64) - 1).max() < 1e-6
    assert np.allclose(a.weights, weights, rtol=0, atol=4e-3)


def test_what_bfloat16_rounds_is_accepted_as_bfloat16_only():
    # 1/4 + 2^-10 lies half-way between two numbers of bfloat16 and goes down to the even one.
    row = np.array([0.25 + 2.0**-10] * 3 + [0.25 - 3 * 2.0**-10])
    rounded = row.astype(ml_dtypes.bfloat16)
    off = abs(float(rounded.astype(np.float64).sum()) - 1)
    assert 1e-3 < off < 2.0**-8
    weights = np.broadcast_to(rounded, (1, 1, 4, 4))
    assert np.allclose(af.Attention(weights).weights.sum(-1), 1)
    with pytest.raises(
        af.InputError, match=r"a sum of 1 within 0\.001, got 0\.99707, an error of 0\.00293"
    ):
        _ = af.Attention(weights.astype(np.float32))


def test_rows_off_by_rounding_are_left_as_they_are():
    weights = W * (1 + 1e-7)
    assert np.array_equal(af.Attention(weights).weights, weights)


def test_rows_off_by_up_to_a_thousandth_are_renormalised():
    weights = W.copy()
    weights[1, 0, 2] *= 1.0009
    a = af.Attention(weights)
    assert np.allclose(a.weights, W, rtol=1e-15, atol=0)
    assert np.array_equal(a.weights[0], W[0])


def read_only_softmax(*shape: int) -> NDArray[np.float32]:
    """Weights as whoever reads a model hands them over: float32, its own memory, read-only."""
    weights = torch.softmax(3 * torch.randn(shape, generator=torch.manual_seed(0)), dim=-1)
    array = weights.numpy().copy()
    array.setflags(write=False)
    return array


@pytest.mark.parametrize("causal", [False, True])
def test_weights_that_are_handed_over_are_not_copied(causal: bool):
    weights = read_only_softmax(12, 1, 512, 512)
    if causal:
        lower = np.tril(weights)
        lower /= lower.sum(-1, keepdims=True)
        lower.setflags(write=False)
        weights = lower
    tracemalloc.start()
    try:
        a = af.Attention(weights, causal=causal)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert a.weights is weights
    assert peak < weights.nbytes / 4


@pytest.mark.parametrize("n_tokens", [7, 512, 2048])
def test_what_a_softmax_in_float32_rounds_is_no_reason_to_copy(n_tokens: int):
    weights = read_only_softmax(1, 2, n_tokens, n_tokens)
    assert np.abs(weights.sum(-1, dtype=np.float64) - 1).max() > 0
    assert af.Attention(weights).weights is weights


def test_weights_that_are_handed_over_are_copied_before_they_are_renormalised():
    weights = W * 1.0005
    before = weights.copy()
    weights.setflags(write=False)
    a = af.Attention(weights)
    assert np.array_equal(weights, before)
    assert np.allclose(a.weights, W, rtol=1e-15, atol=0)


def test_renormalising_gives_the_same_whoever_owns_the_weights():
    rough = (W * 1.0005).astype(np.float32)
    theirs = rough.copy()
    theirs.setflags(write=False)
    a = af.Attention(rough)
    assert af.Attention(theirs) == af.Attention(list(rough)) == a
    assert af.Attention(a.weights) == a  # and a second time changes nothing


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("off", [4e-6, 9e-6, 1.1e-5, 9e-4])
def test_rows_off_by_more_than_a_softmax_rounds_are_renormalised(dtype: Any, off: float):
    weights = (W * (1 + off)).astype(dtype)
    weights.setflags(write=False)
    a = af.Attention(weights)
    assert (a.weights is weights) == (off < 1e-5)
    if off > 1e-5:
        # A rounding of each weight, of the sum divided by, and of the sum here.
        assert np.abs(a.weights.sum(-1, dtype=np.float64) - 1).max() <= 3 * np.finfo(dtype).eps


def test_weights_that_lie_in_another_order_are_read():
    mirrored = np.asfortranarray(W)
    assert af.Attention(mirrored) == af.Attention(W)
    assert af.Attention(np.swapaxes(np.swapaxes(W, 2, 3).copy(), 2, 3)) == af.Attention(W)


def test_weights_too_large_for_their_type_to_add_up_are_refused():
    with pytest.raises(af.InputError, match=r"query 0: .*, got 6e\+38, an error of 6e\+38"):
        _ = af.Attention(np.full((1, 1, 2, 2), 3e38, dtype=np.float32))


def test_one_token_works():
    a = af.Attention(np.ones((2, 3, 1, 1)), ["only"], causal=True)
    assert a.n_tokens == 1
    assert np.array_equal(a.graph().layers[0], [[1.0]])


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (W[0], r"4 axes \(layer, head, query, key\), none empty, got shape \(2, 5, 5\)"),
        (W[None], r"shape \(1, 3, 2, 5, 5\).*use one example.*weights\[:, 0, :, :n, :n\]"),
        (0.5, r"expected 4 axes .* got shape \(\)"),
        (list(W[0]), r"weights\[0\]: expected axes \(head, query, key\) .* got shape \(5, 5\)"),
        ([W, W], r"weights\[0\]: expected one example, got a batch of 3, shape \(3, 2, 5, 5\)"),
        ([W, W], r"\[w\[0, :, :n, :n\] for w in weights\] if it is padded after n tokens"),
        (
            [W[0], W[0, :1]],
            r"weights\[1\]: expected shape \(2, 5, 5\) as weights\[0\], got \(1, 5, 5\)",
        ),
        (W[:, :, :3], "as many keys as queries, got 3 queries and 5 keys"),
        (W[:0], r"none empty, got shape \(0, 2, 5, 5\)"),
        (W[:, :0], r"none empty, got shape \(3, 0, 5, 5\)"),
        (W[:, :, :0, :0], r"none empty, got shape \(3, 2, 0, 0\)"),
        ([], "weights: expected at least one layer, got none"),
        (None, "weights: .* got None.*attn_implementation='eager'"),
        ((None, None), r"weights\[0\]: .* got None.*output_attentions=True"),
        ([[["a"]]], r"weights\[0\]: expected numbers, got values of type str"),
        ([[[[1.0], [0.5, 0.5]]]], "expected an array of numbers, got list"),
    ],
)
def test_weights_of_a_wrong_shape_are_refused(weights: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = af.Attention(weights)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -0.25])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_that_are_no_shares_are_refused_with_their_place(bad: float, dtype: Any):
    weights = W.astype(dtype)
    weights[1, 0, 2, 3] = bad
    place = rf"layer 2 \(weights\[1\]\), head 0, query 2: .* got {bad} for key 3"
    with pytest.raises(af.InputError, match=place):
        _ = af.Attention(weights)


@pytest.mark.parametrize("factor", [1.002, 0.5, 0.0])
def test_rows_that_do_not_sum_to_one_are_named_with_their_sum(factor: float):
    weights = W.copy()
    weights[2, 1, 4] *= factor
    message = (
        rf"\(weights\[2\]\), head 1, query 4: .*got {factor:.6g}, an error of {abs(factor - 1):.3g}"
    )
    with pytest.raises(af.InputError, match=message):
        _ = af.Attention(weights)


def test_a_wrong_number_of_tokens_is_refused():
    with pytest.raises(af.InputError, match="tokens: expected 5, one per position, got 4"):
        _ = af.Attention(W, list("abcd"))


def test_weights_that_look_ahead_are_not_causal():
    weights = np.tile(np.eye(4), (2, 2, 1, 1))
    assert af.Attention(weights, causal=True).causal
    weights[1, 0, 2] = [0, 0, 0.75, 0.25]
    with pytest.raises(af.InputError, match="head 0, query 2 attends to key 3, a later one"):
        _ = af.Attention(weights, causal=True)


@pytest.mark.parametrize("averaged", ["no", None, 1])
def test_averaged_is_true_or_false_and_nothing_else(averaged: Any):
    with pytest.raises(af.InputError, match=r"averaged must be a bool, got .*"):
        _ = af.Attention(np.ones((1, 1, 1, 1)), averaged=averaged)


def test_the_mean_of_all_heads_is_a_single_head():
    with pytest.raises(
        af.InputError, match=r"weights: expected one head, .* with averaged=True, got 2"
    ):
        _ = af.Attention(W, averaged=True)


# ---- graph ----------------------------------------------------------------------------------


def test_the_graph_of_the_paper_is_the_mean_of_heads_and_half_the_identity():
    g = af.Attention(W).graph()
    for layer, weights in zip(g.layers, W, strict=True):
        assert np.allclose(layer, 0.5 * weights.mean(0) + 0.5 * np.eye(5), rtol=1e-14, atol=0)
    assert dict(g.settings) == {
        "heads": "mean",
        "residual": 0.5,
        "discard_ratio": 0.0,
        "head": None,
        "causal": False,
    }


@pytest.mark.parametrize("heads", ["mean", "max", "min"])
@pytest.mark.parametrize("residual", [0.0, 0.3, 0.9])
def test_fused_rows_are_renormalised_before_the_residual(heads: Any, residual: float):
    g = af.Attention(W).graph(heads=heads, residual=residual)
    for layer, weights in zip(g.layers, W, strict=True):
        fused = getattr(weights, heads)(0)
        fused /= fused.sum(-1, keepdims=True)
        assert np.allclose(layer, (1 - residual) * fused + residual * np.eye(5), atol=1e-15)


def test_float32_weights_are_fused_in_float64():
    weights = softmax_weights(1, 7, 9, 9).astype(np.float32)
    layer = af.Attention(weights).graph().layers[0]
    fused = weights[0].astype(np.float64).mean(0)
    fused /= fused.sum(-1, keepdims=True)
    assert layer.dtype == np.float64
    assert np.allclose(layer, 0.5 * fused + 0.5 * np.eye(9), rtol=1e-14, atol=0)


def test_a_single_head_is_kept_beside_the_fused_layers():
    a = af.Attention(W)
    g = a.graph(head=1)
    assert g.tops is not None
    for top, weights in zip(g.tops, W, strict=True):
        assert np.allclose(top, 0.5 * weights[1] + 0.5 * np.eye(5), rtol=1e-14, atol=0)
    assert len(g.layers) == len(a.graph().layers) == 3
    assert all(map(np.array_equal, g.layers, a.graph().layers))
    assert g.settings["head"] == 1


def test_discarding_drops_the_smallest_share_of_each_layer():
    fused = np.array([[0.6, 0.3, 0.1], [0.2, 0.45, 0.35], [0.25, 0.34, 0.41]])
    g = af.Attention(fused[None, None]).graph(discard_ratio=0.4, residual=0.0)
    # floor(0.4 * 9) = 3 edges go: 0.1, 0.2 and 0.25.
    kept = np.array([[0.6, 0.3, 0.0], [0.0, 0.45, 0.35], [0.0, 0.34, 0.41]])
    assert np.allclose(g.layers[0], kept / kept.sum(-1, keepdims=True), rtol=1e-15, atol=0)


def test_discarding_leaves_every_row_its_strongest_edge():
    a = af.Attention(softmax_weights(2, 2, 6, 6))
    g = a.graph(discard_ratio=0.99, residual=0.0)
    fused = a.weights.mean(1)
    for layer, weights in zip(g.layers, fused, strict=True):
        assert np.array_equal(layer.argmax(1), weights.argmax(1))
        assert np.array_equal((layer > 0).sum(1), np.ones(6))


def test_the_number_of_discarded_edges_is_not_lost_to_rounding():
    weights = softmax_weights(1, 1, 10, 10)
    layer = af.Attention(weights).graph(discard_ratio=0.29, residual=0.0).layers[0]
    assert np.count_nonzero(layer == 0) == 29  # and 0.29 * 100 < 29 in floats


def test_heads_without_a_key_in_common_have_no_minimum():
    weights = np.array([[np.eye(2), np.eye(2)[::-1]]])
    with pytest.raises(
        af.InputError, match=r'layer 1, query 0: the minimum over heads is zero.*heads="mean"'
    ):
        _ = af.Attention(weights).graph(heads="min")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": "median"}, "heads must be one of mean, max, min, got 'median'"),
        ({"residual": 1.0}, r"residual must be a number in \[0, 1\), got 1.0"),
        ({"residual": -0.1}, "residual must be a number in .*, got -0.1"),
        ({"residual": np.nan}, "residual must be a number in .*, got nan"),
        ({"residual": "half"}, "residual must be a number in .*, got 'half'"),
        ({"discard_ratio": 1.0}, "discard_ratio must be a number in .*, got 1.0"),
        ({"discard_ratio": -1}, "discard_ratio must be a number in .*, got -1"),
        ({"head": 2}, "head must be 0 to 1, got 2"),
        ({"head": -1}, "head must be 0 to 1, got -1"),
        ({"head": 0.5}, "head must be an integer, got 0.5"),
    ],
)
def test_bad_settings_of_a_graph_are_refused(settings: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = af.Attention(W).graph(**settings)


def test_the_mean_of_all_heads_gives_the_graph_of_all_heads():
    mean = af.Attention(W.mean(1, keepdims=True), averaged=True)
    assert repr(mean) == "Attention(layers=3, heads=1, tokens=5, averaged=True)"
    assert mean.graph().n_layers == 3
    for one, other in zip(mean.graph().layers, af.Attention(W).graph().layers, strict=True):
        assert np.allclose(one, other, rtol=1e-14, atol=0)


@pytest.mark.parametrize("settings", [{"heads": "max"}, {"heads": "min"}, {"head": 0}])
def test_the_mean_of_all_heads_cannot_be_undone(settings: Any):
    mean = af.Attention(W.mean(1, keepdims=True), averaged=True)
    with pytest.raises(af.InputError, match="holds only the mean of the heads"):
        _ = mean.graph(**settings)


# ---- positions taken out --------------------------------------------------------------------


@pytest.mark.parametrize("residual", [0.0, 0.5])
@pytest.mark.parametrize("heads", ["mean", "max", "min"])
def test_excluded_positions_receive_no_attention(residual: float, heads: Any):
    g = af.Attention(W).graph(without=[0, 3], residual=residual, heads=heads)
    for layer, weights in zip(g.layers, W, strict=True):
        left = getattr(weights, heads)(0)
        left[:, [0, 3]] = 0.0
        left /= left.sum(-1, keepdims=True)
        assert np.allclose(layer, (1 - residual) * left + residual * np.eye(5), atol=1e-15)
    assert g.settings["without"] == (0, 3)


def test_a_position_left_with_nothing_draws_on_itself():
    weights = [[[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]]]
    g = af.Attention(weights, causal=True).graph(without=[0, 1], residual=0.25)
    assert np.array_equal(g.layers[0], np.eye(3))


def test_a_single_head_is_without_them_too():
    g = af.Attention(W).graph(without=2, head=1, residual=0.0)
    assert g.tops is not None
    assert not any(top[:, 2].any() for top in g.tops)
    assert np.allclose([top.sum(1) for top in g.tops], 1)


def test_positions_are_taken_out_before_edges_are_discarded():
    fused = np.array([[0.6, 0.3, 0.1], [0.2, 0.45, 0.35], [0.25, 0.34, 0.41]])
    g = af.Attention(fused[None, None]).graph(without=0, discard_ratio=0.5, residual=0.0)
    # floor(0.5 * 9) = 4 edges go: the three taken out, and 0.1.
    kept = np.array([[0.0, 0.3, 0.0], [0.0, 0.45, 0.35], [0.0, 0.34, 0.41]])
    assert np.allclose(g.layers[0], kept / kept.sum(-1, keepdims=True), rtol=1e-15, atol=0)


def test_what_is_taken_out_is_recorded_once_in_order_and_only_where_there_is_any():
    a = af.Attention(W)
    assert a.graph(without=[4, 1, 4]) == a.graph(without=np.array([1, 4]).tolist())
    assert "without" not in a.graph(without=[]).settings
    assert a.graph(without=()) == a.graph()


def test_heads_without_a_key_in_common_are_not_saved_by_taking_out():
    weights = np.array([[np.eye(2), np.eye(2)[::-1]]])
    with pytest.raises(af.InputError, match="layer 1, query 0: the minimum over heads is zero"):
        _ = af.Attention(weights).graph(heads="min", without=0)


@pytest.mark.parametrize(
    ("without", "message"),
    [
        ([5], "without: expected positions 0 to 4, got 5"),
        (-1, "without: expected positions 0 to 4, got -1"),
        ([0.5], "without must be integers, got .*"),
        ("0", "without must be integers, got '0'"),
        (None, "without must be integers, got None"),
    ],
)
def test_positions_that_are_not_there_cannot_be_taken_out(without: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = af.Attention(W).graph(without=without)


# ---- the record -----------------------------------------------------------------------------


def test_copies_are_equal_and_read_only():
    a = af.Attention(W, list("abcde"))
    for b in (copy.deepcopy(a), pickle.loads(pickle.dumps(a))):  # noqa: S301
        assert b == a
        assert hash(b) == hash(a)
        assert not b.weights.flags.writeable
    assert a != af.Attention(W)
    assert a != "attention"


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_file_gives_back_the_attention(tmp_path: Path, suffix: str):
    mean = W.mean(1, keepdims=True)
    for number, a in enumerate((af.Attention(W), af.Attention(mean, averaged=True))):
        path = tmp_path / f"{number}{suffix}"
        a.save(path)
        assert af.Attention.load(path) == a
        assert pickle.loads(pickle.dumps(a)) == a  # noqa: S301
    assert af.Attention(mean, averaged=True) != af.Attention(mean)


def test_a_file_with_averaged_that_is_no_truth_value_is_refused(tmp_path: Path):
    path = tmp_path / "a.npz"
    np.savez(path, weights=W, averaged=np.array("yes"))
    with pytest.raises(af.InputError, match=r"a\.npz: averaged must be a bool, got 'yes'"):
        _ = af.Attention.load(path)


def test_a_file_of_an_encoder_decoder_says_who_reads_it(tmp_path: Path):
    path = tmp_path / "a.npz"
    af.EncoderDecoderAttention(W, np.eye(5)[None, None], np.eye(5)[None, None]).save(path)
    with pytest.raises(af.InputError, match=r"EncoderDecoderAttention\.load reads it"):
        _ = af.Attention.load(path)


def test_the_notebook_table_points_out_sinks():
    html = af.Attention(np.eye(3)[[0, 0, 1]][None, None], ["<s>", "b", "c"])._repr_html_()
    assert "position 0 &lt;s&gt; receives 67 % of the attention of layer 1" in html
    assert "sinks" not in af.Attention(W)._repr_html_()


def test_the_notebook_table_says_that_heads_are_averaged():
    html = af.Attention(W.mean(1, keepdims=True), averaged=True)._repr_html_()
    assert "<th>heads</th><td>the mean of all</td>" in html


def test_the_notebook_table_escapes_tokens():
    html = af.Attention(W, ["<s>", "b", "c", "d", "e"])._repr_html_()
    assert "&lt;s&gt;" in html
    assert "<s>" not in html


@pytest.mark.parametrize("causal", ["no", None, 1, np.array([True, False])])
def test_causal_is_true_or_false_and_nothing_else(causal: Any):
    with pytest.raises(af.InputError, match="causal"):
        _ = af.Attention(np.ones((1, 1, 1, 1)), causal=causal)


@pytest.mark.parametrize("residual", ["0.5", True, None, 10**400])
def test_a_residual_that_is_no_number_below_one_is_refused(residual: Any):
    with pytest.raises(af.InputError, match="residual"):
        _ = af.Attention(np.ones((1, 1, 1, 1))).graph(residual=residual)


def test_masked_arrays_are_refused_since_their_mask_would_be_lost():
    with pytest.raises(af.InputError, match="masked"):
        _ = af.Attention(np.ma.masked_array(np.ones((1, 1, 1, 1)), mask=False))


def test_heads_that_share_next_to_nothing_still_give_distributions():
    e = 1e-310
    heads = [[[[1 - e, e], [e, 1 - e]], [[e, 1 - e], [1 - e, e]]]]
    layer = af.Attention(heads).graph(heads="min").layers[0]
    assert np.allclose(layer.sum(axis=1), 1.0)
