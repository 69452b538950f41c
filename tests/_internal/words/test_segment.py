# ruff: noqa: RUF001 - letters of all scripts are meant
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnflow._internal.words import strip_span, word_spans

# Without deadlines: the first example of a law may pay for imports and caches.
law = settings(deadline=None)


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t\u3000", []),
        ("The key to the cabinets.", ["The", "key", "to", "the", "cabinets", "."]),
        ("don't l’homme rock 'n' roll'", ["don't", "l’homme", "rock", "'", "n", "'", "roll", "'"]),
        ("'tis dogs' a''b", ["'", "tis", "dogs", "'", "a", "'", "'", "b"]),
        ("snake_case __init__ x2", ["snake_case", "__init__", "x2"]),
        ("state-of-the-art", ["state", "-", "of", "-", "the", "-", "art"]),
        ("3.14€ (50%)", ["3", ".", "14", "€", "(", "50", "%", ")"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("が か\u3099 ﾊﾟ", ["が", "か\u3099", "ﾊﾟ"]),
        ("葛\U000e0100城", ["葛\U000e0100", "城"]),
        ("สวัสดีครับ नमस्ते 한국어", ["สวัสดีครับ", "नमस्ते", "한국어"]),
        ("cafe\u0301s naïve", ["cafe\u0301s", "naïve"]),
        ("می\u200cخواهم soft\u00adhyphen", ["می\u200cخواهم", "soft\u00adhyphen"]),
        ("zero\u200bwidth", ["zero", "\u200b", "width"]),
        ("a👍🏽b❤️🧑‍🚀", ["a", "👍🏽", "b", "❤️", "🧑‍🚀"]),
        ("👩‍👩‍👧👦 🏳️‍🌈 🙂‍↔️", ["👩‍👩‍👧", "👦", "🏳️‍🌈", "🙂‍↔️"]),
        ("🇫🇷🇩🇪🇮", ["🇫🇷", "🇩🇪", "🇮"]),
        ("🏴󠁧󠁢󠁥󠁮󠁧󠁿🩷🩷", ["🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🩷", "🩷"]),
        ("1️⃣ #️⃣", ["1️⃣", "#️⃣"]),
        ("\u0301 a\x00b", ["\u0301", "a", "\x00", "b"]),
    ],
)
def test_words_are_what_a_reader_would_say(text: str, expected: list[str]):
    assert words(text) == expected


@given(data=st.data())
@law
def test_every_character_that_is_not_space_is_in_exactly_one_word(
    texts: st.SearchStrategy[str], data: st.DataObject
):
    text = data.draw(texts)
    spans = word_spans(text)
    assert all(start < end for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    inside = {char for start, end in spans for char in range(start, end)}
    assert inside == {char for char, each in enumerate(text) if not each.isspace()}


@given(data=st.data())
@law
def test_no_word_ends_within_what_is_one_character_to_a_reader(
    texts: st.SearchStrategy[str], data: st.DataObject
):
    regex = pytest.importorskip("regex")  # knows Unicode's grapheme clusters
    text = data.draw(texts)
    ends = {end for span in word_spans(text) for end in span}
    for cluster in regex.finditer(r"\X", text):
        # Letters that Unicode puts before a base (Prepend) are rare and not known here; a cluster
        # may also be a space with a mark on it, which is not the space's.
        first = cluster[0][0]
        if not first.isspace() and not regex.match(r"\p{GCB=Prepend}", first):
            assert not ends & set(range(cluster.start() + 1, cluster.end()))


@pytest.mark.parametrize(
    ("span", "expected"),
    [((0, 6), (2, 5)), ((2, 5), (2, 5)), ((1, 4), (2, 3)), ((0, 2), (0, 2)), ((3, 3), (3, 3))],
)
def test_spans_lose_white_space_at_their_ends_only(
    span: tuple[int, int], expected: tuple[int, int]
):
    assert strip_span(span, " \u3000a b\n") == expected
