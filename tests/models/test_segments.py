"""Segments of a rollout: columns that stand for words, lines, texts, spans or regions."""

from typing import Any

import numpy as np
import pytest
from small_models import attend, inputs_for, new_model, rollout_one, rollout_segments, small_model
from small_tokenizers import InPython, byte_level, metaspace, tokenizer_for, word_piece

import attnflow as af
from attnflow import models
from close_results import assert_close

TEXT = "The cat's key,\n\nold man: night\n  sat on the mat.  \n"
FAMILIES = ["bert", "deberta", "gpt2", "gemma2", "mistral"]


def test_rollout_in_the_pass_has_a_name_of_its_own():
    assert models.rollout_segments.__name__ == "rollout_segments"
    assert not hasattr(models, "rollout")


def summed(tokens: Any, labels: list[int]) -> np.ndarray:
    """Scores of the matrix path, with the columns of each segment added up."""
    assert tokens.scores.shape[2] == len(labels)
    columns = [
        tokens.scores[:, :, np.array(labels) == each].sum(axis=2) for each in range(max(labels) + 1)
    ]
    return np.stack(columns, axis=2)


def labels_of(origin: Any, spans: list[tuple[int, int]]) -> list[int]:
    """For each token the segment that has its first character; the last one for none."""
    return [
        next(
            (n for n, (start, end) in enumerate(spans) if span and start <= span[0] < end),
            len(spans),
        )
        for span in origin.spans
    ]


