"""Rollout of all pairs beside the bare chain of matrix products that it cannot do without."""

import statistics
from functools import partial

import graphs
import numpy as np
import report
import timing
from plan import Plan

import attnflow as af


def section(plan: Plan, *, real: bool) -> report.Section:
    """Median ratio of times taken in turns."""
    attention = graphs.attention(plan.n_tokens, plan.n_layers, real=real)
    graph = attention.graph()
    layers = [layer.astype(np.float64) for layer in graph.layers]
    times = timing.in_turns(
        {
            "bare chain": partial(_chain, layers),
            "given a graph": partial(af.rollout, graph),
            "given an Attention": partial(af.rollout, attention),
            "fusing heads alone": attention.graph,
        },
        3 * plan.rounds,  # they are short
    )
    ratios = {
        name: statistics.median(a / b for a, b in zip(each, times["bare chain"], strict=True))
        for name, each in times.items()
    }
    rows = [
        [name, report.duration(statistics.median(each)), report.ratio(ratios[name])]
        for name, each in times.items()
    ]
    size = f"{plan.n_tokens} tokens, {plan.n_layers} layers"
    text = (
        f"{size}, all layers and pairs, float64, the threads that NumPy's BLAS takes by itself. "
        f"The bare chain is `R = A @ R` layer by layer, {plan.n_layers - 1} products, nothing kept "
        "but the last. attnflow keeps and returns the matrix of every layer. The ratio is the "
        "median over rounds of the ratio within a round. Given an Attention, its "
        f"{attention.n_heads} heads are fused first, which reads "
        f"{attention.weights.nbytes / 2**20:,.0f} MB."
    )
    finding = report.Finding(
        f"rollout, all layers and pairs, {size}",
        report.duration(statistics.median(times["given a graph"])),
        f"{ratios['given a graph']:.2f} times the bare chain of BLAS products "
        f"({ratios['given an Attention']:.2f} with fusing heads)",
        "at most 1.3 times the chain",
    )
    return report.Section(
        "Rollout", (text, report.table(["", "median", "of the bare chain"], rows)), (finding,)
    )


def _chain(layers: list[np.ndarray]) -> np.ndarray:
    product = layers[0]
    for layer in layers[1:]:
        product = np.matmul(layer, product)
    return product
