"""Pronoun resolution with a masked language model and a decoder."""

from typing import Any

import numpy as np
import pytest
import torch

import attnflow as af
from attnflow import models, paper
from attnflow.paper import FIGURE_4, PronounSentence


@pytest.fixture
def bert(small_bert: models.Loaded) -> models.Loaded:
    return small_bert


@pytest.fixture
def gpt(small_gpt: models.Loaded) -> models.Loaded:
    return small_gpt


def _odds(loaded: models.Loaded, text: str, at: int) -> Any:
    inputs = loaded.tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        return loaded.model(**inputs).logits[0, at].double().softmax(-1)


def test_a_masked_model_answers_at_the_mask(bert: models.Loaded) -> None:
    found = paper.resolve(bert.model, bert.tokenizer, FIGURE_4[0])
    tokens = bert.tokenizer.tokenize(FIGURE_4[0].text)
    at = 1 + tokens.index("[MASK]")  # after [CLS]
    p = _odds(bert, FIGURE_4[0].text, at)
    ids = bert.tokenizer.get_vocab()
    assert found.probabilities == pytest.approx({w: float(p[ids[w]]) for w in ("his", "her")})
    assert ids[found.best] == int(p.argmax())
    assert found.text == FIGURE_4[0].text
    assert not found.causal
    a: Any = models.attend(bert.model, bert.tokenizer, FIGURE_4[0].text)
    for token_attention, method in zip(found.scores, (af.raw, af.rollout, af.flow), strict=True):
        scores = method(a, queries=at).to_words()
        assert np.allclose(token_attention.scores, scores.scores)


def test_candidates_are_words_and_pieces_are_added_up(bert: models.Loaded) -> None:
    assert "sar" in bert.tokenizer.tokenize("Sara")  # two pieces
    found = paper.resolve(bert.model, bert.tokenizer, FIGURE_4[0])
    names = found.scores[0].tokens
    assert {name: [names[w] for w in places] for name, places in found.candidates.items()} == {
        "author": ["author"], "Sara": ["Sara"],
    }  # fmt: skip


def test_a_candidate_may_be_several_words(bert: models.Loaded) -> None:
    candidates = ("the author", "to Sara")
    sentence = PronounSentence(FIGURE_4[0].text, candidates, FIGURE_4[0].pronouns)
    found = paper.resolve(bert.model, bert.tokenizer, sentence)
    names = found.scores[0].tokens
    assert [names[w] for w in found.candidates["to Sara"]] == ["to", "Sara"]


def test_a_decoder_reads_up_to_the_pronoun_and_writes_it_next(gpt: models.Loaded) -> None:
    found = paper.resolve(gpt.model, gpt.tokenizer, FIGURE_4[1])
    assert found.text == "Mary convinced John of"
    p = _odds(gpt, found.text, -1)
    ids = gpt.tokenizer.get_vocab()
    assert found.probabilities == pytest.approx({w: float(p[ids[w]]) for w in ("her", "his")})
    assert found.causal
    a: Any = models.attend(gpt.model, gpt.tokenizer, found.text)
    corrected = af.rollout(a, queries=3, receptive_field=True)
    assert np.allclose(found.scores[1].scores, corrected.scores)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (
            ("Mary saw John at [MASK] house", ("Mary", "Peter"), ("her", "his")),
            "'Peter' once .* it 0 times",
        ),
        (("Mary saw Mary at [MASK] house", ("Mary", "saw"), ("her", "his")), "it 2 times"),
        (("Mary saw John at [MASK] house", ("Mary", "John"), ("her", "xyzzy")), "xyzzy"),
    ],
)
def test_words_that_are_missing_or_ambiguous_are_refused(
    bert: models.Loaded, sentence: Any, message: str
) -> None:
    with pytest.raises(af.InputError, match=message):
        _ = paper.resolve(bert.model, bert.tokenizer, PronounSentence(*sentence))


def test_a_decoder_cannot_see_what_comes_after(gpt: models.Loaded) -> None:
    later = PronounSentence("Mary saw [MASK] John", ("Mary", "John"), ("her", "his"))
    with pytest.raises(af.InputError, match="ends before the pronoun"):
        _ = paper.resolve(gpt.model, gpt.tokenizer, later)
    first = PronounSentence("[MASK] book saw Mary", ("book", "Mary"), ("her", "his"))
    with pytest.raises(af.InputError, match="begins with the pronoun"):
        _ = paper.resolve(gpt.model, gpt.tokenizer, first)


@pytest.mark.parametrize(
    "given",
    [
        ("no mask", ("a", "b"), ("his", "her")),
        ("[MASK] and [MASK]", ("a", "b"), ("his", "her")),
        ("a b [MASK]", ("a", "a"), ("his", "her")),
        ("a b [MASK]", ("a", "b"), ("his", " ")),
    ],
)
def test_a_pronoun_sentence_has_one_mask_and_two_of_each(given: Any) -> None:
    with pytest.raises(af.InputError, match=r"expected one \[MASK\]|must be two different words"):
        _ = PronounSentence(*given)


def test_a_classifier_is_no_language_model() -> None:
    shipped = paper.load()
    with pytest.raises(af.UnsupportedModelError, match="bert-base-uncased"):
        _ = paper.resolve(shipped.model, shipped.tokenizer, FIGURE_4[0])
