"""Attention flow: layers compose by maximum flow."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow._internal.progress import progress_of_part
from attnflow.maxflow import flow_values
from attnflow.methods._groups import Groups
from attnflow.methods._receptive_field import corrected, uniform
from attnflow.methods._selection import Selection, graph_of, select
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention, TokenAttention

# Rows of a saturated layer are equal up to the solver's rounding, token by token: the largest error
# of a value.
_SAME = 1e-9
# Flat scores: how near their median is to the common limit, how near they are to their median, both
# as shares, and how many of them. Chosen: it marks the top of MiniLM from CLS, where 26 words have
# 0.555 to 0.566 and [SEP] 0.664, and not a range of 0.48 to 0.54.
_NEAR_LIMIT, _NEAR_MEDIAN, _PART = 0.1, 0.025, 0.75


def flow(
    x: Attention | EncoderDecoderAttention | AttentionGraph,
    *,
    layers: Iterable[int] | int | None = None,
    queries: Iterable[int] | int | None = None,
    onto: int = 0,
    head: int | None = None,
    without: Iterable[int] | int = (),
    receptive_field: bool = False,
    groups: Groups | None = None,
    threads: int | None = None,
    progress: checks.Progress | None = None,
) -> TokenAttention:
    """Return attention flow: the maximum flow from a position down to a token.

    `F(i, j) = max flow from i to j`, with the weights of the attention graph as capacities: the
    weight of a path is its narrowest edge, and paths that share an edge share its capacity.
    `normalized()` gives rows that sum to one, as the original code does.

    A score has a ceiling: the smaller of the sum of the query's row and the sum of the token's
    column, or of the columns of a group. The error of a score is at most 1e-9 of its ceiling for
    weights of any range, and about 1e-12 for attention. Each score is proved by a cut or bound in
    integers; without a proof it is a SolverError. A flow within 3e-11 of the ceiling is rounded to
    it.

    The flow of deep layers is often **saturated**: the same for every query. Such a layer says
    which tokens can pass on much, and nothing about the query; `saturated` of the result marks it.
    With a single query there is nothing to compare; then a layer is marked if every score is at its
    ceiling, which no attention in between can change.

    The scores of a query are **flat** if all tokens but its own have nearly the same score. It is
    so where a position attends mostly to itself: `F(i, j) ≤ c(i) + A_1[i, j]`, with `c(i)` the
    weight of all edges from position i to others in the layers from 2 up, which limits every token
    alike.
    `flat` of the result marks a layer and query where the median score of the other tokens, or of
    groups without the query, is within 10 % of `c(i)`, and three quarters of them are within 2.5 %
    of this median. Tokens that the query cannot reach do not count, and two must remain.

    Parameters
    ----------
    x
        The attention of a model, whose `graph()` is used, or a graph. Unbounded edges never limit
        a flow; a token that such edges alone connect to a query has an infinite score.
    layers, queries, onto, head, without, receptive_field
        As for `rollout`. With `head`, layers are solved one by one. With `receptive_field`, twice
        the pairs are solved, and `saturated` and `flat` are about the flow before the correction.
    groups
        Sets of positions of layer `onto`, such as words, sentences or documents: a list of lists,
        or a mapping of names to lists. Then there is one column per group, the most that can reach
        its tokens together; this is at most the sum of their flows, which may use the same edges.
        Groups may overlap, since each is a maximum flow of its own, and need not contain all
        positions. Without names, a group is named by its tokens. With `receptive_field`, scores
        are divided by the flow to the same groups, so that a large group has no advantage.
    threads
        How many tokens are solved at a time; more than the number of cores has no effect. By
        default one per core, or one if there is little to do. Scores do not depend on it.
    progress
        Called with (pairs done, pairs in total).

    Notes
    -----
    Real attention of 128 tokens and 12 layers takes some seconds for all pairs; see the
    benchmarks. The time grows a little faster than the number of pairs times the number of tokens.
    A group takes as long as a token. Memory is `16 · L · n²` bytes for each thread. Small flows
    are solved in plain Python. The first larger one compiles the solver, which takes about a
    quarter of a minute once per installation, and again the first time that a layer has more than
    64 nodes.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import attnflow as af
    >>> g = af.AttentionGraph([[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> af.flow(g, layers=2).scores
    array([[[1. , 0.5],
            [0.5, 0.5]]])
    >>> af.flow(g, layers=2, groups={"both": [0, 1]}).scores
    array([[[1.],
            [1.]]])
    """
    checks.check_progress(progress)
    graph = graph_of(x, head=head, without=without)
    chosen = select(graph, layers=layers, queries=queries, onto=onto, groups=groups)
    if threads is not None:
        threads = checks.as_int(threads, "threads", least=1)
    field = uniform(chosen) if checks.as_bool(receptive_field, "receptive_field") else None
    solve = _fused_layers if graph.tops is None else _single_head
    solves = 1 if field is None else 2
    scores = solve(chosen, threads, progress_of_part(progress, 0, solves))
    saturated, flat = _saturated(chosen, scores), _flat(chosen, scores)
    if field is not None:
        scores = corrected(scores, solve(field, threads, progress_of_part(progress, 1, solves)))
    return chosen.result("flow", scores, saturated, flat, receptive_field=receptive_field)


def _fused_layers(
    chosen: Selection, threads: int | None, progress: checks.Progress | None
) -> NDArray[np.float64]:
    matrices = chosen.graph.layers[chosen.onto : max(chosen.layers)]
    layers = [layer - chosen.onto for layer in chosen.layers]
    return flow_values(
        matrices,
        chosen.queries,
        layers=layers,
        sets=_sets(chosen),
        threads=threads,
        progress=progress,
    )


def _single_head(
    chosen: Selection, threads: int | None, progress: checks.Progress | None
) -> NDArray[np.float64]:
    """Appendix A.1: a network of its own for each layer of interest."""
    graph, scores = chosen.graph, list[NDArray[np.float64]]()
    for number, layer in enumerate(chosen.layers):
        (top,) = flow_values(
            (*graph.layers[chosen.onto : layer - 1], graph.top(layer)),
            chosen.queries,
            layers=[layer - chosen.onto],
            sets=_sets(chosen),
            threads=threads,
            progress=progress_of_part(progress, number, len(chosen.layers)),
        )
        scores.append(top)
    return np.stack(scores)


def _sets(chosen: Selection) -> tuple[tuple[int, ...], ...] | None:
    return None if chosen.groups is None else chosen.groups.positions


def _saturated(chosen: Selection, scores: NDArray[np.float64]) -> list[bool]:
    """Return for each layer whether its scores are saturated, as defined in `flow`."""
    if len(chosen.queries) > 1:
        return _same(scores.min(axis=1), scores.max(axis=1)).tolist()
    return _at_ceiling(chosen, scores)[:, 0].tolist()


def saturated_queries(graph: AttentionGraph, flows: TokenAttention) -> NDArray[np.bool_]:
    """Return for each layer and query of a flow whether that of this query alone is saturated.

    `flows` is the flow of tokens of this graph, not corrected for the receptive field.
    """
    chosen = select(graph, layers=flows.layers, queries=flows.queries)
    return _at_ceiling(chosen, flows.scores)


def _at_ceiling(chosen: Selection, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each layer and query whether all scores are as large as their ends allow."""
    graph, queries = chosen.graph, list(chosen.queries)
    giving = graph.layers[chosen.onto].sum(axis=0, dtype=np.float64)
    if (sets := _sets(chosen)) is not None:
        giving = np.array([giving[list(positions)].sum() for positions in sets])
    taking = [graph.top(layer)[queries].sum(axis=1, dtype=np.float64) for layer in chosen.layers]
    # In the lowest layer nothing lies between query and token.
    between = np.array(chosen.layers)[:, None] > chosen.onto + 1
    return _same(scores, np.minimum(giving, np.array(taking)[..., None])) & between


@np.errstate(over="ignore", invalid="ignore")  # of weights whose sum is no float; not flat
def _flat(chosen: Selection, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each layer and query whether its scores are flat, as defined in `flow`."""
    graph, onto = chosen.graph, chosen.onto
    flat = np.zeros(scores.shape[:2], dtype=np.bool_)
    if len(set(graph.sizes[onto : max(chosen.layers) + 1])) > 1:
        return flat  # the nodes of different layers are not the same positions
    queries = list(chosen.queries)
    own = np.arange(graph.sizes[onto]) == np.array(queries)[:, None]  # (query, position)

    def leaving(matrix: checks.Floats) -> NDArray[np.float64]:
        return np.where(own, 0.0, matrix[queries]).sum(axis=1, dtype=np.float64)

    below = [leaving(matrix) for matrix in graph.layers[onto : max(chosen.layers)]]
    columns = own
    if (sets := _sets(chosen)) is not None:
        columns = np.stack([own[:, list(positions)].any(axis=1) for positions in sets], axis=1)
    for number, (layer, rows) in enumerate(zip(chosen.layers, scores, strict=True)):
        if layer == onto + 1:
            continue  # no layer above the lowest: every score is an edge
        common = np.sum([*below[1 : layer - onto - 1], leaving(graph.top(layer))], axis=0)
        others = ~columns & (rows > 0) & np.isfinite(rows)
        count = others.sum(axis=1)
        medians = _medians(np.where(others, rows, np.inf), count)[:, None]
        near = others & (np.abs(np.where(others, rows, 0.0) - medians) <= _NEAR_MEDIAN * medians)
        limited = np.abs(medians[:, 0] - common) <= _NEAR_LIMIT * common
        flat[number] = (count > 1) & limited & (near.sum(axis=1) >= _PART * count)
    return flat


def _medians(rows: NDArray[np.float64], count: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the median of the `count` smallest values of each row; zero where that is none.

    np.ma.median does it too, but for the few tokens of a sentence takes longer than the flow.
    """
    ranked, places = np.sort(rows, axis=1), np.arange(len(rows))
    middle = ranked[places, (count - 1) // 2] + ranked[places, count // 2]
    return np.where(count > 0, middle / 2, 0.0)


def _same(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each row of two arrays whether they are equal up to rounding."""
    same: NDArray[np.bool_] = np.asarray(np.isclose(a, b, rtol=_SAME, atol=0))
    return np.logical_and.reduce(same, axis=-1)
