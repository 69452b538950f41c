"""The fuzz program finds no wrong value here, and does find one that is made wrong."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuzz_flow
from attnflow.maxflow import _values
from exact_flow import ExactFlows

PROGRAM = Path(fuzz_flow.__file__)


def test_no_value_of_some_hundred_graphs_is_wrong():
    count = fuzz_flow.run(seed=1, first=0, graphs=220)
    assert not count.wrong
    assert count.graphs == 220
    assert count.values > 5_000
    assert count.solver_errors == 0
    assert 0 < count.worst <= 1e-9


def test_the_program_reports_what_it_compared():
    done = subprocess.run(
        [sys.executable, PROGRAM, "--seed", "3", "--graphs", "22"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for what in ("graphs", "values", "worst error relative to terminals", "SolverErrors"):
        assert any(line.startswith(what) for line in done.stdout.splitlines())


def test_a_wrong_value_ends_the_program_with_the_graph(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    # Without finer grids, as flow once was.
    nothing = np.zeros(0, _values._UNCERTAIN)
    monkeypatch.setattr(_values._Table, "_uncertain", lambda *_: nothing)
    monkeypatch.setattr(sys, "argv", [str(PROGRAM), "--seed", "0", "--graphs", "50"])
    assert fuzz_flow.main() == 1
    printed = capsys.readouterr().out
    assert "expected" in printed
    assert "seed 0, graph" in printed
    assert "[[[" in printed


def test_a_graph_of_a_seed_is_always_the_same():
    for number in range(len(fuzz_flow.FAMILIES)):
        first, again = (fuzz_flow.graph(5, number) for _ in range(2))
        assert len(first) == len(again) > 0
        assert all(map(np.array_equal, first, again))


def test_the_exact_solver_agrees_with_networkx_in_fractions(
    any_family: Callable[[np.random.Generator], list[Any]], exact: Callable[..., Any]
):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        layers = any_family(rng)
        mine, theirs = ExactFlows(layers), exact(layers)
        top = int(rng.integers(1, len(layers) + 1))
        source = top, int(rng.integers(len(layers[top - 1])))
        sink = 0, int(rng.integers(layers[0].shape[1]))
        assert float(mine.value(source, sink)) == theirs(source, sink)
