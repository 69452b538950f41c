# ruff: noqa: RUF001 - letters of all scripts are meant
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import attnflow as af
from attnflow._internal.words import align, group_tokens, strip_span
from attnflow._internal.words._normalize import normalize

UNKNOWN = {"[UNK]", "<unk>"}

# Without deadlines: the first example of a law may pay for imports and caches.
law = settings(deadline=None)


def read(tokens: list[str], text: str, **settings: Any) -> list[str | None]:
    return [span and text[slice(*span)] for span in align(tokens, text, **settings)]


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        (["[CLS]", "un", "##able", "cafe", "[SEP]"], "Unable CAFÉ",
         [None, "Un", "able", "CAFÉ", None]),
        (["#", "##s", "##"], "#s ##", ["#", "s", "##"]),
        (["<s>", "ĠHello", "Ġworld", "Ċ", "</s>"], "Hello world\n",
         [None, "Hello", "world", "\n", None]),
        (["Ġ", "ĠðŁĳ", "į", "ðŁ", "ı½"], "  👍🏽", [" ", "👍", "👍", "🏽", "🏽"]),
        (["hello</w>", ",</w>", "ðŁĺ", "Ĭ</w>"], "Hello,  😊", ["Hello", ",", "😊", "😊"]),
        (["Ġa", "你好", "   ", "b"], "a你好   b", ["a", "你好", "   ", "b"]),
        (["▁", "▁The", "▁k", "ey", "s", "</s>"], " The keys", [" ", "The", "k", "ey", "s", None]),
        (["▁1", "⁄", "2", "▁f", "ine"], "½ ﬁne", ["½", "½", "½", "ﬁ", "ﬁne"]),
        (["▁", "<0xE2>", "<0x9C>", "<0x93>", "▁ok"], "✓ ok", ["", "✓", "✓", "✓", "ok"]),
        (["▁a", "▁b"], "a \n\u3000 b", ["a", "b"]),
        (["hel@@", "lo", "wor@@", "ld"], "hello world", ["hel", "lo", "wor", "ld"]),
        (["hello</w>", "wor", "ld</w>"], "hello world", ["hello", "wor", "ld"]),
        (["The", "key", "", "."], "The key.", ["The", "key", None, "."]),
        (["a", "b"], "a\u00adb\u0301\x00", ["a", "b"]),
        (["<|endoftext|>", "ab", "<|0.00|>", "c", "<pad>"], "abc", [None, "ab", None, "c", None]),
        ([], "", []),
    ],
)  # fmt: skip
def test_tokens_of_each_family_are_found(tokens: list[str], text: str, expected: list[str | None]):
    assert read(tokens, text) == expected


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        (["[CLS]", "a", "[MASK]", "[MASK]", "b", "[SEP]"], "a [MASK] [MASK] b",
         [None, "a", "[MASK]", "[MASK]", "b", None]),
        (["<s>", "<s>", "a", "</s>", "</s>"], "<s> a </s>", [None, "<s>", "a", "</s>", None]),
        (["<s>", "<", "s", ">"], "<s>", [None, "<", "s", ">"]),
    ],
)  # fmt: skip
def test_the_name_of_a_special_token_in_the_text_has_its_characters(
    tokens: list[str], text: str, expected: list[str | None]
):
    assert read(tokens, text) == expected


def test_special_tokens_can_be_named():
    assert read(["en_XX", "▁a", "<x>"], "a<x>", special=["en_XX"]) == [None, "a", "<x>"]
    with pytest.raises(af.InputError, match=r"token 0 \('en_XX'\) is not found at character 0"):
        _ = align(["en_XX", "▁a"], "a")


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        (["[CLS]", "a", "[UNK]", "b", "[SEP]"], "a ∰x b", [None, "a", "∰x", "b", None]),
        (["[UNK]", "e", "[UNK]"], "∰ e ∯", ["∰", "e", "∯"]),
        (["[UNK]", "e"], "∰e e", ["∰e", "e"]),  # the last token is at the end of the text
        (["▁", "<unk>", "▁e", "a"], "∰e ea", ["", "∰e", "e", "a"]),  # after a space
        (["▁", "<unk>", "▁", "<unk>"], "東京 大阪", ["", "東京", " ", "大阪"]),
        (["a", "[UNK]", "[UNK]", "b"], "a ∰ ∯ b", ["a", "∰", "∯", "b"]),
        (["a", "[UNK]", "[UNK]", "b"], "a ∰∯ b", ["a", "∰∯", "∰∯", "b"]),
        (["[UNK]", "[SEP]", "[UNK]", "[SEP]"], "∰ ∯", ["∰", None, "∯", None]),
        (["[UNK]", "[MASK]"], "∰ [MASK]", ["∰", "[MASK]"]),
        (["g", "[UNK]"], "ġ\u0323∰", ["ġ", "∰"]),
        (["▁g", "<unk>"], "g\u0323", ["g", "\u0323"]),
        (["▁1", "<unk>", "4", "▁", "<unk>"], "¼ ¨", ["¼", "¼", "¼", " ", "¨"]),
    ],
)
def test_unknown_tokens_take_what_is_between_their_neighbours(
    tokens: list[str], text: str, expected: list[str | None]
):
    assert read(tokens, text) == expected


