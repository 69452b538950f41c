import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnflow as af
from attnflow._internal.words import group_tokens, strip_span

# Without deadlines: the first example of a law may pay for imports and caches.
law = settings(deadline=None)


def read(spans: list[Any], text: str) -> list[tuple[str | None, tuple[int, ...]]]:
    return [(w.span and text[slice(*w.span)], w.pieces) for w in group_tokens(spans, text)]


def test_pieces_make_words_and_special_tokens_stay_separate():
    spans = [None, (0, 2), (2, 3), (3, 5), (6, 9), (9, 10), None, None]
    assert read(spans, "don't ask.") == [
        (None, (0,)),
        ("don't", (1, 2, 3)),
        ("ask", (4,)),
        (".", (5,)),
        (None, (6,)),
        (None, (7,)),
    ]


def test_words_that_share_a_token_are_joined():
    assert read([(0, 3), (3, 6), (6, 7), (8, 11)], "New-York, is") == [
        ("New", (0,)),
        ("-York", (1, 2)),
        (", is", (3,)),
    ]


def test_pieces_of_one_character_go_together():
    assert read([(0, 2), (1, 2), (2, 3), (2, 3)], " 👍🏽") == [("👍🏽", (0, 1, 2, 3))]


def test_a_word_is_complete_although_tokens_cover_a_part_of_it():
    assert read([(0, 4)], "playing on") == [("playing", (0,))]


def test_white_space_stays_separate_except_for_pieces_of_one_character():
    spans = [(0, 1), (1, 2), (2, 4), (4, 5), (4, 5), (5, 6)]
    assert read(spans, "a \n\n\u3000b") == [
        ("a", (0,)),
        (" ", (1,)),
        ("\n\n", (2,)),
        ("\u3000", (3, 4)),
        ("b", (5,)),
    ]


@pytest.mark.parametrize(
    ("at", "text", "expected"),
    [
        (0, "ab cd", ("ab", (0, 1))),  # a mark put before the text
        (3, "ab cd", (" ", (0,))),  # a space of which the width was taken
        (2, "ab cd", ("ab", (0,))),
        (1, "ab cd", ("ab", (0,))),
        (0, " ", (None, (0,))),
        (0, "", (None, (0,))),
    ],
)
def test_a_token_of_no_width_goes_with_what_it_touches(
    at: int, text: str, expected: tuple[str | None, tuple[int, ...]]
):
    spans = [(at, at), (at, at + 1)] if at == 0 and text.strip() else [(at, at)]
    assert read(spans, text)[0] == expected


def test_spans_of_another_text_are_refused():
    with pytest.raises(af.InputError, match=r"token 1 has characters \(2, 4\), but the text"):
        _ = group_tokens([None, (2, 4)], "abc")
    with pytest.raises(af.InputError, match=r"left to right, got \(0, 1\) for token 2"):
        _ = group_tokens([(0, 1), (2, 3), (0, 1)], "a b")


@given(data=st.data())
@law
def test_words_are_parts_of_the_text_that_hold_all_that_tokens_do(
    encode: Callable[[str], Any], texts: st.SearchStrategy[str], data: st.DataObject
):
    text = data.draw(texts)
    tokens, spans = encode(text)
    words = group_tokens(spans, text)

    assert sorted(piece for word in words for piece in word.pieces) == list(range(len(tokens)))
    assert [word.pieces[0] for word in words] == sorted(word.pieces[0] for word in words)
    places = [word.span for word in words if word.span]
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    held = [char for start, end in places for char in range(start, end)]
    assert len(held) == len(set(held))
    for word in words:
        mine = [spans[piece] for piece in word.pieces]
        if word.span is None:
            assert len(mine) == 1
            assert mine[0] is None or not text[: mine[0][1]].strip()
            continue
        assert None not in mine
        start, end = word.span
        assert text[start:end].strip() == text[start:end] or not text[start:end].strip()
        for each in mine:
            first, last = strip_span(each, text)
            assert first == last or start <= first < last <= end
