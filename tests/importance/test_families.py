"""Classifiers, masked and causal language models and encoder-decoders."""

from typing import Any

import numpy as np
import pytest
import torch
from answering_models import (
    CLASSIFIERS,
    FAMILIES,
    MASKED,
    TEXT,
    VOCABULARY,
    WRITERS,
    Linear,
    blank_out,
    input_gradient,
    integrated_gradients,
    model_of,
    text_for,
    tokenizer,
)

import attnflow as af
from attnflow.importance._embeddings import changed_embeddings
from attnflow.models.scoring import Scorer, read_logits

N = 9  # [CLS] the key ##s to the old cabinet [SEP]


def asked(model: Any, ids: torch.Tensor, family: str) -> np.ndarray[Any, Any]:
    """Probabilities (row, class) of the model's answer, straight from the model."""
    more = {}
    if family in ("t5-lm", "bart-lm"):
        more["decoder_input_ids"] = torch.tensor([[model.config.decoder_start_token_id]])
    with torch.no_grad():
        logits = torch.cat([model(row[None], **more).logits for row in ids])
    if family in MASKED:
        logits = logits[:, 6]
    elif family in WRITERS:
        logits = logits[:, -1]
    return logits.softmax(-1).numpy()


@pytest.mark.parametrize("family", FAMILIES)
def test_blank_out_is_what_the_model_itself_says_of_each_variant(family: str):
    model, text = model_of(family), text_for(family)
    ids = tokenizer()(text, return_tensors="pt")["input_ids"]
    rows = ids.repeat(N + 1, 1)
    rows[range(1, N + 1), range(N)] = 1
    p = asked(model, rows, family)
    target = int(p[0].argmax())
    found = blank_out(model, tokenizer(), text, replace="unk")
    assert found.settings["target"] == target
    np.testing.assert_allclose(found.values, np.abs(p[0, target] - p[1:, target]), atol=1e-9)
    assert found.values.max() > 1e-4


# Their norms and rotations are in single precision, whatever the model is in.
SINGLE = ["llama", "llama-lm", "t5-lm"]


def nudged(model: Any, text: str, place: int, *, step: float) -> float:
    """The derivative of the score when one embedding is stretched, by differences."""
    scorer = Scorer.of(model, tokenizer(), text, score="logit")
    stretched = torch.zeros(1, N, 1, dtype=torch.float64)
    stretched[0, place] = step

    def logits(factor: torch.Tensor) -> Any:
        (item,) = scorer.inputs
        with changed_embeddings(model, item.fields, item.main, lambda e: e * factor) as fields:
            return read_logits(model, fields, [item])

    with torch.no_grad():
        targets = scorer.target_scores(logits(1 + 0 * stretched), [0])
        above, below = (
            scorer.scores(logits(1 + sign * stretched).values, targets)[0] for sign in (1, -1)
        )
    return float(above - below) / (2 * step)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradient_times_input_is_the_derivative_by_differences(family: str):
    model, text = model_of(family), text_for(family)
    found = input_gradient(model, tokenizer(), text, score="logit", reduce="input", signed=True)
    assert len(found.values) == N
    for place in (1, 5):
        by_differences = nudged(model, text, place, step=1e-3 if family in SINGLE else 1e-5)
        close: Any = {"rel": 1e-2, "abs": 1e-4} if family in SINGLE else {"rel": 1e-6}
        assert found.values[place] == pytest.approx(by_differences, **close)


@pytest.mark.parametrize("family", FAMILIES)
def test_integrated_gradients_add_up_to_the_change_of_the_score(family: str):
    model, text = model_of(family), text_for(family)
    found = integrated_gradients(model, tokenizer(), text, steps=200, baseline="unk")
    change = found.settings["input_score"] - found.settings["baseline_score"]
    assert found.values.sum() == pytest.approx(change + found.settings["convergence_delta"])
    assert abs(found.settings["convergence_delta"]) < 0.02 * max(1e-3, np.abs(found.values).sum())


@pytest.mark.parametrize("family", ["gpt2-lm", "llama-lm"])
def test_the_next_token_after_a_text_is_the_answer_of_a_causal_model(family: str):
    model = model_of(family)
    found = blank_out(model, tokenizer(), TEXT)
    assert found.settings["position"] == N - 1
    named = blank_out(model, tokenizer(), TEXT, target=found.settings["target_name"])
    np.testing.assert_allclose(named.values, found.values, rtol=0, atol=1e-6)  # LLaMA in float32
    assert named.settings["target_given"] is True