def test_a_truncated_text_may_go_on():
    assert read(["a", "b"], "a bc d", truncated=True) == ["a", "b"]
    assert read(["a", "[UNK]"], "a ∰c d", truncated=True) == ["a", "∰c"]
    assert read(["a", "[UNK]", "[UNK]"], "a ∰ d e", truncated=True) == ["a", "∰ d", "∰ d"]
    with pytest.raises(
        af.InputError, match=r"continues at character 3 \('c d'\) after the last tok"
    ):
        _ = align(["a", "b"], "a bc d")


@pytest.mark.parametrize(
    ("tokens", "text", "message"),
    [
        (
            ["a", "b"],
            "a c",
            r"token 1 \('b'\) is not found at character 1 \(' c'\)\. Pass the text",
        ),
        (["Ġa", "Ġb"], "a", r"token 1 \('Ġb'\) is not found before the end of the text"),
        (["▁the", "▁dog"], "the cat sat", r"token 1 \('▁dog'\) is not found at character 4"),
        (["a", "[UNK]"], "a ", r"token 1 \('\[UNK\]'\) is not found at character 1"),
        (["[UNK]", "b"], "a c", r"token 1 \('b'\) is not found at character 0"),
        (["[CLS]"], "a", r"continues at character 0 \('a'\)"),
        (["ðŁĺ"], "😊", r"token 0 \('ðŁĺ'\) is not found at character 0"),
    ],
)
def test_what_is_not_in_the_text_is_refused_with_its_place(
    tokens: list[str], text: str, message: str
):
    with pytest.raises(af.InputError, match=message):
        _ = align(tokens, text)


@pytest.mark.slow
def test_no_form_of_a_character_makes_a_difference():
    forms: list[Callable[[str], str]] = [
        str.lower,
        lambda char: unicodedata.normalize("NFC", char),
        lambda char: unicodedata.normalize("NFKC", char),
        lambda char: unicodedata.normalize("NFD", char),
        lambda char: unicodedata.normalize("NFKC", char).lower(),
        lambda char: unicodedata.normalize("NFKC", char.lower()),
    ]

    def letters(text: str) -> list[str]:
        return [char for char, _ in normalize(text) if char != " "]

    others = 0
    for char in map(chr, range(0x110000)):
        changed = {form(char) for form in forms} - {char}
        others += len(changed)
        for other in changed:
            assert letters(other) == letters(char), hex(ord(char))
    assert others > 15_000  # the loop has seen them


@given(data=st.data())
@law
def test_spans_are_those_of_the_tokenizer(
    encode: Callable[[str], Any], texts: st.SearchStrategy[str], data: st.DataObject
):
    # Tokenizers that compose letters give the first character alone as their place, so the text is
    # composed beforehand.
    text = unicodedata.normalize("NFKC", data.draw(texts))
    tokens, own = encode(text)
    _ = assume(not UNKNOWN & set(tokens))
    for token, span, found in zip(tokens, own, align(tokens, text), strict=True):
        if span is None or found is None:
            assert span == found
        elif token in ("▁", "Ġ", "\n") or not text[slice(*span)].replace("▁", "").strip():
            # A space that was put there, cut away or made one with others; SentencePiece's mark is
            # one too, also where it stands in the text.
            assert not text[slice(*found)].replace("▁", "").strip()
        elif token.startswith("<0x"):
            # Bytes next to each other may have the place of all of them together.
            assert span[0] <= found[0] < found[1] <= span[1]
        else:
            assert found == strip_span(span, text)


@given(data=st.data())
@law
def test_words_are_found_whatever_is_unknown(
    encode: Callable[[str], Any], texts: st.SearchStrategy[str], data: st.DataObject
):
    text = data.draw(texts)
    tokens, own = encode(text)
    spans = align(tokens, text)
    assert [span is None for span in spans] == [span is None for span in own]
    for token, span in zip(tokens, spans, strict=True):
        if token in UNKNOWN:
            assert span
            assert text[slice(*span)].strip()
    assert sum(len(word.pieces) for word in group_tokens(spans, text)) == len(tokens)
