"""`page_data`: the content of a page as one JSON document.

The fields, which the page's script reads (`page/src`):

    version                number of this format
    title, text            headings; text is null where it is not known
    texts                  what the encoder and the decoder of an encoder-decoder read, null of
                           other models and where it is not known
    tokens                 names of the input's positions, as people write them
    sizes                  nodes of layers 0, 1, …, L
    names                  of every layer's nodes, where they differ from the tokens
    layer_names            of layers 0, 1, …, L, where they are not numbered: an encoder-decoder's
    causal                 whether positions see earlier ones only
    generated              number of tokens at the end that the model generated
    grid                   {rows, columns, prefix}: which positions are patches of an image
    words, spans           word level: names and pieces; characters of each token, in UTF-16 units
    keep_sinks             whether attention sinks stay in the graph that is shown first
    receptive_field        whether the page opens with the correction for the receptive field
    edges                  name of the edge weights, null where it is not known
    sinks, sinks_note      positions of attention sinks, which the page can take out of the graph;
                           a sentence about them
    attention              {mean (L, n, n), heads (L, H, n, n) or null, n_heads or null, residual}:
                           fused weights without the residual, which the page adds
    graph                  one matrix for each layer, where only a graph is known
    graph_residual         its residual r, if layers are (1 − r) W + r I, as of an encoder-decoder
    scores                 [{method, layers, queries, values, uniform, saturated, flat, settings,
                           at_ceiling}], without the sinks unless these are kept; uniform: of causal
                           attention, the same flow of uniform attention, which the correction
                           divides by; at_ceiling: of flow that was computed here, whether that of
                           a query alone is saturated (layer, query)
    other_edges            other edge weights of the same input, between which the page switches:
                           [{edges, sinks, sinks_note, attention, graph, graph_residual, scores}]
    importance             [{method, values, replaced_by, target, against}]: importance of tokens;
                           what takes their place where they are replaced; the answer that it is
                           of, and the other one if it is of a difference; null where not known
    prediction             prediction of the model
    layer, query           selected first

With attention or a graph the page computes raw attention and rollout itself. An array is
{type, shape, scale, data}: base64 of little-endian numbers, "u2" for integer / 65535 · scale.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal, TypedDict, cast

from attnflow._internal.checks import Floats, Progress, check_progress
from attnflow._internal.display import label_names, token_names
from attnflow._internal.progress import progress_of_part
from attnflow._internal.settings import thaw_settings
from attnflow._internal.sinks import Sinks, describe_sinks
from attnflow.errors import InputError
from attnflow.importance import Importance, Prediction
from attnflow.methods import saturated_queries
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention, TokenAttention
from attnflow.view._content import Content, PageInput, content
from attnflow.view._encoding import EncodedArray, as_floats, as_shares
from attnflow.view._flows import page_graph, page_scores, uniform_flow
from attnflow.view._opening import opens_corrected, opens_with_sinks
from attnflow.view._text import text_parts

VERSION = 1  # of the document, which the page's script checks

_TITLE = "Token attention"
# Settings of importance: the answer that it is of, and the other one of a difference.
_ANSWERS = ("target_name", "other_name")
# Characters of the page. Chosen: opens quickly, and can be sent by mail.
_HEADS_SIZE = 8_000_000


class PageSettings(TypedDict, total=False):
    """The settings of `page_data`, `to_html` and `show`."""

    importance: Importance | Iterable[Importance]
    prediction: Prediction | None
    query: int | None
    layer: int | None
    flow_queries: Iterable[int] | int | None
    heads: Literal["all", "mean"] | None
    sinks: Sinks | None
    receptive_field: bool | None
    title: str | None
    threads: int | None
    progress: Progress | None


def page_data(
    x: PageInput,
    *,
    importance: Importance | Iterable[Importance] = (),
    prediction: Prediction | None = None,
    query: int | None = None,
    layer: int | None = None,
    flow_queries: Iterable[int] | int | None = None,
    heads: Literal["all", "mean"] | None = None,
    sinks: Sinks | None = None,
    receptive_field: bool | None = None,
    title: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the content of a page as one JSON document.

    Parameters
    ----------
    x, importance, prediction, query, layer, flow_queries, heads, sinks, receptive_field, title
        As for `to_html`.
    threads, progress
        As for `to_html`.

    Notes
    -----
    Arrays are base64: attention in 16 bits a weight (`integer / 65535 · scale`), scores and graphs
    with unbounded edges as float32.

    Examples
    --------
    >>> import attnflow as af
    >>> document = page_data(af.Attention([[[[1.0, 0.0], [0.5, 0.5]]]], ["a", "b"]))
    >>> document["tokens"], document["sizes"], document["layer"]
    (['a', 'b'], [2, 2], 1)
    """
    check_progress(progress)
    found = content(x, importance=importance, prediction=prediction, layer=layer, query=query)
    every = (found, *(replace(one, layer=found.layer, query=found.query) for one in found.others))
    _check_heads(heads, every)
    keep_sinks = opens_with_sinks(found, sinks)
    corrected = opens_corrected(found, receptive_field=receptive_field)
    origin = found.origin if found.to_tokens else None
    names = _answer_names(found)
    solves = sum(2 if one.can_correct else 1 for one in every)
    parts = (progress_of_part(progress, number, solves) for number in range(solves))
    settings: Any = {"heads": heads, "keep_sinks": keep_sinks, "threads": threads, "parts": parts}
    first, *others = [_of_edges(one, flow_queries, **settings) for one in every]
    return {
        "version": VERSION,
        "title": _title(title),
        **text_parts(found.tokens, origin),
        "texts": _texts(found),
        "tokens": list(token_names(found.tokens)),
        "sizes": list(found.sizes),
        "names": _names(found),
        "layer_names": found.layer_names and list(found.layer_names),
        "causal": found.causal,
        "generated": 0 if origin is None else origin.generated,
        "grid": None if origin is None or origin.grid is None else asdict(origin.grid),
        "keep_sinks": keep_sinks,
        "receptive_field": corrected,
        **first,
        "other_edges": others,
        "importance": [_importance(one, names) for one in found.importance],
        "prediction": _prediction(found.prediction, names),
        "layer": found.layer,
        "query": found.query,
    }


