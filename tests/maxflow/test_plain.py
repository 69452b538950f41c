"""The solver in plain Python: the values of the kernels, and a proof of each."""

import logging
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import attnflow as af
import fuzz_flow
from attnflow.maxflow import _choice, _plain, flow_values
from attnflow.maxflow._cache import discard_stale_cache
from attnflow.maxflow._network import Network
from attnflow.types import random_attention
from waiting import until

Family = Callable[[np.random.Generator], list[Any]]

G = random_attention(6, 2, 8, seed=2).graph()


def _values(family: Family) -> list[Any]:
    graphs = [family(np.random.default_rng(seed)) for seed in range(4)]
    return [flow_values(layers, range(max(map(len, layers)))) for layers in graphs]


def test_values_equal_those_of_the_kernels(family: Family, request: pytest.FixtureRequest):
    by_kernels = _values(family)
    _ = request.getfixturevalue("plain")
    by_plain = _values(family)
    assert len(by_plain) == 4
    for own, other in zip(by_plain, by_kernels, strict=True):
        assert np.array_equal(own, other)


@pytest.mark.usefixtures("plain")
def test_no_value_of_many_graphs_is_wrong():
    count = fuzz_flow.run(seed=4, first=0, graphs=88)
    assert not count.wrong
    assert count.values > 2_000
    assert count.solver_errors == 0
    assert 0 < count.worst <= 1e-9


def test_a_flow_that_starts_from_the_layer_below_is_that_from_nothing(family: Family):
    for seed in range(4):
        layers = family(np.random.default_rng(seed))
        network = _plain.PlainNetwork(Network(layers, 3).capacity)
        for sink in range(len(layers[0][0])):
            raised = _plain.PlainFlow(network, 0, sink)
            for depth in range(3, len(layers) + 1):
                fresh = _plain.PlainFlow(network, 0, sink)
                for solver in (raised, fresh):
                    solver.solve(depth)
                    assert solver.proved
                assert raised.value == fresh.value
                assert np.array_equal(raised.visited, fresh.visited)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("layer", [3, 6])
def test_a_pair_carries_its_proof(certify: Callable[..., None], layer: int):
    for sink in range(8):
        found = af.max_flow(G, source=(layer, 2), sink=sink)
        assert found.value > 0
        certify(G.layers, found, (layer, 2), sink)


def _loses_a_unit(solver: Any) -> Any:
    flow = correct(solver)
    flow[-1, solver._source, solver._source] -= 1.0
    return flow


def _overfills(solver: Any) -> Any:
    flow = correct(solver)
    flow[2, 0, 0] += 2.0**60
    return flow


correct = _plain.PlainFlow._flow


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("fault", [_loses_a_unit, _overfills])
def test_what_is_no_flow_has_no_proof(monkeypatch: pytest.MonkeyPatch, fault: Callable[..., None]):
    monkeypatch.setattr(_plain.PlainFlow, "_flow", fault)
    for solve in (
        lambda: af.flow(G, queries=[0], layers=[6]),
        lambda: af.max_flow(G, source=(6, 0), sink=1),
    ):
        with pytest.raises(af.SolverError, match="has no proof"):
            _ = solve()


@pytest.mark.usefixtures("plain")
def test_a_search_that_ends_early_has_no_proof(monkeypatch: pytest.MonkeyPatch):
    search = _plain.PlainFlow._levels

    def blind(solver: Any) -> Any:
        _ = search(solver)
        return []

    monkeypatch.setattr(_plain.PlainFlow, "_levels", blind)
    with pytest.raises(af.SolverError, match="flow and cut differ"):
        _ = af.flow(G, queries=[0], layers=[6])


# ---- when it is used ---------------------------------------------------------------------------


def test_work_is_counted_until_the_kernels_are_worth_loading(monkeypatch: pytest.MonkeyPatch):
    net, depths = Network(G.layers, 1), np.array([5, 6])
    work = 3 * (6 + 7) * (8 * 8 + _choice._WORK_OF_LAYER)
    monkeypatch.setattr(_choice, "_loaded", set[bool]())
    monkeypatch.setattr(_choice, "_work", 0)
    monkeypatch.setattr(_choice, "_most_work", lambda: 2 * work + 1)
    assert [_choice.takes_plain(net, depths, 3) for _ in range(3)] == [True, True, False]
    assert _choice.takes_plain(net, depths, 0)
    _choice._loaded.add(True)
    assert not _choice.takes_plain(net, depths, 0)


def test_more_is_solved_without_kernels_where_they_must_be_compiled_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(_choice, "__file__", str(tmp_path / "_choice.py"))
    most = _choice._most_work.__wrapped__
    assert most() == _choice._WORK_BEFORE_COMPILING
    discard_stale_cache(tmp_path)
    code = "_sink.solve_sink-27.py{}{}.1.nbc".format(*sys.version_info)
    (tmp_path / "__pycache__" / code).touch()
    assert most() == _choice._WORK_BEFORE_LOADING < _choice._WORK_BEFORE_COMPILING


@pytest.mark.usefixtures("plain")
def test_one_query_of_a_sentence_needs_no_kernels_in_a_decoder_of_thirty_layers(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(_choice, "_work", 0)
    monkeypatch.setattr(_choice, "_most_work", lambda: _choice._WORK_BEFORE_COMPILING)
    attention = random_attention(30, 1, 32, causal=True)
    found = af.flow(attention, queries=[31], receptive_field=True)
    assert found.scores.shape == (30, 1, 32)


@pytest.mark.parametrize("misses", [{}, {"signature": 1}])
def test_compiling_is_announced_and_loading_is_not(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, misses: dict[str, int]
):
    fired: list[bool] = []

    class Misses(dict[str, int]):
        def __bool__(self) -> bool:
            fired.append(True)
            return len(self) > 0

    kernel = SimpleNamespace(stats=SimpleNamespace(cache_misses=Misses(misses)))
    monkeypatch.setattr(_choice, "_ANNOUNCE_AFTER", 0.0)
    with caplog.at_level(logging.WARNING, "attnflow"), _choice._announced(kernel):
        until(lambda: bool(fired) and len(caplog.records) == len(misses))
    assert ("compiling (once per installation)" in caplog.text) == bool(misses)


def test_compiling_is_announced_when_the_kernel_is_looked_up_late(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    asked: list[bool] = []

    class Misses(dict[str, int]):
        def __bool__(self) -> bool:
            asked.append(True)
            return len(self) > 0

    misses = Misses()
    kernel = SimpleNamespace(stats=SimpleNamespace(cache_misses=misses))
    monkeypatch.setattr(_choice, "_ANNOUNCE_AFTER", 0.001)
    with caplog.at_level(logging.WARNING, "attnflow"), _choice._announced(kernel):
        until(lambda: bool(asked))
        misses["signature"] = 1
        until(lambda: len(caplog.records) == 1)
