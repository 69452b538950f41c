"""What each depth of flow costs, by timing how long all depths up to it take."""

import itertools
from functools import partial

import graphs
import report
import timing
from plan import AllPairs

import attnflow as af

# What a reader of the table wants to know next; checked against profiles of the kernels when the
# solver changes.
LIMIT = """What limits it: in the layers that are searched, a flow runs over several edges for
each token, and each of them is found, written and undone once. A search pushes single paths,
because the supply of a node is used up after a few edges; pushing whole rows at once was tried and
was slower. So a pair can only become cheaper where no search is needed. From about layer 6 on the
flows of the layer below prove nearly all values (`src/attnflow/maxflow/_sink.py`); below that this
proof seldom holds, and a better one is where the next gain must come from."""


def section(case: AllPairs, *, real: bool) -> report.Section:
    """Time layers 1…d for each d, in turns, with one thread."""
    graph = graphs.attention(case.n_tokens, case.n_layers, real=real).graph()
    depths = range(1, graph.n_layers + 1)
    runs = {
        str(depth): partial(af.flow, graph, layers=range(1, depth + 1), threads=1)
        for depth in depths
    }
    best = [min(times) for times in timing.in_turns(runs, case.rounds).values()]
    # More layers never take less time; where they seem to, the shorter run was disturbed.
    up_to = dict(zip(depths, [*itertools.accumulate(best[::-1], min)][::-1], strict=True))
    saturated = af.flow(graph, threads=1).saturated
    alone = {depth: up_to[depth] - up_to.get(depth - 1, 0.0) for depth in depths}
    total, pairs = sum(alone.values()), case.n_tokens**2
    rows = [
        [
            str(depth),
            report.duration(up_to[depth]),
            f"{100 * alone[depth] / total:.0f} %",
            report.duration(alone[depth] / pairs),
            "yes" if saturated[depth - 1] else "no",
        ]
        for depth in depths
    ]
    head = ["layer", "layers 1 to this one", "share of this layer", "a pair", "saturated"]
    return report.Section(
        "Where the time goes",
        (_paragraph(case, alone, saturated), report.table(head, rows), LIMIT),
    )


def _paragraph(case: AllPairs, alone: dict[int, float], saturated: tuple[bool, ...]) -> str:
    total, pairs = sum(alone.values()), case.n_tokens**2
    costly = sorted(alone, key=alone.__getitem__, reverse=True)
    # As few layers as make up half of the time.
    so_far = itertools.accumulate(alone[depth] for depth in costly)
    half = costly[: 1 + sum(seconds < total / 2 for seconds in so_far)]
    closed_form = sum(alone[depth] for depth in alone if depth <= 2)
    free = [depth for depth in alone if saturated[depth - 1]]
    text = (
        f"{case.name}, all pairs, one thread, best of {case.rounds} rounds in turns; the share of "
        "a layer is what it adds to the layers below it. Half of the time is spent on "
        f"{_layers(half)}. The costliest, layer {costly[0]}, takes "
        f"{report.duration(alone[costly[0]] / pairs)} a pair, the mean of all layers "
        f"{report.duration(total / len(alone) / pairs)}. Layers 1 and 2, which have closed forms, "
        f"take {100 * closed_form / total:.1f} %."
    )
    if free:
        share = 100 * sum(alone[depth] for depth in free) / total
        text += f" Saturated, that is the same for every query: {_layers(free)}, {share:.1f} %."
    return text


def _layers(numbers: list[int]) -> str:
    *others, last = [str(number) for number in sorted(numbers)]
    return f"layers {', '.join(others)} and {last}" if others else f"layer {last}"