@pytest.mark.parametrize("residual", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("family", FAMILIES)
def test_segments_are_sums_of_the_columns_of_their_tokens(family: str, residual: float):
    model, tokenizer = small_model(family), tokenizer_for(family)
    attention = attend(model, tokenizer, TEXT)
    tokens = af.rollout(attention.graph(residual=residual))
    lines = [(0, 14), (16, 30), (31, 48)]
    given = [(33, 48), (4, 9)]
    cases: list[tuple[Any, list[tuple[int, int]], list[str]]] = [
        ("lines", lines, ["The cat's key,", "old man: night", "sat on the mat."]),
        (given, given, ["sat on the mat.", "cat's"]),
    ]
    for segments, spans, names in cases:
        found = rollout_segments(model, tokenizer, TEXT, segments=segments, residual=residual)
        assert found.tokens == (*names, "[rest]")
        labels = labels_of(attention.origin, spans)
        np.testing.assert_allclose(found.scores, summed(tokens, labels), rtol=0, atol=1e-5)
        np.testing.assert_allclose(found.scores.sum(axis=-1), 1, rtol=0, atol=1e-5)
        assert found.origin is None
        assert found.queries == tuple(range(attention.n_tokens))


@pytest.mark.parametrize("tokenizer", [word_piece, byte_level, metaspace, InPython])
def test_words_are_those_of_the_text_whatever_the_tokenizer(tokenizer: Any):
    model = small_model("bert")
    found = rollout_segments(model, tokenizer(), "The old man's night", segments="words")
    assert found.tokens[:4] == ("The", "old", "man's", "night")
    attention = attend(model, tokenizer(), "The old man's night")
    spans = [(0, 3), (4, 7), (8, 13), (14, 19)]
    labels = labels_of(attention.origin, spans)
    expected = summed(af.rollout(attention), labels)
    np.testing.assert_allclose(found.scores, expected, rtol=0, atol=1e-5)


def test_words_are_the_words_of_to_words():
    model, tokenizer = small_model("bert"), word_piece()
    merged = rollout_segments(model, tokenizer, TEXT).to_words(TEXT)
    found = rollout_segments(model, tokenizer, TEXT, segments="words")
    assert found.tokens == (*merged.tokens[1:-1], "[rest]")
    # Rows of `to_words` are words as well: those of the special tokens are the same in both.
    np.testing.assert_allclose(
        found.scores[:, 0, :-1], merged.scores[:, 0, 1:-1], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_list_of_texts_is_one_prompt(family: str):
    model, tokenizer = small_model(family), tokenizer_for(family)
    texts = ["The old man.", "The cat sat", "on the mat"]
    found = rollout_segments(model, tokenizer, texts, segments="texts")
    assert found.tokens[:3] == tuple(texts)
    spans = rollout_segments(
        model, tokenizer, "\n".join(texts), segments=[(0, 12), (13, 24), (25, 35)]
    )
    np.testing.assert_allclose(found.scores, spans.scores, rtol=0, atol=1e-6)


def test_a_list_of_lists_of_texts_is_a_batch_of_prompts():
    model, tokenizer = small_model("bert"), word_piece()
    prompts = [["The old man.", "The cat"], ["on", "the", "mat"]]
    batch = rollout_segments(model, tokenizer, prompts, segments="texts")
    assert [each.tokens for each in batch] == [
        ("The old man.", "The cat", "[rest]"),
        ("on", "the", "mat", "[rest]"),
    ]
    for mine, prompt in zip(batch, prompts, strict=True):
        alone = rollout_segments(model, tokenizer, prompt, segments="texts")
        np.testing.assert_allclose(mine.scores, alone.scores, rtol=0, atol=1e-5)


def test_several_texts_have_spans_of_their_own():
    model, tokenizer = small_model("bert"), word_piece()
    texts = ["the cat", "the old man"]
    segments = [[(0, 3), (4, 7)], [(4, 11)]]
    batch = rollout_segments(model, tokenizer, texts, segments=segments)
    assert [each.tokens for each in batch] == [("the", "cat", "[rest]"), ("old man", "[rest]")]
    for mine, text, spans in zip(batch, texts, segments, strict=True):
        alone = rollout_segments(model, tokenizer, text, segments=spans)
        np.testing.assert_allclose(mine.scores, alone.scores, rtol=0, atol=1e-5)
    with pytest.raises(af.InputError, match="expected 3 lists, one for each input, got 2"):
        _ = rollout_segments(model, tokenizer, [*texts, "on"], segments=segments)


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_segments_of_a_pair_run_over_source_and_target(family: str):
    model, tokenizer = small_model(family), metaspace()
    found = rollout_segments(
        model, tokenizer, "the cat sat", text_target="the key", segments="lines"
    )
    assert found.tokens == ("the cat sat", "the key", "[rest]")
    attention = attend(model, tokenizer, "the cat sat", text_target="the key")
    labels = labels_of(attention.origin, [(0, 11), (12, 19)])
    expected = summed(af.rollout(attention), labels)
    np.testing.assert_allclose(found.scores, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", ["vit", "deit", "dinov2-with-registers"])
def test_regions_of_an_image_are_sums_of_their_patches(family: str):
    model, inputs = small_model(family), inputs_for(family, batch=2)
    regions = np.array([[7, 7, -1, 0], [7, 7, 0, 0], [3, 3, 3, 3], [-1, 3, 3, -1]])
    found = rollout_segments(model, None, inputs, segments=regions)
    assert len(found) == 2
    for mine, attention in zip(found, attend(model, None, inputs), strict=True):
        assert mine.tokens == ("region 0", "region 3", "region 7", "[rest]")
        numbers = {0: 0, 3: 1, 7: 2, -1: 3}
        prefix = attention.origin.grid.prefix
        labels = [3] * prefix + [numbers[int(each)] for each in regions.ravel()]
        expected = summed(af.rollout(attention), labels)
        np.testing.assert_allclose(mine.scores, expected, rtol=0, atol=1e-5)


def test_a_token_belongs_to_the_segment_that_holds_most_of_it():
    model, tokenizer = small_model("bert"), InPython()
    attention = attend(model, tokenizer, "the cat")
    assert attention.origin.spans == (None, (0, 3), (4, 7), None)
    found = rollout_segments(model, tokenizer, "the cat", segments=[(0, 5), (5, 7)])
    tokens = af.rollout(attention)
    np.testing.assert_allclose(found.scores, summed(tokens, [2, 0, 1, 2]), rtol=0, atol=1e-5)


def test_words_and_lines_after_the_cut_are_left_out():
    model = new_model("bert", positions=8)
    found = rollout_segments(
        model, word_piece(), "the cat\nsat on the mat\nold man", segments="lines", truncate=True
    )
    assert found.tokens == ("the cat", "sat on the mat", "[rest]")
    found = rollout_segments(
        model, word_piece(), "the cat sat on the mat old", segments="words", truncate=True
    )
    assert found.tokens == ("the", "cat", "sat", "on", "the", "mat", "[rest]")


def test_characters_that_the_tokenizer_drops_make_no_word():
    # BERT's normaliser leaves control characters out.
    found = rollout_segments(small_model("bert"), word_piece(), "the \x07 cat", segments="words")
    assert found.tokens == ("the", "cat", "[rest]")


def test_long_names_are_cut_short():
    text = "the cat sat on the mat and " * 2
    found = rollout_segments(small_model("bert"), word_piece(), text, segments="lines")
    assert found.tokens[0] == "the cat sat on the mat and the cat sat …"


def test_settings_are_enough_to_compute_a_result_again():
    model, tokenizer = small_model("bert"), word_piece()
    spans = np.array([(4, 7), (0, 3)])
    found = rollout_segments(model, tokenizer, "the cat", segments=spans, residual=0.3)
    assert found.settings == {
        "heads": "mean", "residual": 0.3, "discard_ratio": 0.0, "head": None, "onto": 0,
        "segments": ((4, 7), (0, 3)),
    }  # fmt: skip
    again = {name: found.settings[name] for name in ("segments", "residual")}
    assert_close(rollout_segments(model, tokenizer, "the cat", **again), found)
    words = rollout_segments(model, tokenizer, "the cat", segments="words")
    assert words.settings["segments"] == "words"
    texts = rollout_segments(model, tokenizer, ["the cat", "sat"], segments="texts")
    assert texts.settings["segments"] == "texts"
    assert texts.settings["spans"] == ((0, 7), (8, 11))


def test_settings_hold_the_regions_of_an_image():
    regions = np.arange(16).reshape(4, 4) // 8
    found = rollout_one(small_model("vit"), None, inputs_for("vit"), segments=regions)
    again: Any = found.settings["segments"]
    assert np.array_equal(again, regions)
    assert_close(rollout_one(small_model("vit"), None, inputs_for("vit"), segments=again), found)


def test_segments_do_not_pass_for_tokens():
    model, tokenizer = small_model("bert"), word_piece()
    found = rollout_segments(model, tokenizer, "the cat sat", segments="words", queries=range(4))
    assert found.queries == tuple(range(len(found.tokens)))
    with pytest.raises(af.InputError, match="to make words of, got scores of segments"):
        _ = found.to_words("the cat sat")
    assert "<th>0</th>" in found._repr_html_()


# ---- segments that do not fit ----------------------------------------------------------------

WRONG: list[tuple[Any, str]] = [
    ("sentences", r"segments: expected tokens, words, lines or texts, .* got 'sentences'"),
    ([(0, 3), (2, 5)], r"must not overlap, got segment 0 \(0, 3\) and segment 1 \(2, 5\)"),
    ([(4, 6), (0, 5)], r"must not overlap, got segment 1 \(0, 5\) and segment 0 \(4, 6\)"),
    ([(0, 8)], r"segment 0: expected a span .* within the 7 characters of the text, got \(0, 8\)"),
    ([(-1, 2)], r"segment 0: expected a span .* got \(-1, 2\)"),
    ([(3, 3)], r"segment 0: expected a span .* got \(3, 3\)"),
    ([(5, 3)], r"segment 0: expected a span .* got \(5, 3\)"),
    ([(0, 3, 4)], r"segment 0: expected a span .* got \(0, 3, 4\)"),
    ([(0.5, 3)], r"segment 0 must be integers, got \(0.5, 3\)"),
    ([3], r"segment 0: expected a span .* got 3"),
    (["the"], r"segment 0 must be integers, got 'the'"),
    ([], r"segments: expected at least one span"),
    (5, r"segments: expected a list of character spans, got 5"),
    (np.array(5), r"segments: expected a list of character spans, got array\(5\)"),
    (None, r"segments: expected a list of character spans, got None"),
    ([(3, 4)], r"segment 0 \(3, 4\) '' contains no token"),
    ("texts", r'segments="texts" needs a list of the texts of a prompt, got'),
]


@pytest.mark.parametrize(("segments", "message"), WRONG)
def test_segments_that_do_not_fit_are_refused(segments: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = rollout_segments(small_model("bert"), word_piece(), "the cat", segments=segments)


def test_a_segment_after_the_cut_is_refused():
    model = new_model("bert", positions=5)
    text = "the cat sat on the mat"
    with pytest.raises(
        af.InputError, match=r"segment 1 \(12, 22\) 'on the mat' contains no token. If"
    ):
        _ = rollout_segments(model, word_piece(), text, segments=[(0, 3), (12, 22)], truncate=True)
    with pytest.raises(af.InputError, match="'on the mat' contains no token"):
        _ = rollout_segments(
            model, word_piece(), ["the cat sat", "on the mat"], segments="texts", truncate=True
        )


def test_an_empty_text_among_texts_is_refused():
    for texts in (["the cat", "", "sat"], [["sat"], ["the cat", "  "]], ["the cat", 3]):
        with pytest.raises(af.InputError, match=r"expected texts .*, got ('  '|''|3)"):
            _ = rollout_segments(small_model("bert"), word_piece(), texts, segments="texts")
    with pytest.raises(af.InputError, match="needs a list of the texts of a prompt"):
        _ = rollout_segments(small_model("bert"), word_piece(), [], segments="texts")


@pytest.mark.parametrize(
    "texts", [[["the cat", "sat"], "mat"], ["mat", ["the cat", "sat"]], [["the cat"], []], [[]]]
)
def test_texts_and_lists_of_texts_do_not_mix(texts: Any):
    with pytest.raises(af.InputError, match="got texts and lists, or an empty list"):
        _ = rollout_segments(small_model("bert"), word_piece(), texts, segments="texts")


@pytest.mark.parametrize("texts", [[None], [["the cat"], [None]], ["the cat", b"sat"]])
def test_what_is_no_text_is_refused_among_texts(texts: Any):
    with pytest.raises(af.InputError, match=r"expected texts .*, got (None|b'sat')"):
        _ = rollout_segments(small_model("bert"), word_piece(), texts, segments="texts")


@pytest.mark.parametrize("segments", ["words", "lines", [(0, 3)]])
def test_segments_of_a_text_do_not_go_with_ready_inputs(segments: Any):
    with pytest.raises(af.InputError, match="which are unknown for tensors"):
        _ = rollout_segments(
            small_model("bert"), word_piece(), inputs_for("bert"), segments=segments
        )


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        (np.zeros((4, 5), dtype=int), r"of shape \(4, 4\), .* got int64 of shape \(4, 5\)"),
        (np.zeros((4, 4)), r"segments: expected integers .* got float64 of shape \(4, 4\)"),
        (np.zeros(16, dtype=int), r"shape \(16,\)"),
        (np.full((4, 4), -1), r"segments: expected a region"),
        ([(0, 3)], r"segments: expected integers .* of shape \(1, 2\)"),
    ],
)
def test_regions_that_do_not_fit_the_image_are_refused(regions: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = rollout_segments(small_model("vit"), None, inputs_for("vit"), segments=regions)


@pytest.mark.parametrize("segments", ["words", "lines"])
def test_an_image_has_no_words(segments: str):
    with pytest.raises(af.InputError, match="need the character spans of the tokens"):
        _ = rollout_segments(small_model("vit"), None, inputs_for("vit"), segments=segments)
