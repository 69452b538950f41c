"""A list of texts is one padded batch, and each text comes out as if it had been alone."""

from typing import Any

import numpy as np
import pytest
import torch
from small_models import (
    DECODERS,
    PAIRS,
    READERS,
    VOCABULARY,
    attend,
    attend_one,
    inputs_for,
    parts,
    rollout_one,
    rollout_segments,
    small_model,
)
from small_tokenizers import tokenizer_for

import attnflow as af
from close_results import assert_close

TEXTS = ["the cat", "The old man sat on the mat: the cat's key.", "a night", "on"]
TARGETS = ["the key sat", "on", "the old mat on the mat", "man"]


def both_ways(family: str, **settings: Any) -> tuple[list[Any], list[Any]]:
    """What comes out of a batch of TEXTS, and one by one."""
    model, tokenizer = small_model(family), tokenizer_for(family)
    targets = TARGETS if family in PAIRS else [None] * len(TEXTS)
    target = {"text_target": TARGETS} if family in PAIRS else {}
    batch = attend(model, tokenizer, TEXTS, **target, **settings)
    alone = [
        attend(model, tokenizer, text, text_target=each, **settings)
        for text, each in zip(TEXTS, targets, strict=True)
    ]
    return batch, alone


@pytest.mark.parametrize("heads", ["all", "mean"])
@pytest.mark.parametrize("family", READERS)
def test_a_batch_of_texts_is_the_same_as_one_by_one(family: str, heads: str):
    batch, alone = both_ways(family, heads=heads)
    assert len(batch) == len(TEXTS)
    for together, single in zip(batch, alone, strict=True):
        assert together.tokens == single.tokens
        assert together.origin == single.origin
        for mine, theirs in zip(parts(together), parts(single), strict=True):
            assert mine.shape == theirs.shape
            # Float error: products over another number of rows add up in another order, and the
            # large weights of these models multiply the difference.
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("segments", ["tokens", "words"])
@pytest.mark.parametrize("family", READERS)
def test_a_batch_rolls_out_to_the_same_as_one_by_one(family: str, segments: Any):
    model, tokenizer = small_model(family), tokenizer_for(family)
    target = {"text_target": TARGETS} if family in PAIRS else {}
    batch = rollout_segments(model, tokenizer, TEXTS, segments=segments, **target)
    assert len(batch) == len(TEXTS)
    for number, together in enumerate(batch):
        chosen = {"text_target": TARGETS[number]} if family in PAIRS else {}
        single = rollout_segments(model, tokenizer, TEXTS[number], segments=segments, **chosen)
        assert together.tokens == single.tokens
        assert together.origin == single.origin
        np.testing.assert_allclose(together.scores, single.scores, rtol=0, atol=1e-5)


def test_a_list_of_one_text_gives_a_list_of_one():
    model, tokenizer = small_model("bert"), tokenizer_for("bert")
    assert_close(attend(model, tokenizer, ["the cat"]), [attend(model, tokenizer, "the cat")])
    one = rollout_segments(model, tokenizer, "the cat")
    assert_close(rollout_segments(model, tokenizer, ["the cat"]), [one])
    one = rollout_segments(model, tokenizer, ["the cat"], segments="texts")
    assert_close(rollout_segments(model, tokenizer, [["the cat"]], segments="texts"), [one])


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("function", [attend, rollout_segments], ids=["attend", "rollout_segments"])
@pytest.mark.parametrize("family", ["bert", "bart", "vit", "whisper"])
def test_tensors_give_a_list_whatever_the_batch_size(family: str, function: Any, batch: int):
    model, inputs = small_model(family), inputs_for(family, batch=batch)
    main = {} if family in ("bart", "whisper") else {"alone": next(iter(inputs.values()))}
    arrays = {name: tensor.numpy() for name, tensor in inputs.items()}
    for given in ({"tensors": inputs, "arrays": arrays} | main).values():
        found = function(model, None, given)
        assert isinstance(found, list)
        assert len(found) == batch


def padded(family: str, *, side: str) -> tuple[dict[str, torch.Tensor], list[dict[str, Any]]]:
    """Ready inputs of three lengths, padded on one side, and each of them alone."""
    ids = inputs_for(family, batch=3, length=8)["input_ids"]
    lengths = [8, 3, 5]
    rows = [row[:length] for row, length in zip(ids, lengths, strict=True)]
    fields = {
        name: torch.zeros(3, 8, dtype=torch.int64)
        for name in ("input_ids", "attention_mask", "position_ids")
    }
    for example, row in enumerate(rows):
        where = slice(None, len(row)) if side == "right" else slice(8 - len(row), None)
        fields["input_ids"][example, where] = row
        fields["attention_mask"][example, where] = 1
        fields["position_ids"][example, where] = torch.arange(len(row))
    return fields, [{"input_ids": row[None]} for row in rows]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("family", ["bert", "electra", *DECODERS])
