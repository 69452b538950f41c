"""A workspace is used for one source after another: each must find it as if it were new."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attnflow.maxflow import _state, flow_values
from attnflow.maxflow._network import Bounds, Network
from attnflow.maxflow._sink import solve_sink
from attnflow.maxflow._source import new_sink_bounds
from attnflow.maxflow._state import new_workspace

Family = Callable[[np.random.Generator], list[Any]]


def assert_as_new(workspace: Any) -> None:
    new = new_workspace(workspace.capacity)
    for name in ("residual", "open", "used", "used_from", "rewritten", "balance"):
        assert np.array_equal(getattr(workspace, name), getattr(new, name)), name
    assert workspace.edits[0] == 0


def test_a_solve_leaves_no_flow_behind(family: Family):
    for seed in range(5):
        layers = family(np.random.default_rng(seed))
        exponents = Bounds(layers, range(len(layers[-1]))).exponents()
        net = Network(layers, int(exponents.max()))
        before = net.capacity.copy()
        if net.depth < 3:
            continue  # closed forms
        workspace = new_workspace(net.capacity)
        bounds = new_sink_bounds(net.depth + 1, net.capacity.shape[1])
        sources = np.arange(layers[-1].shape[0])
        for sink in range(layers[0].shape[1]):
            search_depth = solve_sink(
                workspace, bounds, sink, sources, net.depth, min(6, net.depth), False
            )
            assert 2 <= search_depth <= net.depth
            assert_as_new(workspace)
        assert np.array_equal(workspace.capacity, before)


@pytest.mark.parametrize("places", [1, 2, 10])
def test_a_full_list_of_edits_changes_no_value(
    monkeypatch: pytest.MonkeyPatch, family: Family, places: int
):
    graphs = [family(np.random.default_rng(seed)) for seed in range(5)]
    sources = [range(layers[-1].shape[0]) for layers in graphs]
    expected = [flow_values(layers, s) for layers, s in zip(graphs, sources, strict=True)]

    def short(capacity: Any) -> Any:
        return new_workspace(capacity)._replace(edits=np.zeros(places, np.int64))

    monkeypatch.setattr(_state, "new_workspace", short)
    for layers, s, values in zip(graphs, sources, expected, strict=True):
        assert np.array_equal(flow_values(layers, s), values)
