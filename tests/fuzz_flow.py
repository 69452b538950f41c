"""Compare flow with exact arithmetic on random graphs: `make fuzz SEED=0 GRAPHS=2000`.

Every value of every graph must be right to 1e-9 of its terminals (the smaller of what the source's
row can send and what the sink's column can take), or a SolverError. One pair of each graph goes
through `max_flow`, with its flow and its cut. Graph k of a seed is always the same graph, so
`--seed S --first K --graphs 1` repeats one that failed.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import attnflow as af
from exact_flow import ExactFlows, terminals

Matrix: TypeAlias = NDArray[np.float64]
Layers: TypeAlias = list[Matrix]

TOLERANCE = 1e-9


# ---- families of graphs ---------------------------------------------------------------------


def _random(rng: np.random.Generator, *, same: bool = True) -> Layers:
    """Uniform weights; up to 6 nodes a layer and up to 7 layers."""
    sizes = rng.integers(1, 7, 1 + int(rng.integers(1, 8)))
    sizes = np.full_like(sizes, sizes[0]) if same else sizes
    return [rng.random((above, below)) for below, above in itertools.pairwise(sizes.tolist())]


def attention_like(rng: np.random.Generator) -> Layers:
    peaked = [np.exp(rng.uniform(0, 12) * layer) for layer in _random(rng)]
    rows = [layer / layer.sum(axis=1, keepdims=True) for layer in peaked]
    residual = rng.choice([0.0, 0.5])
    return [(1 - residual) * layer + residual * np.eye(len(layer)) for layer in rows]


def edges_of_any_size(rng: np.random.Generator) -> Layers:
    return [10 ** (20 * layer - 20) for layer in _random(rng)]


def rows_scaled(rng: np.random.Generator) -> Layers:
    return [layer * 10 ** rng.uniform(-25, 25, (len(layer), 1)) for layer in _random(rng)]


def columns_scaled(rng: np.random.Generator) -> Layers:
    return [layer * 10 ** rng.uniform(-25, 25, layer.shape[1]) for layer in _random(rng)]


def layers_scaled(rng: np.random.Generator) -> Layers:
    return [layer * 10 ** rng.uniform(-25, 25) for layer in _random(rng)]


def rows_scaled_a_little(rng: np.random.Generator) -> Layers:
    """As weights by gradients or norms: some powers of ten between rows."""
    return [layer * 10 ** rng.uniform(-6, 0, (len(layer), 1)) for layer in _random(rng)]


def sparse(rng: np.random.Generator) -> Layers:
    return [layer * (rng.random(layer.shape) < 0.4) for layer in edges_of_any_size(rng)]


def rectangular(rng: np.random.Generator) -> Layers:
    return [layer * 10 ** rng.uniform(-25, 25) for layer in _random(rng, same=False)]


def unbounded_edges(rng: np.random.Generator) -> Layers:
    layers = [10 ** (20 * layer - 20) for layer in _random(rng, same=False)]
    for layer in layers:
        layer[rng.random(layer.shape) < 0.2] = 0.0
        layer[rng.random(layer.shape) < 0.2] = np.inf
    return layers


def single_nodes(rng: np.random.Generator) -> Layers:
    return [10 ** rng.uniform(-25, 25, (1, 1)) for _ in range(int(rng.integers(1, 9)))]


def all_of_float64(rng: np.random.Generator) -> Layers:
    """From denormal numbers up to where sums would overflow, with rows of zeros."""
    layers = [10 ** rng.uniform(-323, 306, layer.shape) for layer in _random(rng, same=False)]
    for layer in layers:
        layer[rng.random(len(layer)) < 0.1] = 0.0
    return layers


FAMILIES: list[Callable[[np.random.Generator], Layers]] = [
    attention_like, edges_of_any_size, rows_scaled, columns_scaled, layers_scaled,
    rows_scaled_a_little, sparse, rectangular, unbounded_edges, single_nodes, all_of_float64,
]  # fmt: skip


def graph(seed: int, number: int) -> Layers:
    """Graph `number` of a seed; families take turns."""
    return FAMILIES[number % len(FAMILIES)](np.random.default_rng([seed, number]))


# ---- comparison -----------------------------------------------------------------------------


@dataclass
class Count:
    """What was compared so far."""

    graphs: int = 0
    values: int = 0
    solver_errors: int = 0
    worst: float = 0.0  # error relative to the terminals
    worst_of_value: float = 0.0  # error relative to the value itself
    wrong: list[str] = field(default_factory=list[str])

    def compare(self, what: str, found: float, true: Fraction | float, allowed: float) -> None:
        """Count one value and its error; `allowed` is what the terminals carry."""
        self.values += 1
        if not (np.isfinite(found) and true < np.inf):
            error = 0.0 if found == true else np.inf
            of_value = error
        else:
            gap = abs(Fraction(found) - Fraction(true))
            error = _ratio(gap, true if allowed == np.inf else Fraction(allowed))
            of_value = _ratio(gap, true)
        self.worst = max(self.worst, error)
        self.worst_of_value = max(self.worst_of_value, of_value)
        if error > TOLERANCE:
            self.wrong.append(f"{what}: {found!r}, expected {float(true)!r}, error {error:.1e}")


def _ratio(gap: Fraction, size: Fraction | float) -> float:
    return (
        0.0 if gap == 0 else float(min(gap / Fraction(size), Fraction(10**300))) if size else np.inf
    )


def check_graph(layers: Layers, rng: np.random.Generator, count: Count) -> None:
    """Compare all values of one graph, and the flow and cut of one pair."""
    count.graphs += 1
    exact, g = ExactFlows(layers), af.AttentionGraph(layers)
    for layer in range(1, len(layers) + 1):
        try:
            scores = af.flow(g, layers=layer, threads=1).scores[0]
        except af.SolverError:
            count.solver_errors += 1
            continue
        for i, j in np.ndindex(scores.shape):
            true = exact.value((layer, i), (0, j))
            allowed = terminals(layers, (layer, i), (0, j))
            count.compare(f"flow from ({layer}, {i}) to {j}", float(scores[i, j]), true, allowed)
    onto = int(rng.integers(len(layers)))
    layer = int(rng.integers(onto + 1, len(layers) + 1))
    source = layer, int(rng.integers(len(layers[layer - 1])))
    _check_pair(layers, source, (onto, int(rng.integers(layers[onto].shape[1]))), exact, count)


def _check_pair(
    layers: Layers, source: tuple[int, int], sink: tuple[int, int], exact: ExactFlows, count: Count
) -> None:
    true, allowed = exact.value(source, sink), terminals(layers, source, sink)
    if true == np.inf:
        return
    try:
        m = af.max_flow(af.AttentionGraph(layers), source=source, sink=sink[1], onto=sink[0])
    except af.SolverError:
        count.solver_errors += 1
        return
    what = f"max_flow from {source} to {sink}"
    count.compare(f"{what}, value", m.value, true, allowed)
    count.compare(f"{what}, cut_value", m.cut_value, true, allowed)
    for number, (flow, layer) in enumerate(zip(m.flows, layers, strict=True), start=1):
        if (flow < 0).any() or (flow > layer).any():
            count.wrong.append(f"{what}: layer {number} carries more than its capacity")
    for number in range(sink[0] + 1, source[0]):
        for k, row in enumerate(m.flows[number - 1]):
            enters = sum(map(Fraction, m.flows[number][:, k].tolist()))
            leaves = sum(map(Fraction, row.tolist()))
            count.compare(f"{what}, node {(number, k)}", float(enters - leaves), 0.0, allowed)


def run(seed: int, first: int, graphs: int) -> Count:
    """Check graphs `first` to `first + graphs − 1` of a seed; ends at the first wrong graph."""
    count = Count()
    for number in range(first, first + graphs):
        layers = graph(seed, number)
        check_graph(layers, np.random.default_rng([seed, number, 1]), count)
        if count.wrong:
            break
    return count


def main() -> int:
    """Run the program; 1 where a value is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    _ = parser.add_argument("--seed", type=int, default=0)
    _ = parser.add_argument("--first", type=int, default=0, help="number of the first graph")
    _ = parser.add_argument("--graphs", type=int, default=2000)
    arguments = parser.parse_args()
    start = time.perf_counter()
    count = run(arguments.seed, arguments.first, arguments.graphs)
    print(f"graphs                              {count.graphs:,}")
    print(f"values                              {count.values:,}")
    print(f"worst error relative to terminals   {count.worst:.1e}")
    print(f"worst error relative to the value   {count.worst_of_value:.1e}")
    print(f"SolverErrors                        {count.solver_errors:,}")
    print(f"seconds                             {time.perf_counter() - start:.0f}")
    if not count.wrong:
        return 0
    number = arguments.first + count.graphs - 1
    print(*count.wrong, sep="\n")
    print(f"seed {arguments.seed}, graph {number}, {FAMILIES[number % len(FAMILIES)].__name__}:")
    print([layer.tolist() for layer in graph(arguments.seed, number)])
    return 1


if __name__ == "__main__":
    sys.exit(main())
