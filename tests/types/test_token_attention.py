import copy
import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnflow as af


def token_attention(**changes: Any) -> af.TokenAttention:
    fields: dict[str, Any] = {
        "scores": np.arange(12.0).reshape(2, 2, 3),
        "tokens": ["<s>", "b", "c"],
        "layers": [6, 1],
        "queries": (4, 0),
        "method": "flow",
        "settings": {"onto": 0, "heads": "mean", "head": None},
        "saturated": [True, False],
    }
    return af.TokenAttention(**(fields | changes))


def test_fields_are_kept_in_plain_types():
    t = token_attention(layers=np.array([6, 1]), saturated=np.array([True, False]))
    assert t.layers == (6, 1)
    assert type(t.layers[0]) is int
    assert t.saturated == (True, False)
    assert type(t.saturated[0]) is bool
    assert t.settings == {"onto": 0, "heads": "mean", "head": None}
    assert repr(t) == "TokenAttention('flow', layers=2, queries=2, tokens=3)"


def test_scores_are_float64_and_read_only():
    t = token_attention(scores=np.ones((2, 2, 3), dtype=np.float32))
    assert t.scores.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        t.scores[0, 0, 0] = 1.0


def test_a_result_that_is_read_only_is_not_copied():
    scores = np.zeros((2, 2, 3))
    scores.setflags(write=False)
    assert token_attention(scores=scores).scores is scores


def test_without_marks_nothing_is_saturated():
    assert token_attention(saturated=None).saturated == (False, False)


def test_a_row_is_found_by_layer_and_query():
    t = token_attention()
    assert t.row(6, 0).tolist() == [3, 4, 5]
    assert t.row(1, 4).tolist() == [6, 7, 8]
    with pytest.raises(af.InputError, match=r"layer 2 was not computed; expected one of 6, 1$"):
        _ = t.row(2, 0)
    with pytest.raises(af.InputError, match=r"query 1 was not computed; expected one of 4, 0$"):
        _ = t.row(6, 1)


@pytest.mark.parametrize("wrong", ["<s>", None, 0.0, np.array([0, 4])], ids=repr)
def test_a_row_is_found_by_numbers_alone(wrong: Any):
    with pytest.raises(af.InputError, match=r"query must be an integer, got"):
        _ = token_attention().row(6, wrong)
    with pytest.raises(af.InputError, match=r"layer must be an integer, got"):
        _ = token_attention().row(wrong, 0)
    numpys: Any = np.int8(0)
    assert token_attention().row(6, numpys).tolist() == [3, 4, 5]


def test_a_long_list_of_queries_is_cut_short():
    t = af.TokenAttention(np.ones((1, 50, 1)), ["a"], [1], range(50), "rollout")
    with pytest.raises(af.InputError, match=r"expected one of 0, 1, 2, …, 49$"):
        _ = t.row(1, 50)


def test_normalized_rows_sum_to_one_and_zeros_stay_zero():
    scores = np.arange(12.0).reshape(2, 2, 3)
    scores[1, 0] = 0.0
    t = token_attention(scores=scores).normalized()
    assert np.allclose(t.scores.sum(-1), [[1, 1], [0, 1]], rtol=1e-15)
    assert np.allclose(t.scores[0, 1], [3 / 12, 4 / 12, 5 / 12], rtol=1e-15)
    assert t.settings["normalized"] is True
    assert t.saturated == (True, False)
    assert not t.scores.flags.writeable


@pytest.mark.parametrize("scale", [1e308, 2.0, 5e-324])
def test_scores_of_any_finite_size_are_normalized(scale: float):
    t = token_attention(scores=np.full((2, 2, 3), scale))
    assert np.allclose(t.normalized().scores, 1 / 3, rtol=1e-15)


def test_normalized_scores_are_the_quotients_to_the_last_bit():
    scores = np.random.default_rng(0).random((2, 2, 3))
    expected = scores / scores.sum(-1, keepdims=True)
    assert np.array_equal(token_attention(scores=scores).normalized().scores, expected)


