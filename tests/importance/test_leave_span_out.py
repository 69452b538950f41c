"""Words and phrases, all tokens of which are replaced."""

from typing import Any

import numpy as np
import pytest
import torch
from answering_models import TEXT, TEXTS, blank_out, leave_span_out, model_of, tokenizer

import attnflow as af
from attnflow import models

MODEL = model_of("bert")


def test_words_of_one_token_have_the_value_of_the_token():
    tokens, words = blank_out(MODEL, tokenizer(), TEXT), leave_span_out(MODEL, tokenizer(), TEXT)
    assert words.tokens == ("[CLS]", "the", "keys", "to", "the", "old", "cabinet", "[SEP]")
    single = [0, 1, 4, 5, 6, 7, 8]
    np.testing.assert_allclose(
        words.values[[0, 1, 3, 4, 5, 6, 7]], tokens.values[single], atol=1e-12
    )
    assert words.values[2] != pytest.approx(tokens.values[2] + tokens.values[3])


def test_words_are_the_columns_of_token_attention_by_words():
    attention: Any = models.attend(MODEL, tokenizer(), TEXT)
    assert (
        af.rollout(attention).to_words().tokens
        == leave_span_out(MODEL, tokenizer(), TEXT).tokens
        == blank_out(MODEL, tokenizer(), TEXT).to_words().tokens
    )


def test_a_phrase_is_replaced_as_a_whole():
    phrase = (TEXT.index("to"), len(TEXT))
    found = leave_span_out(MODEL, tokenizer(), TEXT, [phrase, (4, 8)], signed=True)
    assert found.tokens == ("to the old cabinet", "keys")
    assert found.origin is not None
    assert found.origin.spans == (phrase, (4, 8))
    assert found.origin.text == TEXT
    ids = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    rows = ids.repeat(3, 1)
    rows[1, 4:8] = rows[2, 2:4] = 1
    with torch.no_grad():
        p = MODEL(rows).logits.softmax(-1)[:, found.settings["target"]].numpy()
    np.testing.assert_allclose(found.values, p[0] - p[1:], rtol=1e-9)


def test_spans_may_overlap_and_come_in_any_order():
    found = leave_span_out(MODEL, tokenizer(), TEXT, [(9, 27), (4, 8), (4, 27)])
    assert found.tokens == ("to the old cabinet", "keys", "keys to the old cabinet")


def test_a_token_is_of_the_span_that_holds_half_of_it():
    whole, half = (leave_span_out(MODEL, tokenizer(), TEXT, [(4, end)]).values for end in (8, 6))
    assert not np.allclose(whole, half)  # key alone, without its s
    expected = blank_out(MODEL, tokenizer(), TEXT).values[[2]]
    np.testing.assert_allclose(half, expected, rtol=1e-9)


def test_texts_have_spans_of_their_own():
    found = leave_span_out(MODEL, tokenizer(), TEXTS[:2], [[(0, 3)], [(4, 7), (0, 3)]])
    assert [each.tokens for each in found] == [("the",), ("man", "the")]


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ("lines", "spans: expected 'words' or a list of .start, end., got 'lines'"),
        (7, "spans: expected 'words' or a list of .start, end., got 7"),
        ([], "spans is empty"),
        (
            [(3, 3)],
            r"span 0: expected \(start, end\) within the 27 characters of the text, got \(3, 3\)",
        ),
        ([(0, 3), (5, 99)], r"span 1: .*got \(5, 99\)"),
        ([(3, 4)], r"span 0, characters 3 to 4 ' ', contains no token"),
        ([(20, 21)], "less than half of each"),
        ([4, 8], r"span 0: expected \(start, end\) .* got 4"),
    ],
)
def test_spans_that_are_none_are_refused(spans: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = leave_span_out(MODEL, tokenizer(), TEXT, spans)


def test_lists_of_spans_are_as_many_as_texts():
    with pytest.raises(af.InputError, match="expected 2 lists, one for each text, got 1"):
        _ = leave_span_out(MODEL, tokenizer(), TEXTS[:2], [[(0, 3)]])


def test_ready_inputs_have_no_characters():
    with pytest.raises(af.InputError, match="since spans are characters, got dict"):
        _ = leave_span_out(MODEL, tokenizer(), {"input_ids": torch.ones(1, 3, dtype=torch.long)})
