from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow.methods._selection import graph_of, select

SQUARE = af.AttentionGraph([np.eye(3)] * 4, ["a", "b", "c"])
RECTANGULAR = af.AttentionGraph([np.ones((2, 3)), np.ones((4, 2)), np.ones((3, 4))])
ATTENTION = af.Attention(np.full((2, 2, 3, 3), 1 / 3), ["a", "b", "c"])


def test_the_default_is_all_queries_of_all_layers():
    chosen = select(SQUARE)
    assert chosen.layers == (1, 2, 3, 4)
    assert chosen.queries == (0, 1, 2)
    assert chosen.tokens == ("a", "b", "c")
    assert chosen.all_queries


def test_above_another_layer_the_default_begins_above_it():
    chosen = select(SQUARE, onto=2)
    assert chosen.layers == (3, 4)
    assert chosen.tokens == ("a", "b", "c")


def test_nodes_of_a_layer_of_another_size_are_named_by_position():
    assert select(RECTANGULAR, onto=1, layers=2).tokens == ("0", "1")


@pytest.mark.parametrize("layers", [[4, 2], (4, 2), np.array([4, 2]), range(4, 0, -2)])
def test_layers_come_in_any_form_and_keep_their_order(layers: Any):
    assert select(SQUARE, layers=layers).layers == (4, 2)


def test_a_single_number_will_do():
    position: Any = np.int64(1)
    chosen = select(SQUARE, layers=3, queries=position)
    assert chosen.layers == (3,)
    assert chosen.queries == (1,)
    assert not chosen.all_queries


def test_other_orders_are_not_all_queries():
    assert not select(SQUARE, queries=[1, 0, 2]).all_queries
    assert not select(RECTANGULAR, layers=[1, 2], queries=[0, 1]).all_queries


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"layers": 5}, "layers must be 1 to 4, got 5"),
        ({"layers": [0]}, "layers must be 1 to 4, got 0"),
        ({"layers": -1}, "layers must be 1 to 4, got -1"),
        ({"layers": [1, 1]}, r"layers must be distinct, got \(1, 1\)"),
        ({"layers": []}, "layers must not be empty. Leave it out for all"),
        ({"layers": "12"}, "layers must be integers, got '12'"),
        ({"layers": 1.0}, "layers must be integers, got 1.0"),
        ({"queries": 3}, "queries must be 0 to 2 in layer 1, got 3"),
        ({"queries": -1}, "queries must be 0 to 2 in layer 1, got -1"),
        ({"queries": [0, 0]}, r"queries must be distinct, got \(0, 0\)"),
        ({"queries": []}, "queries must not be empty. Leave it out for all"),
        ({"onto": 4}, "onto must be 0 to 3, got 4"),
        ({"onto": -1}, "onto must be 0 to 3, got -1"),
        ({"onto": "0"}, "onto must be an integer, got '0'"),
        ({"onto": 2, "layers": [2]}, "layers must be 3 to 4 above onto=2, got 2"),
        ({"onto": 2, "layers": [4, 1]}, "layers must be 3 to 4 above onto=2, got 1"),
    ],
)
def test_what_is_out_of_range_is_refused_with_the_range(asked: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = select(SQUARE, **asked)


def test_layers_of_different_sizes_do_not_share_all_queries():
    with pytest.raises(
        af.InputError, match=r"got \(1, 2, 3\) with \(2, 4, 3\)\. Compute one layer"
    ):
        _ = select(RECTANGULAR)
    assert select(RECTANGULAR, queries=[1]).queries == (1,)
    with pytest.raises(af.InputError, match="queries must be 0 to 1 in layer 1, got 2"):
        _ = select(RECTANGULAR, queries=[2])


def test_a_graph_is_taken_as_it_is_and_attention_by_its_graph():
    assert graph_of(SQUARE) is SQUARE
    assert graph_of(ATTENTION) == ATTENTION.graph()
    assert graph_of(ATTENTION, head=1) == ATTENTION.graph(head=1)


@pytest.mark.parametrize("method", [af.raw, af.rollout, af.flow])
def test_anything_else_is_refused_with_how_to_wrap_it(method: Any):
    with pytest.raises(
        af.InputError, match=r"expected an Attention or AttentionGraph, got ndarray"
    ):
        _ = method(np.eye(3))


@pytest.mark.parametrize("method", [af.raw, af.rollout, af.flow])
def test_a_head_goes_with_attention_only(method: Any):
    with pytest.raises(
        af.InputError, match=r"head must be None for an AttentionGraph.*graph\(head=0\)"
    ):
        _ = method(SQUARE, head=0)


@pytest.mark.parametrize("method", [af.raw, af.rollout, af.flow])
def test_positions_are_taken_out_of_attention_only(method: Any):
    assert method(ATTENTION, without=[1]).settings["without"] == (1,)
    residual = 0.0 if method is af.raw else 0.5
    assert method(ATTENTION, without=1) == method(ATTENTION.graph(without=1, residual=residual))
    with pytest.raises(
        af.InputError, match=r"without must be empty for an AttentionGraph.*graph\(without=\[0\]\)"
    ):
        _ = method(SQUARE, without=0)
    assert method(SQUARE, without=[]) == method(SQUARE)