def test_an_infinite_score_cannot_be_normalised():
    scores = np.ones((2, 2, 3))
    scores[0, 1, 2] = np.inf
    t = token_attention(scores=scores)
    with pytest.raises(af.InputError, match="layer 6, query 0 has an infinite score"):
        _ = t.normalized()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"scores": np.ones((2, 3))},
            r"expected 3 axes \(layer, query, token\), none empty, got shape \(2, 3\)",
        ),
        ({"scores": np.ones((2, 0, 3))}, "none empty, got"),
        (
            {"scores": np.full((2, 2, 3), np.nan)},
            r"scores must be 0 or more, got scores\[0, 0, 0\] = nan",
        ),
        ({"scores": -np.eye(3)[None, :2].repeat(2, 0)}, r"scores\[0, 0, 0\] = -1.0"),
        ({"tokens": ["a"]}, "tokens: expected 3, one per position, got 1"),
        ({"layers": [1]}, "there are 1 layers, 2 queries"),
        ({"queries": [0, 1, 2]}, "2 layers, 3 queries"),
        ({"saturated": [True]}, "1 values of saturated"),
        ({"layers": [0, 1]}, r"layers must be 1 or more .* got \(0, 1\)"),
        ({"queries": [-1, 0]}, r"queries 0 or more, got \(6, 1\) and \(-1, 0\)"),
        ({"layers": [1.5, 2]}, "layers must be integers, got .*"),
        ({"method": "product"}, "method must be one of raw, rollout, flow, got 'product'"),
        ({"settings": {"x": {1, 2}}}, "cannot be written as JSON"),
    ],
)
def test_fields_that_do_not_fit_are_refused(changes: dict[str, Any], message: str):
    with pytest.raises(af.InputError, match=message):
        _ = token_attention(**changes)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_file_gives_back_the_result(tmp_path: Path, suffix: str):
    scores = np.random.default_rng(0).random((2, 2, 3))
    scores[0, 0, 0] = np.inf
    t = token_attention(scores=scores)
    path = tmp_path / f"t{suffix}"
    t.save(path)
    assert af.TokenAttention.load(path) == t


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_file_gives_back_a_result_without_settings(tmp_path: Path, suffix: str):
    t = af.TokenAttention([[[1.0]]], ["a"], [1], [0], "raw")
    t.save(tmp_path / f"t{suffix}")
    assert af.TokenAttention.load(tmp_path / f"t{suffix}") == t


def test_the_error_about_an_incomplete_file_does_not_name_its_own_type(tmp_path: Path):
    np.savez(tmp_path / "t.npz", scores=np.ones((1, 1, 1)))
    with pytest.raises(af.InputError, match="Check that it is the right file"):
        _ = af.TokenAttention.load(tmp_path / "t.npz")


def test_a_result_file_holds_the_promised_arrays(tmp_path: Path):
    token_attention().save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz", allow_pickle=False) as file:
        assert set(file.files) == {
            "scores",
            "layers",
            "queries",
            "tokens",
            "method",
            "settings",
            "saturated",
        }
        assert file["layers"].tolist() == [6, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settings": np.array("{")}, "settings must be JSON text, got '{'"),
        ({"settings": np.array("[]x")}, "settings must be JSON text"),
        ({"method": np.array("sum")}, r"t\.npz: method must be one of .*, got 'sum'"),
        ({"method": np.array([1, 2])}, r"t\.npz: method must be one of .*, got array"),
        ({"tokens": np.array([1, 2, 3])}, r"t\.npz: tokens must be strings, got"),
        ({"scores": np.array("x")}, r"t\.npz: scores: expected numbers, got values of type str"),
    ],
)
def test_a_file_with_other_contents_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
):
    path = tmp_path / "t.npz"
    token_attention().save(path)
    with np.load(path, allow_pickle=False) as file:
        arrays = {**file}
    np.savez(path, **(arrays | changes))
    with pytest.raises(af.InputError, match=message):
        _ = af.TokenAttention.load(path)