def _title(title: object) -> str:
    if title is None:
        return _TITLE
    if not isinstance(title, str) or not title.strip():
        raise InputError(f"title must be a non-empty str, or None for {_TITLE!r}, got {title!r}")
    return title


def _answer_names(found: Content) -> dict[str, str]:
    """Return the names of classes or tokens as people write them, of prediction and importance."""
    given = dict(found.prediction.probabilities) if found.prediction else {}
    asked = (_text(one, name) for one in found.importance for name in _ANSWERS)
    return label_names(dict.fromkeys([*given, *filter(None, asked)]))


def _importance(importance: Importance, names: dict[str, str]) -> dict[str, Any]:
    target, against = (_text(importance, name) for name in _ANSWERS)
    return {
        "method": importance.method,
        "values": importance.values.tolist(),
        "replaced_by": _text(importance, "replaced_by"),
        "target": names.get(target or ""),
        "against": names.get(against or ""),
    }


def _text(importance: Importance, name: str) -> str | None:
    """Return a setting that is a text; None without one."""
    setting = importance.settings.get(name)
    return setting if isinstance(setting, str) else None


def _texts(found: Content) -> list[str] | None:
    """Return the texts of encoder and decoder, which the text of the input joins."""
    both, origin = found.weights, found.origin
    if not isinstance(both, EncoderDecoderAttention) or origin is None or origin.text is None:
        return None
    spans = (origin.spans or ())[both.encoder.shape[-1] :]
    start = next((span[0] for span in spans if span is not None), None)
    if start is None:
        return None
    return [origin.text[:start].strip(), origin.text[start:].strip()]


def _names(found: Content) -> list[list[str]] | None:
    """Return the names of the nodes of every layer, if they differ from the tokens."""
    alike = [size == len(found.tokens) and found.named for size in found.sizes[1:]]
    if all(alike):
        return None
    tokens = list(token_names(found.tokens))
    above = zip(found.sizes[1:], alike, strict=True)
    return [tokens, *(tokens if same else list(map(str, range(n))) for n, same in above)]


