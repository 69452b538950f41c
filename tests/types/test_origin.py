import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow.types._origin import check_origin, origin_from_json, origin_to_json

W = np.tile(np.tril(np.ones((3, 3))) / np.arange(1, 4)[:, None], (2, 2, 1, 1))
TEXT = af.Origin(spans=(None, (0, 3), (4, 7)), generated=1)
IMAGE = af.Origin(grid=af.Grid(rows=1, columns=2, prefix=1))


def test_an_origin_is_kept_in_plain_types():
    spans: Any = [None, np.array([0, 3]), [4, np.int64(7)]]
    columns: Any = np.int32(2)
    grid = af.Grid(rows=1, columns=columns, prefix=1)
    origin = af.Origin(spans=spans, grid=grid, generated=1)
    assert origin.spans == (None, (0, 3), (4, 7))
    assert origin.spans is not None
    assert all(type(end) is int for span in origin.spans if span for end in span)
    assert type(grid.columns) is int
    assert origin == af.Origin(spans=(None, (0, 3), (4, 7)), grid=grid, generated=1)
    assert hash(origin) == hash(copy.deepcopy(origin))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"spans": [(0, 3, 4)]}, r"span 0 must be \(start, end\) with .*, got \(0, 3, 4\)"),
        ({"spans": [None, (3, 2)]}, r"span 1 must be .*, got \(3, 2\)"),
        ({"spans": [(-1, 2)]}, r"span 0 must be .*, got \(-1, 2\)"),
        ({"spans": [(0.5, 2)]}, "span 0 must be integers, got .*"),
        ({"spans": 3}, "spans must be one .start, end. or None per position, got 3"),
        ({"spans": "abc"}, "per position, got 'abc'"),
        ({"grid": (1, 2, 3)}, r"grid must be a Grid\(rows, columns, prefix\), got \(1, 2, 3\)"),
        ({"generated": -1}, "generated must be 0 or more, got -1"),
        ({"generated": None}, "generated must be an integer, got None"),
    ],
)
def test_fields_of_an_origin_that_do_not_fit_are_refused(fields: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = af.Origin(**fields)


@pytest.mark.parametrize("sizes", [(0, 2, 1), (2, 0, 1), (2, 2, -1), (1.5, 2, 0)])
def test_a_grid_without_patches_is_refused(sizes: Any):
    with pytest.raises(af.InputError, match=r"must be (an integer|\d or more), got"):
        _ = af.Grid(*sizes)


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        (af.Origin(spans=((0, 1),)), "origin: expected 3 spans, one per position, got 1"),
        (af.Origin(grid=af.Grid(2, 2, 0)), r"grid has 0 \+ 2·2 positions, but there are 3"),
        (af.Origin(generated=3), "generated must be less than the 3 positions, got 3"),
        ({"spans": None}, "origin must be an Origin, .* got dict"),
    ],
)
def test_an_origin_of_other_positions_is_refused_by_every_type(origin: Any, message: str):
    graph, scores = af.Attention(W).graph(), np.ones((1, 1, 3))
    for make in (
        lambda: af.Attention(W, origin=origin),
        lambda: af.AttentionGraph(graph.layers, origin=origin),
        lambda: af.TokenAttention(scores, list("abc"), [1], [0], "raw", origin=origin),
        lambda: check_origin(origin, 3),
    ):
        with pytest.raises(af.InputError, match=message):
            _ = make()


def test_positions_after_the_patches_are_no_part_of_the_image():
    origin = af.Origin(grid=af.Grid(rows=1, columns=1, prefix=1), generated=1)
    assert af.Attention(W, origin=origin).origin == origin


@pytest.mark.parametrize("generated", [0, 1, 2])
def test_each_generated_token_was_predicted_by_the_position_before_it(generated: int):
    a = af.Attention(W, causal=True, origin=af.Origin(generated=generated))
    assert a.predicting == ((), (1,), (0, 1))[generated]
    assert af.Attention(W).predicting == ()
    assert af.Origin(generated=generated).predicting(3) == a.predicting


# ---- carried along --------------------------------------------------------------------------


@pytest.mark.parametrize("method", [af.raw, af.rollout, af.flow])
def test_an_origin_is_carried_from_attention_to_scores(method: Any):
    a = af.Attention(W, causal=True, origin=TEXT)
    assert a.graph(head=1).origin == TEXT
    assert method(a).origin == TEXT
    assert method(a.graph()).normalized().origin == TEXT
    assert method(af.Attention(W)).origin is None


@pytest.mark.parametrize("method", [af.rollout, af.flow])
def test_nodes_of_a_hidden_layer_have_no_origin(method: Any):
    assert method(af.Attention(W, origin=TEXT), onto=1).origin is None


def test_raw_attention_has_an_origin_where_its_positions_are_those_of_the_input():
    g = af.AttentionGraph([np.ones((2, 3)), np.ones((2, 2))], origin=TEXT)
    assert af.raw(g, layers=1).origin == TEXT
    assert af.raw(g, layers=2).origin is None


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("origin", [TEXT, IMAGE, None])
def test_files_and_copies_keep_the_origin(tmp_path: Path, suffix: str, origin: Any):
    a = af.Attention(W, origin=origin)
    for number, x in enumerate((a, a.graph(), af.rollout(a))):
        path = tmp_path / f"{number}{suffix}"
        x.save(path)
        for back in (type(x).load(path), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):  # noqa: S301
            assert back == x
            assert back.origin == origin


def test_what_differs_in_origin_alone_is_not_equal():
    a, b = af.Attention(W, origin=TEXT), af.Attention(W)
    assert a != b
    assert a.graph() != b.graph()
    assert af.rollout(a) != af.rollout(b)


def test_an_origin_is_json_in_files_and_absent_where_it_is_not_known(tmp_path: Path):
    text = origin_to_json(IMAGE)
    assert json.loads(text)["grid"] == {"rows": 1, "columns": 2, "prefix": 1}
    assert origin_from_json(text) == IMAGE
    af.Attention(W).save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        assert "origin" not in file.files


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"colour": 1}', '{"grid": 3}', '{"grid": {}}'])
def test_an_origin_that_cannot_be_read_is_refused_with_the_file(tmp_path: Path, text: str):
    path = tmp_path / "a.npz"
    np.savez(path, weights=W, origin=np.array(text))
    with pytest.raises(
        af.InputError, match=r"a\.npz: origin must be JSON text of spans, grid, …, got"
    ):
        _ = af.Attention.load(path)


def test_a_file_with_an_origin_of_other_positions_is_refused(tmp_path: Path):
    path = tmp_path / "a.npz"
    np.savez(path, weights=W, origin=np.array('{"spans": [[0, 1]]}'))
    with pytest.raises(
        af.InputError, match=r"a\.npz: origin: expected 3 spans, one per position, got 1"
    ):
        _ = af.Attention.load(path)