def test_copies_are_equal_and_read_only():
    t = token_attention()
    for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):  # noqa: S301
        assert other == t
        assert hash(other) == hash(t)
        assert not other.scores.flags.writeable
    assert t != token_attention(method="rollout")
    assert t != token_attention(scores=np.ones((2, 2, 3)))
    assert t != "result"


def test_the_notebook_table_is_small_and_escaped():
    html = token_attention()._repr_html_()
    assert "&lt;s&gt;" in html
    assert "<s>" not in html
    many = af.TokenAttention(np.ones((1, 50, 60)), map(str, range(60)), [1], range(50), "rollout")
    assert many._repr_html_().count("<tr>") == 12  # names, ten queries, and "…"
    assert len(many._repr_html_()) < 4000


@pytest.mark.parametrize(
    ("changes", "heading"),
    [
        ({}, "<th>0 &lt;s&gt;</th>"),
        ({"tokens": ["0", "1"]}, "<th>0</th>"),
        ({"settings": {"onto": 1}}, "<th>0</th>"),
        ({"queries": [1, 0]}, "<th>0</th>"),
        ({"settings": {"segments": "words"}}, "<th>0</th>"),
        ({"settings": {"segments": "tokens"}}, "<th>0 &lt;s&gt;</th>"),
        ({"scores": np.ones((2, 1, 2)), "queries": [0]}, "<th>0</th>"),
    ],
)
def test_the_notebook_table_names_queries_that_are_the_tokens(
    changes: dict[str, Any], heading: str
):
    fields = {"scores": np.ones((2, 2, 2)), "tokens": ["<s>", "b"], "queries": [0, 1]}
    html = token_attention(**(fields | changes))._repr_html_()
    assert html.count(f"<tr>{heading}<td>") == 1


def test_the_notebook_table_of_flow_says_whether_it_is_saturated():
    assert "layer 1, not saturated</caption>" in token_attention()._repr_html_()
    last = token_attention(saturated=[False, True])._repr_html_()
    assert "layer 1, saturated</caption>" in last
    single: dict[str, Any] = {"scores": np.ones((2, 1, 3)), "queries": [0]}
    ceiling = token_attention(**single, saturated=[False, True])._repr_html_()
    assert "layer 1, scores at their ceiling</caption>" in ceiling
    assert "layer 1</caption>" in token_attention(**single)._repr_html_()
    unmarked = token_attention(method="rollout", saturated=None)._repr_html_()
    assert "layer 1</caption>" in unmarked


# ---- words ----------------------------------------------------------------------------------

TEXT = "Don't ask: why"
PIECES = ["[CLS]", "don", "'", "t", "ask", ":", "wh", "##y", "[SEP]"]
SPANS = [None, (0, 3), (3, 4), (4, 5), (6, 9), (9, 10), (11, 13), (13, 14), None]
MEMBERS = [[0], [1, 2, 3], [4], [5], [6, 7], [8]]

# Without deadlines: the first example of a law may pay for imports and caches.
law = settings(deadline=None)


def pieces(queries: Any = range(9), **changes: Any) -> af.TokenAttention:
    numbers = list(queries)
    fields: dict[str, Any] = {
        "scores": np.random.default_rng(0).random((2, 10, 9))[:, numbers],
        "tokens": PIECES,
        "layers": [1, 2],
        "queries": numbers,
        "method": "rollout",
        "settings": {"onto": 0, "heads": "mean"},
        "origin": af.Origin(spans=tuple(SPANS)),
    }
    return af.TokenAttention(**(fields | changes))


def test_words_are_named_as_in_the_text():
    t = pieces().to_words(TEXT)
    assert t.tokens == ("[CLS]", "Don't", "ask", ":", "why", "[SEP]")
    assert t.origin == af.Origin(spans=(None, (0, 5), (6, 9), (9, 10), (11, 14), None))
    assert t.queries == tuple(range(6))
    assert t.settings == {"onto": 0, "heads": "mean", "words": "mean"}
    assert not t.scores.flags.writeable


