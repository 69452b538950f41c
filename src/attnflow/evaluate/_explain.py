"""`explain`: the prediction of a model for a text, with token attention and importance."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from attnflow._internal import checks
from attnflow._internal.sinks import Sinks, sinks_to_remove
from attnflow.edges import BlockLayout, Edges, check_edges, check_layout, edge_graph
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.evaluate._explanation import Explanation
from attnflow.evaluate._threads import is_small, one_thread_if_small
from attnflow.importance import attend_recorded, importance_with_prediction
from attnflow.methods import flow, raw, rollout
from attnflow.models import attend
from attnflow.models.inputs import (
    Chat,
    Inputs,
    Pair,
    is_pretrained,
    is_text,
    model_and_tokenizer,
    prepare,
    takes_pipeline,
)
from attnflow.types import METHODS, Attention, AttentionGraph, Method, TokenAttention

if TYPE_CHECKING:
    from torch import nn


@takes_pipeline
def explain(
    model: nn.Module,
    tokenizer: Any,
    text: str | Pair | Chat,
    *,
    layer: int | None = None,
    query: int | None = None,
    methods: Sequence[Method] = METHODS,
    edges: Edges | Sequence[Edges] = "attention",
    layout: BlockLayout | None = None,
    target: int | str | None = None,
    against: int | str | None = None,
    position: int | None = None,
    replace: Any = None,
    sinks: Sinks = "remove",
    receptive_field: bool | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
    threads: int | None = None,
    progress: checks.Progress | None = None,
) -> Explanation:
    """Return the prediction of a model for a text, with token attention and importance.

    Parameters
    ----------
    model, tokenizer
        A classifier, or a masked or causal language model, and its tokenizer; or a pipeline of
        transformers, or what `attnflow.models.load` returns: `explain(pipe, text)`.
    text
        One text; a tuple of two, a sentence pair; or the messages of a chat, as for `attend`.
    layer
        The layer that attends; the last by default.
    query
        The position that attends. By default the one whose output is read: `position` for a
        language model, the last one for a causal classifier, else the first, where CLS stands.
    methods
        "raw", "rollout", "flow", or some of them.
    edges
        What the edges of the graph weigh: the name of a function of `attnflow.edges`, or several.
        Scores are those of the first; `Explanation.graphs` has all, and a page of `attnflow.view`
        switches between them. With other edges than attention, raw scores are the rows of that
        graph, with what it measures of the residual connection.
    layout
        For models that `attnflow.edges` does not know: where their blocks keep their parts.
    target, position, replace, truncate, batch_size
        As for `attnflow.importance.blank_out`.
    against
        Another answer: importance, and edges "gradient", say why the target and not this one. They
        are then of the difference of their logits.
    sinks
        "remove" takes attention sinks (`Attention.sinks`) out of the scores, as `without` of `raw`,
        `rollout` and `flow` does: they would leave nearly nothing for the other tokens.
        `Explanation.without` has their positions. "keep" gives the scores of the paper. Other edges
        than attention are never changed.
    receptive_field
        Whether rollout and flow of a causal model are corrected for the receptive field, see
        `rollout`; without, nearly all of rollout goes to the first token left. By default yes for
        the attention of a causal model; False gives the scores of the paper.
    threads
        Threads for flow; all cores by default.
    progress
        Called with (steps done, steps in total). The steps are attention, each token that is
        replaced, the gradient and each method. The first call is after attention, which gives the
        number of tokens. An exception that it raises stops the work.

    Notes
    -----
    The text is tokenised once. Forward passes: one for attention; `n + 1` rows for `blank_out` of n
    tokens, in batches, which give the prediction too; one with gradients, which is that for
    attention if a model that is not of transformers has fewer than ten million weights; and, the
    first time for a model, one with gradients for `input_gradient` to choose the sum or the norm. A
    model that passes no gradient on, as quantised ones do, has no `input_gradient`, and
    `Explanation.missing` says why. A model of fewer than ten million weights runs in one thread of
    torch.

    Examples
    --------
    >>> import attnflow as af
    >>> from attnflow import paper
    >>> shipped = paper.load()
    >>> e = af.explain(shipped.model, shipped.tokenizer, "the key to the cabinets")
    >>> e.prediction.label, e.tokens
    ('singular', ('[CLS]', 'the', 'key', 'to', 'the', 'cabinets', '<?>'))
    """
    if not (is_text(text) or isinstance(cast("object", text), Inputs)):  # prepared by the app
        raise InputError(
            "text: explain takes one text, a str, a pair or the messages of a chat, got "
            f"{type(text).__name__}. Call it for each of several texts. For an image or tensors, "
            "pass the graph of attnflow.edges.gradient to attnflow.rollout, or the result of "
            "attnflow.attend to attnflow.view.show"
        )
    chosen, names = _check_methods(methods), _check_edges(edges)
    _ = check_layout(layout)
    checks.check_progress(progress)
    _ = sinks_to_remove((), 0, sinks)  # checks the setting before any work
    model, tokenizer = model_and_tokenizer(model, tokenizer)
    inputs = prepare(model, tokenizer, text, truncate=truncate)
    with one_thread_if_small(model):
        recorded = attend_recorded(model, inputs) if _is_small_plain(model) else None
        attention = (
            recorded.attention if recorded else attend(model, tokenizer, cast("Any", inputs))
        )
    if not isinstance(attention, Attention):
        raise UnsupportedModelError(
            f"{type(model).__name__} is an encoder-decoder, and explain takes models with one "
            "sequence of tokens; use attnflow.models.attend and attnflow.importance"
        )
    top, last = attention.n_layers, attention.n_tokens - 1
    layer = top if layer is None else checks.as_int(layer, "layer", least=1, most=top)
    if query is not None:
        query = checks.as_int(query, "query", least=0, most=last)
    before = 2 + attention.n_tokens  # steps before the first method

    def report(done: int) -> None:
        if progress is not None:
            progress(done, before + len(chosen))

    report(1)

    def unchanged(_done: int, _total: int) -> None:
        report(1)  # it may raise, to end the work

    settings: Any = {
        "target": target, "against": against, "position": position, "layout": layout,
        "progress": unchanged,
    }  # fmt: skip
    with one_thread_if_small(model):
        graphs: dict[Edges, Attention | AttentionGraph] = {
            name: attention
            if name == "attention"
            else edge_graph(model, tokenizer, inputs, name, **settings)
            for name in names
        }
        prediction, importance, missing = importance_with_prediction(
            model,
            tokenizer,
            inputs,
            target=target,
            against=against,
            position=position,
            replace=replace,
            batch_size=batch_size,
            progress=lambda done, _total: report(1 + done),
            recorded=recorded,
        )
    if query is None:
        read = last if attention.causal else 0
        query = read if prediction.position is None else prediction.position
    rows: dict[str, Any] = {"layers": [layer], "queries": [query]}
    without = sinks_to_remove(attention.sinks, attention.n_tokens, sinks)
    corrected = attention.causal and names[0] == "attention"
    if receptive_field is not None:
        corrected = checks.as_bool(receptive_field, "receptive_field")
    composed = {**rows, "receptive_field": corrected}
    compute = _computations(graphs[names[0]], without, rows, composed, threads)
    scores: dict[Method, TokenAttention] = {}
    for done, method in enumerate(chosen, before + 1):
        scores[method] = compute[method]()
        report(done)
    text = inputs.sources[0].text
    return Explanation(text, prediction, scores, importance, attention, graphs, missing)


def _is_small_plain(model: nn.Module) -> bool:
    """Whether attention and gradient are taken from one pass, which costs memory.

    Attention of transformers may take several passes, and its fused kernels save memory.
    """
    return is_small(model) and not any(is_pretrained(module) for module in model.modules())


def _computations(
    weights: Attention | AttentionGraph,
    without: tuple[int, ...],
    rows: dict[str, Any],
    composed: dict[str, Any],
    threads: int | None,
) -> dict[Method, Callable[[], TokenAttention]]:
    """Return what computes the scores of each method; `composed` are those of several layers."""
    excluded = without if isinstance(weights, Attention) else ()

    @functools.cache  # heads are fused once, and not for raw attention
    def graph() -> AttentionGraph:
        return weights.graph(without=excluded) if isinstance(weights, Attention) else weights

    return {
        "raw": lambda: raw(weights, without=excluded, **rows),
        "rollout": lambda: rollout(graph(), **composed),
        "flow": lambda: flow(graph(), **composed, threads=threads),
    }


def _check_methods(methods: Sequence[Method]) -> tuple[Method, ...]:
    known = ", ".join(METHODS)
    if not isinstance(cast("object", methods), Sequence) or not methods:
        raise InputError(f"methods: expected one or more of {known}, got {methods!r}")
    given = (methods,) if isinstance(methods, str) else tuple(methods)
    for method in given:
        if method not in METHODS:
            raise InputError(f"methods: expected some of {known}, got {method!r}")
    return cast("tuple[Method, ...]", tuple(dict.fromkeys(given)))


def _check_edges(edges: Edges | Sequence[Edges]) -> tuple[Edges, ...]:
    if isinstance(edges, str) or not isinstance(cast("object", edges), Sequence) or not edges:
        return (check_edges(edges),)
    return tuple(dict.fromkeys(check_edges(name) for name in edges))
