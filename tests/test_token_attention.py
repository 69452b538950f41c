import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
    with pytest.raises(af.InputError, match=r"layer 2 was not computed; layers are 6, 1$"):
        _ = t.row(2, 0)
    with pytest.raises(af.InputError, match=r"query 1 was not computed; queries are 4, 0$"):
        _ = t.row(6, 1)


def test_a_row_is_not_found_by_the_name_of_a_token():
    name: Any = "<s>"
    with pytest.raises(af.InputError, match="query is '<s>'; a position is wanted, one of 4, 0"):
        _ = token_attention().row(6, name)


def test_a_long_list_of_queries_is_cut_short():
    t = af.TokenAttention(np.ones((1, 50, 1)), ["a"], [1], range(50), "rollout")
    with pytest.raises(af.InputError, match=r"queries are 0, 1, 2, …, 49$"):
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


def test_an_infinite_score_cannot_be_normalised():
    scores = np.ones((2, 2, 3))
    scores[0, 1, 2] = np.inf
    t = token_attention(scores=scores)
    with pytest.raises(af.InputError, match="layer 6, query 0 has an infinite score"):
        _ = t.normalized()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": np.ones((2, 3))}, r"shape \(2, 3\); three axes \(layer, query, token\)"),
        ({"scores": np.ones((2, 0, 3))}, "none of them empty"),
        ({"scores": np.full((2, 2, 3), np.nan)}, r"scores\[0, 0, 0\] is nan; scores are 0 or more"),
        ({"scores": -np.eye(3)[None, :2].repeat(2, 0)}, r"scores\[0, 0, 0\] is -1.0"),
        ({"tokens": ["a"]}, "1 tokens came for 3 positions"),
        ({"layers": [1]}, "there are 1 layers, 2 queries"),
        ({"queries": [0, 1, 2]}, "2 layers, 3 queries"),
        ({"saturated": [True]}, "1 marks of saturation"),
        ({"layers": [0, 1]}, "layers count from 1"),
        ({"queries": [-1, 0]}, "queries from 0"),
        ({"layers": [1.5, 2]}, "layers is .*; whole numbers are wanted"),
        ({"method": "product"}, "method is 'product'; use one of raw, rollout, flow"),
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
        ({"settings": np.array("{")}, "settings is '{'; JSON text is wanted"),
        ({"settings": np.array("[]x")}, "JSON text is wanted"),
        ({"method": np.array("sum")}, r"t\.npz: method is 'sum'"),
        ({"method": np.array([1, 2])}, r"t\.npz: method is array"),
        ({"tokens": np.array([1, 2, 3])}, r"t\.npz: token 0 is"),
        ({"scores": np.array("x")}, r"t\.npz: scores \(str\) holds str"),
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