def test_a_word_is_given_the_sum_and_gives_the_mean_of_its_pieces():
    t = pieces()
    words = t.to_words(TEXT)
    for v, takers in enumerate(MEMBERS):
        for w, givers in enumerate(MEMBERS):
            block = t.scores[:, takers][:, :, givers]
            assert np.allclose(words.scores[:, v, w], block.sum(2).mean(1), rtol=1e-14)


def test_the_last_piece_can_speak_for_a_word():
    t = pieces()
    words = t.to_words(TEXT, queries="last")
    assert words.settings["words"] == "last"
    for v, takers in enumerate(MEMBERS):
        assert np.allclose(words.row(2, v).sum(), t.row(2, takers[-1]).sum(), rtol=1e-14)
        assert np.allclose(words.row(2, v)[1], t.row(2, takers[-1])[1:4].sum(), rtol=1e-14)


def test_without_spans_tokens_are_looked_up_in_the_text():
    assert pieces(origin=None).to_words(TEXT) == pieces().to_words(TEXT)
    assert pieces(origin=af.Origin()).to_words(TEXT) == pieces().to_words(TEXT)
    with pytest.raises(af.InputError, match=r"token 4 \('ask'\) is not found at character 5"):
        _ = pieces(origin=None).to_words("don't tell")


def test_only_words_of_which_a_piece_was_computed_are_queries():
    t = pieces([7, 1, 3, 8])
    words = t.to_words(TEXT)
    assert words.queries == (4, 1, 5)
    whole = pieces([1, 3]).scores.mean(1)
    assert np.allclose(words.scores[:, 1].sum(-1), whole.sum(-1), rtol=1e-14)
    last = t.to_words(TEXT, queries="last")
    assert np.allclose(last.row(1, 1).sum(), t.row(1, 3).sum(), rtol=1e-14)
    with pytest.raises(af.InputError, match="query 3, the last token of word 1, was not computed"):
        _ = pieces([1, 2]).to_words(TEXT, queries="last")


def test_words_of_words_are_the_same():
    once = pieces().to_words(TEXT)
    assert once.to_words(TEXT) == once


def test_infinite_scores_stay_with_their_word():
    scores = np.ones((2, 9, 9))
    scores[:, 1, 7] = np.inf
    t = pieces(scores=scores, method="flow", saturated=[False, True]).to_words(TEXT)
    assert np.argwhere(np.isinf(t.scores)).tolist() == [[0, 1, 4], [1, 1, 4]]
    assert not np.isnan(t.scores).any()
    assert t.saturated == (False, True)