def test_padding_of_ready_inputs_is_cut_away(family: str, side: str):
    model = small_model(family)
    fields, single = padded(family, side=side)
    batch = attend(model, None, fields)
    rolled = rollout_segments(model, None, fields)
    for mine, scores, inputs in zip(batch, rolled, single, strict=True):
        alone = attend_one(model, None, inputs)
        assert mine.tokens == alone.tokens == tuple(map(str, inputs["input_ids"][0].tolist()))
        assert mine.causal == alone.causal
        np.testing.assert_allclose(mine.weights, alone.weights, rtol=0, atol=1e-5)
        np.testing.assert_allclose(scores.scores, af.rollout(alone).scores, rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", ["t5", "bart", "marian"])
def test_padding_on_both_ends_of_a_pair_is_cut_away(family: str):
    model = small_model(family)
    seed = torch.Generator().manual_seed(2)
    source = torch.randint(3, VOCABULARY, (2, 6), generator=seed)
    target = torch.randint(3, VOCABULARY, (2, 5), generator=seed)
    fields: dict[str, torch.Tensor] = {
        "input_ids": source,
        "attention_mask": torch.tensor([[1] * 6, [1] * 4 + [0] * 2]),
        "decoder_input_ids": target,
        "decoder_attention_mask": torch.tensor([[1, 1, 1, 0, 0], [1] * 5]),
    }
    batch = attend(model, None, fields)
    rolled = rollout_segments(model, None, fields)
    for i, (s, t) in enumerate([(6, 3), (4, 5)]):
        inputs = {"input_ids": source[i : i + 1, :s], "decoder_input_ids": target[i : i + 1, :t]}
        alone = attend_one(model, None, inputs)
        assert batch[i].source == alone.source
        assert batch[i].target == alone.target
        for mine, theirs in zip(parts(batch[i]), parts(alone), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-5)
        np.testing.assert_allclose(rolled[i].scores, af.rollout(alone).scores, rtol=0, atol=1e-5)


def test_embeddings_in_place_of_ids_are_fine():
    model = small_model("bert")
    ids = inputs_for("bert")["input_ids"]
    with torch.no_grad():
        embeds = model.get_input_embeddings()(ids)
    mask = torch.tensor([[1] * 7 + [0] * 2])
    by_ids = attend_one(model, None, {"input_ids": ids, "attention_mask": mask})
    found = attend_one(model, None, {"inputs_embeds": embeds, "attention_mask": mask})
    assert found.tokens == tuple(map(str, range(7)))
    np.testing.assert_allclose(found.weights, by_ids.weights, rtol=0, atol=1e-6)


@pytest.mark.parametrize("family", ["bart", "whisper"])
def test_embeddings_for_a_decoder_are_fine(family: str):
    model, inputs = small_model(family), inputs_for(family)
    with torch.no_grad():
        embeds = model.get_decoder().embed_tokens(inputs["decoder_input_ids"])
    expected = attend_one(model, None, inputs)
    changed: dict[str, torch.Tensor] = {**inputs, "decoder_inputs_embeds": embeds}
    del changed["decoder_input_ids"]
    found = attend_one(model, None, changed)
    assert found.source == expected.source
    assert found.target == ("0", "1", "2", "3", "4")
    for mine, theirs in zip(parts(found), parts(expected), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-6)
    rolled = rollout_one(model, None, changed)
    np.testing.assert_allclose(rolled.scores, af.rollout(expected).scores, rtol=0, atol=1e-5)


def test_what_a_tokenizer_gives_is_ready():
    model, tokenizer = small_model("bert"), tokenizer_for("bert")
    encoding = tokenizer(TEXTS, padding=True, return_tensors="pt")
    expected = attend(model, tokenizer, TEXTS)
    for mine, theirs in zip(attend(model, tokenizer, encoding), expected, strict=True):
        assert mine.tokens == theirs.tokens
        np.testing.assert_allclose(mine.weights, theirs.weights, rtol=0, atol=1e-6)
    arrays = tokenizer(TEXTS[0], return_tensors="np")
    assert attend_one(model, tokenizer, arrays).tokens == expected[0].tokens
    lists = {"input_ids": [tokenizer(TEXTS[0]).input_ids]}
    assert attend_one(model, tokenizer, lists).tokens == expected[0].tokens


def test_a_mask_of_sound_counts_something_else_than_positions():
    inputs = inputs_for("whisper", batch=2)
    mask = torch.ones(2, 60, dtype=torch.int64)
    mask[1, 40:] = 0
    plain = attend(small_model("whisper"), None, inputs)
    masked = attend(small_model("whisper"), None, {**inputs, "attention_mask": mask})
    assert_close(masked, plain)  # Whisper's encoder sees all of it
    assert masked[1].source[:2] == ("0.00s", "0.02s")
    rolled = rollout_segments(small_model("whisper"), None, {**inputs, "attention_mask": mask})
    assert rolled[1].scores.shape == (3 + 2 * 2, 35, 35)