def _check_heads(heads: object, contents: Sequence[Content]) -> None:
    if heads is not None and (not isinstance(heads, str) or heads not in ("all", "mean")):
        raise InputError(f"heads: expected 'all', 'mean' or None, got {heads!r}")
    attentions = [found.attention for found in contents if found.attention is not None]
    if heads == "all" and all(attention.averaged for attention in attentions):
        raise InputError(
            "heads must not be 'all': the page shows single heads of an Attention only; those of "
            "an encoder-decoder, a graph, scores or a mean of the heads are fused"
        )


def _of_edges(
    found: Content,
    flow_queries: Iterable[int] | int | None,
    *,
    heads: str | None,
    keep_sinks: bool,
    threads: int | None,
    parts: Iterator[Progress | None],
) -> dict[str, Any]:
    """Return the fields that depend on what the edges weigh; each solve reports a part."""
    sinks = found.sink_positions
    source = page_graph(found, () if keep_sinks else sinks)
    scores = page_scores(found, flow_queries, graph=source, threads=threads, progress=next(parts))
    uniform = None
    if source is not None and found.can_correct:
        part = next(parts)
        if scores:
            uniform = uniform_flow(source, scores[0], threads=threads, progress=part)
    # The page builds a graph from one matrix for each layer, so of a graph with `tops` it gets
    # scores only.
    graph = found.graph if found.graph is not None and found.graph.tops is None else None
    return {
        "edges": found.edges,
        "sinks": list(sinks),
        "sinks_note": describe_sinks(found.sinks, found.tokens) if sinks else None,
        "attention": found.attention and _attention(found.attention, heads=heads),
        "graph": None if graph is None else [_edges(matrix) for matrix in graph.layers],
        "graph_residual": _residual() if found.weights is not found.attention else None,
        "scores": [
            {
                **_scores(one, uniform),
                "at_ceiling": None if source is None else _at_ceiling(source, one),
            }
            for one in scores
        ],
    }


def _attention(attention: Attention, *, heads: str | None) -> dict[str, Any]:
    characters = attention.weights.size * 2 * 4 / 3  # two bytes for each weight, in base64
    small = attention.n_heads > 1 and characters < _HEADS_SIZE
    every_head = as_shares(attention.weights) if heads == "all" or (not heads and small) else None
    mean = as_shares(attention.graph(residual=0.0).layers)
    n_heads = None if attention.averaged else attention.n_heads
    return {"mean": mean, "heads": every_head, "n_heads": n_heads, "residual": _residual()}


def _at_ceiling(graph: AttentionGraph, scores: TokenAttention) -> list[list[int]] | None:
    if scores.method != "flow":
        return None
    return saturated_queries(graph, scores).astype(int).tolist()  # shorter than "false" in JSON


@functools.cache
def _residual() -> float:
    """Return the default residual of graphs."""
    return cast("float", Attention([[[[1.0]]]]).graph().settings["residual"])


def _edges(matrix: Floats) -> EncodedArray:
    """Return one layer of a graph, in 16 bits if its weights are at most 1, else as float32."""
    return as_shares(matrix) if float(matrix.max()) <= 1.0 else as_floats(matrix)


def _scores(scores: TokenAttention, uniform: TokenAttention | None) -> dict[str, Any]:
    return {
        "method": scores.method,
        "layers": list(scores.layers),
        "queries": list(scores.queries),
        "values": as_floats(scores.scores),
        "uniform": None if uniform is None else as_floats(uniform.scores),
        "saturated": list(scores.saturated),
        "flat": scores.flat.astype(int).tolist(),
        "settings": thaw_settings(scores.settings),
    }


def _prediction(prediction: Prediction | None, names: dict[str, str]) -> dict[str, Any] | None:
    if prediction is None:
        return None
    return {
        "label": names[prediction.label],
        "probabilities": {names[label]: p for label, p in prediction.probabilities.items()},
        "position": prediction.position,
    }
