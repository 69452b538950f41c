"""The text behind the tokens, counted as JavaScript counts."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import attnflow as af
from attnflow.view._text import in_utf16, text_parts

# Letters of one, two and three bytes, marks, and characters of two UTF-16 units.
WORDS = st.text(alphabet="aé語\u0301😀🏽𝄞", min_size=1, max_size=4)


def _units(text: str, span: Sequence[int]) -> str:
    """A slice of a text as JavaScript cuts it."""
    both = text.encode("utf-16-le")
    return both[2 * span[0] : 2 * span[1]].decode("utf-16-le")


@given(st.lists(WORDS, min_size=1, max_size=6))
def test_spans_cut_the_same_characters_out_of_utf_16(words: list[str]) -> None:
    text = " ".join(words)
    starts = [len(" ".join(words[:place])) + (place > 0) for place in range(len(words))]
    spans = [(start, start + len(word)) for start, word in zip(starts, words, strict=True)]
    *found, last = in_utf16([*spans, None], text)
    assert last is None
    for word, span in zip(words, found, strict=True):
        assert span is not None
        assert _units(text, span) == word


def test_half_characters_are_one_unit_each() -> None:
    assert in_utf16([(0, 1), (1, 2), None], "\ud83da") == [[0, 1], [1, 2], None]


def test_words_are_those_of_the_scores() -> None:
    origin = af.Origin(spans=(None, (0, 2), (2, 5), (6, 7), None), text="Hello 😀")
    tokens = ["[CLS]", "he", "##llo", "[UNK]", "[SEP]"]
    weights = [[[[0.2] * 5] * 5]]
    scores = af.rollout(af.Attention(weights, tokens, origin=origin))
    found = text_parts(tokens, origin)
    assert tuple(found["words"]["names"]) == scores.to_words().tokens
    assert found["words"]["pieces"] == [[0], [1, 2], [3], [4]]
    assert found["spans"] == [None, [0, 2], [2, 5], [6, 8], None]


def test_tokens_without_spans_are_looked_up_in_the_text() -> None:
    found = text_parts(["the", "key", "##s"], af.Origin(text="The keys"))
    assert found["spans"] == [[0, 3], [4, 7], [7, 8]]


@pytest.mark.parametrize(
    "origin",
    [
        None,
        af.Origin(generated=1),
        af.Origin(spans=((0, 1), (1, 2))),
    ],
)
def test_without_a_text_there_are_no_words(origin: af.Origin | None) -> None:
    assert text_parts(["a", "b"], origin) == {"text": None, "spans": None, "words": None}


@pytest.mark.parametrize(
    "origin",
    [
        af.Origin(spans=((2, 3), (0, 1)), text="a b"),  # from right to left
        af.Origin(spans=((0, 1), (1, 3)), text="ab"),  # beyond the end
        af.Origin(text="something else"),
    ],
)
def test_tokens_that_do_not_lie_in_the_text_leave_the_text_alone(origin: af.Origin) -> None:
    assert text_parts(["a", "b"], origin) == {"text": origin.text, "spans": None, "words": None}
