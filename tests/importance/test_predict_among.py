"""Probabilities of answers that the caller names."""

import pytest
import torch

import attnflow as af
from attnflow import models, paper
from attnflow.importance import predict, predict_among
from close_results import assert_close

TEXT = "Mary convinced John of [MASK] love"


def test_the_answers_have_the_probabilities_that_the_model_gives_them(
    small_bert: models.Loaded,
) -> None:
    model, tokenizer = small_bert.model, small_bert.tokenizer
    found = predict_among(model, tokenizer, TEXT, ["his", "her"])
    inputs = tokenizer(TEXT, return_tensors="pt")
    ids = inputs["input_ids"][0].tolist()
    at = ids.index(tokenizer.mask_token_id)
    with torch.no_grad():
        p = model(**inputs).logits[0, at].double().softmax(-1)
    names = tokenizer.get_vocab()
    shown = {"his", "her", found.label}
    assert found.probabilities == pytest.approx({name: float(p[names[name]]) for name in shown})
    assert (found.label, found.position) == (predict(model, tokenizer, TEXT).label, at)


def test_a_word_is_its_token_after_a_space_where_there_is_one(small_bert: models.Loaded) -> None:
    # This tokenizer does not write spaces: the word is the same with and without.
    model, tokenizer = small_bert.model, small_bert.tokenizer
    plain = predict_among(model, tokenizer, TEXT, ["his"])
    spaced = predict_among(model, tokenizer, TEXT, ["his"], after_space=True)
    assert_close(spaced, plain)


def test_a_classifier_has_no_position() -> None:
    shipped = paper.load()
    found = predict_among(shipped.model, shipped.tokenizer, "the keys", ["singular"])
    assert found.position is None
    assert sum(found.probabilities.values()) == pytest.approx(1)


def test_an_answer_that_does_not_exist_is_an_error(small_bert: models.Loaded) -> None:
    with pytest.raises(af.InputError, match="xyzzy"):
        _ = predict_among(small_bert.model, small_bert.tokenizer, TEXT, ["xyzzy"])