def test_words_that_the_model_wrote_are_counted():
    for generated, words in [(0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (6, 4), (8, 5)]:
        origin = af.Origin(spans=tuple(SPANS), generated=generated)
        found = pieces(origin=origin).to_words(TEXT).origin
        assert found is not None
        assert found.generated == words


@pytest.mark.parametrize(
    ("changes", "text", "message"),
    [
        ({"settings": {"segments": "words"}}, TEXT, "to make words of, got scores of segments"),
        ({"settings": {"segments": [[0, 5]]}}, TEXT, "to make words of, got scores of segments"),
        (
            {"settings": {"onto": 2}, "origin": None},
            TEXT,
            "got scores of layer 2. Compute them with onto=0",
        ),
        ({}, TEXT[:-1], r"token 7 has characters \(13, 14\), but the text has 13\. These are s"),
        ({}, 7, "text must be the text that was tokenized, got 7"),
        ({"queries": range(1, 10)}, TEXT, "positions of the 9 tokens, got 9"),
    ],
)
def test_what_has_no_words_is_refused(changes: dict[str, Any], text: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = pieces(**({"scores": np.ones((2, 9, 9))} | changes)).to_words(text)


def test_queries_are_averaged_or_the_last_piece():
    other: Any = "first"
    with pytest.raises(af.InputError, match="queries must be one of mean, last, got 'first'"):
        _ = pieces().to_words(TEXT, queries=other)
    several: Any = np.array(["mean", "last"])
    with pytest.raises(af.InputError, match=r"queries must be one of mean, last, got array"):
        _ = pieces().to_words(TEXT, queries=several)


@given(data=st.data())
@law
def test_rows_keep_their_sums(data: st.DataObject):
    words = data.draw(st.lists(st.sampled_from(["a", "bc", "def", "👍🏽", " ", "\n"]), min_size=1))
    text = "".join(words)
    ends = sorted(data.draw(st.sets(st.integers(1, len(text)))) | {len(text)})
    spans = list(itertools.pairwise([0, *ends]))
    n = len(spans)
    scores = np.random.default_rng(n).random((1, n, n))
    tokens = [text[slice(*span)] for span in spans]
    origin = af.Origin(spans=tuple(spans))
    t = af.TokenAttention(scores, tokens, [1], range(n), "flow", origin=origin)
    found = t.to_words(text)
    assert found.origin is not None
    assert found.origin.spans is not None
    assert found.tokens == tuple(text[slice(*span)] for span in found.origin.spans if span)
    last = t.to_words(text, queries="last")
    for sums in (found.scores.sum(2), last.scores.sum(2)):
        assert sums.min() >= t.scores.sum(2).min() * (1 - 1e-12)
        assert sums.max() <= t.scores.sum(2).max() * (1 + 1e-12)
    single = t.normalized().to_words(text)
    assert np.allclose(single.scores.sum(2), 1.0, rtol=1e-12)


# ---- images ---------------------------------------------------------------------------------


def test_patches_make_a_grid_row_by_row():
    scores = np.arange(2 * 2 * 9.0).reshape(2, 2, 9)
    origin = af.Origin(grid=af.Grid(rows=2, columns=3, prefix=2))  # one position comes after them
    t = af.TokenAttention(scores, map(str, range(9)), [6, 1], [4, 0], "rollout", origin=origin)
    assert t.to_grid(4)[0].tolist() == [[2, 3, 4], [5, 6, 7]]
    assert t.to_grid()[1].tolist() == [[29, 30, 31], [32, 33, 34]]
    assert t.to_grid().shape == (2, 2, 3)
    with pytest.raises(af.InputError, match=r"query 1 was not computed; expected one of 4, 0$"):
        _ = t.to_grid(1)
    name: Any = "[CLS]"
    with pytest.raises(af.InputError, match=r"query must be an integer, got '\[CLS\]'"):
        _ = t.to_grid(name)


def test_without_a_grid_there_is_no_image():
    for origin in (None, af.Origin()):
        with pytest.raises(af.InputError, match="not known to be patches of an image"):
            _ = token_attention(origin=origin).to_grid()


def test_segments_make_no_grid():
    origin = af.Origin(grid=af.Grid(rows=1, columns=2, prefix=1))
    changes: dict[str, Any] = {"origin": origin, "settings": {"segments": [[0, 1]]}}
    with pytest.raises(af.InputError, match="to make a grid of, got scores of segments"):
        _ = token_attention(**changes).to_grid()
    changes["settings"] = {"segments": "tokens"}
    assert token_attention(**changes).to_grid().shape == (2, 1, 2)


def test_words_are_found_without_the_text_where_the_origin_keeps_it() -> None:
    kept = pieces(origin=af.Origin(spans=tuple(SPANS), text=TEXT))
    assert kept.to_words().tokens == pieces().to_words(TEXT).tokens
    assert kept.to_words(TEXT) == kept.to_words()
    with pytest.raises(
        af.InputError, match=r"expected origin.text, which begins with .*Leave text"
    ):
        _ = kept.to_words(TEXT.swapcase())
    with pytest.raises(af.InputError, match="text must be the text that was tokenized, got None"):
        _ = pieces().to_words()