@pytest.mark.parametrize("family", ["gpt2-lm", "llama-lm", "bert-mlm"])
def test_any_position_can_be_selected(family: str):
    model = model_of(family)
    found = input_gradient(model, tokenizer(), TEXT, position=3, reduce="norm")
    assert found.settings["position"] == 3
    assert len(found.values) == N
    if family in WRITERS:
        assert not found.values[4:].any(), "a causal model does not look ahead"
        assert found.values[:4].all()


def test_a_masked_model_answers_at_its_mask():
    model, text = model_of("bert-mlm"), text_for("bert-mlm")
    found = blank_out(model, tokenizer(), text, target="man")
    assert found.settings["position"] == 6
    assert found.settings["target_name"] == "man"
    same = blank_out(model, tokenizer(), text, target="man", position=6)
    np.testing.assert_allclose(same.values, found.values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("old", "[MASK]").replace("key", "[MASK]")])
def test_a_masked_model_without_one_mask_asks_for_the_position(text: str):
    with pytest.raises(af.InputError, match=r"position must be given: .*at every pos"):
        _ = blank_out(model_of("bert-mlm"), tokenizer(), text)


def test_a_mask_in_the_text_of_a_classifier_is_a_token_like_any_other():
    text = TEXT.replace("old", "[MASK]").replace("key", "[MASK]")
    found = blank_out(model_of("bert"), tokenizer(), text)
    assert "position" not in found.settings


@pytest.mark.parametrize("position", [-1, 0, N])
def test_a_classifier_has_no_positions_to_ask(position: int):
    with pytest.raises(af.InputError, match=r"position must be left out: BertFor.* one output for"):
        _ = blank_out(model_of("bert"), tokenizer(), TEXT, position=position)


@pytest.mark.parametrize("position", [-1, N])
def test_a_position_beyond_the_text_is_refused(position: int):
    with pytest.raises(af.InputError, match=f"position must be 0 to 8, got {position}"):
        _ = blank_out(model_of("gpt2-lm"), tokenizer(), TEXT, position=position)


def test_an_encoder_decoder_answers_after_what_its_decoder_has_read():
    model = model_of("bart-lm")
    ids = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    inputs = {"input_ids": ids, "decoder_input_ids": torch.tensor([[3, 5, 6]])}
    [found] = blank_out(model, tokenizer(), inputs)
    assert found.settings["decoder_position"] == 2
    assert "position" not in found.settings, "it is none of the tokens"
    assert len(found.values) == N
    with torch.no_grad():
        p = model(**inputs).logits[0, -1].softmax(-1)
    assert found.settings["input_score"] == pytest.approx(float(p.max()))


@pytest.mark.parametrize("family", CLASSIFIERS)
def test_a_model_without_a_head_is_refused(family: str):
    base = model_of(family).base_model
    with pytest.raises(
        af.UnsupportedModelError, match=r"expected an output with logits.*Use a model with a head"
    ):
        _ = blank_out(base, tokenizer(), TEXT)


def test_a_classifier_that_reads_the_text_twice_is_refused():
    import transformers

    config = model_of("bart-lm").config
    model: Any = transformers.BartForSequenceClassification(config).eval()
    with pytest.raises(af.UnsupportedModelError, match="in its encoder and again in its decoder"):
        _ = input_gradient(model, tokenizer(), TEXT)


def test_a_plain_module_is_used_like_any_other_model():
    ids = torch.tensor([[1, 2, 3], [3, 2, 1]])
    found = blank_out(Linear(), None, ids, replace=0)
    assert [each.tokens for each in found] == [("1", "2", "3"), ("3", "2", "1")]
    [one] = blank_out(Linear(), None, ids[:1], replace=0)
    np.testing.assert_allclose(one.values, found[0].values, rtol=1e-12)


def test_the_logits_of_a_vocabulary_are_computed_at_one_position_only():
    model, sizes = model_of("llama-lm"), []
    handle = model.lm_head.register_forward_hook(lambda *a: sizes.append(tuple(a[2].shape)))
    try:
        _ = blank_out(model, tokenizer(), TEXT)
    finally:
        handle.remove()
    assert sizes == [(1 + N, 1, VOCABULARY)]
