"""Flow of all layers and all pairs: attnflow in full, its peers on sampled pairs scaled up."""

import statistics
from dataclasses import dataclass
from functools import partial

import graphs
import networks
import numpy as np
import peers
import report
import timing
from plan import AllPairs

import attnflow as af

# How far a peer's value may be from attnflow's. Chosen here, with room
# for scipy's 30-bit integers.
_AGREEMENT = 1e-6

# What the project asks of itself, by tokens and layers.
_FLOORS = {
    (32, 6): "15 times OR-tools, 3,000 times `edmonds_karp`",
    (128, 12): "150 times OR-tools",
}

_METHOD = """
attnflow is given the graph and computes every value, so its time is that of the whole call: the
median of some calls (their number stands in the table), spread over the layers. A peer is given,
for each pair, the smallest network there is: the source with its row of the top layer, the layers
between, the sink with its column of layer 1. The network of a layer is built once and not timed;
timed is setting the capacities at source and sink, 2n of them, and solving. OR-tools is timed a
second way, "built for each pair", which is the plain way of using it: a new solver for each pair,
filled from NumPy arrays with the arcs of every node below the source, and solved; the arrays of
the layers below are ready and scaled. The first way is the fastest use of OR-tools that we found,
so the ratio to it is the smaller one. Peers are timed on random pairs, the same number in each
layer and the same pairs for all, with the median of the rounds as the time of a pair, and scaled
up: the sum over layers of the mean time times the number of pairs. After ± stands the standard
error of that. In each layer everyone takes turns. "Largest difference" is that of a peer's values
from attnflow's on the pairs it solved; more than 1e-6 would have stopped the run.
"""


@dataclass(frozen=True, slots=True)
class _Timed:
    """What a peer did in one layer: seconds of each pair, and how far it was from attnflow."""

    seconds: list[float]
    difference: float


def section(case: AllPairs, *, real: bool) -> report.Section:
    """Time one size."""
    graph = graphs.attention(case.n_tokens, case.n_layers, real=real).graph()
    scores = af.flow(graph, threads=1).scores
    ours: dict[int, list[float]] = {1: [], 2: []}  # by number of threads
    theirs: list[dict[str, _Timed]] = []  # one a layer
    every = max(1, graph.n_layers // case.calls)
    for layer in range(1, graph.n_layers + 1):
        for threads, times in ours.items() if layer % every == 0 else ():
            times.append(timing.seconds(partial(af.flow, graph, threads=threads)))
        theirs.append(_time_peers(case, graph, layer, scores[layer - 1]))
    by_peer = {name: [timed[name] for timed in theirs] for name in theirs[0]}
    return _section(case, ours, by_peer)


def method() -> report.Section:
    """How these timings are done."""
    return report.Section("How flow is timed", (_METHOD.strip(),))


def _entrants(case: AllPairs) -> dict[str, tuple[peers.Peer, int]]:
    """Peers, and how many pairs of a layer each is given."""
    entrants = {
        "OR-tools": (peers.ortools, case.pairs),
        "OR-tools, built for each pair": (peers.ortools_built_each_time, case.pairs),
        "SciPy": (peers.scipy, case.pairs),
        "python-igraph": (peers.igraph, case.pairs),
        "networkx `preflow_push`": (peers.networkx_preflow_push, case.pairs_preflow_push),
        "networkx `edmonds_karp`": (peers.networkx_edmonds_karp, case.pairs_edmonds_karp),
    }
    return {name: (peer, count) for name, (peer, count) in entrants.items() if count}


def _time_peers(
    case: AllPairs, graph: af.AttentionGraph, layer: int, scores: networks.Floats
) -> dict[str, _Timed]:
    pairs = networks.sampled_pairs(graph, layer, case.pairs)
    entrants = _entrants(case)
    solvers = {name: peer(graph, layer) for name, (peer, _) in entrants.items()}
    values = {  # this warms up, too
        name: [solve(*pair) for pair in pairs[: entrants[name][1]]]
        for name, solve in solvers.items()
    }
    times: dict[str, list[list[float]]] = {name: [] for name in solvers}
    for _ in range(case.rounds):
        for name, solve in solvers.items():
            mine = pairs[: entrants[name][1]]
            times[name].append([timing.seconds(partial(solve, *pair)) for pair in mine])
    found: dict[str, _Timed] = {}
    for name, rounds in times.items():
        wanted = [scores[pair] for pair in pairs[: entrants[name][1]]]
        difference = float(np.abs(np.subtract(values[name], wanted)).max())
        if difference > _AGREEMENT:
            raise RuntimeError(
                f"{name} and attnflow differ by {difference:.1e} in layer {layer}, {case.name}"
            )
        found[name] = _Timed(np.median(rounds, axis=0).tolist(), difference)
    return found


def _section(
    case: AllPairs, calls: dict[int, list[float]], theirs: dict[str, list[_Timed]]
) -> report.Section:
    ours = {threads: statistics.median(times) for threads, times in calls.items()}
    pairs_a_layer = case.n_tokens**2
    all_pairs = pairs_a_layer * case.n_layers
    rows = [
        [
            f"attnflow, {'one thread' if threads == 1 else 'two threads'}",
            report.duration(total),
            report.duration(total / all_pairs),
            report.ratio(total / ours[1]),
            f"all {all_pairs:,}, {len(calls[threads])} calls",
            "",
        ]
        for threads, total in ours.items()
    ]
    totals: dict[str, float] = {}
    for name, layers in theirs.items():
        seconds = [timed.seconds for timed in layers]
        totals[name], error = networks.scaled_up(seconds, pairs_a_layer)
        rows.append([
            name,
            f"{report.duration(totals[name])} ± {100 * error / totals[name]:.0f} %",
            report.duration(totals[name] / all_pairs),
            report.ratio(totals[name] / ours[1]),
            f"{sum(map(len, seconds)):,}, scaled up",
            f"{max(timed.difference for timed in layers):.0e}",
        ])  # fmt: skip
    head = [
        "solver",
        "all pairs",
        "a pair",
        "of attnflow's time",
        "pairs timed",
        "largest difference",
    ]
    blocks = [report.table(head, rows)]
    if not case.pairs_edmonds_karp:
        blocks.append(
            "networkx's `edmonds_karp` is left out here: from 64 tokens on, one pair of an upper "
            "layer takes it several seconds or more."
        )
    title = f"All layers and pairs, {case.name}"
    return report.Section(title, tuple(blocks), (_finding(case, ours, totals),))


def _finding(case: AllPairs, ours: dict[int, float], totals: dict[str, float]) -> report.Finding:
    """Beside attnflow: OR-tools both ways, the fastest peer, and what the paper's code uses."""
    fastest = min(totals, key=totals.__getitem__)
    beside = ", ".join(
        f"{name} {report.duration(total)} ({report.ratio(total / ours[1])})"
        for name, total in totals.items()
        if name == fastest or name.startswith(("OR-tools", "networkx `edmonds_karp`"))
    )
    return report.Finding(
        f"flow, all layers and pairs, {case.name}, one thread each",
        f"{report.duration(ours[1])} (two threads: {report.duration(ours[2])})",
        beside,
        _FLOORS.get((case.n_tokens, case.n_layers), ""),
    )
