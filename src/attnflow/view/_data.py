"""`page_data`: all that a page shows, as one document of JSON.

The fields, which the page's script reads (`page/src`):

    version                number of this format
    title, text            headings; text is null where it is not known
    tokens, sizes          names of the input's positions; nodes of layers 0, 1, …, L
    names                  of every layer's nodes, where they are not called like the tokens
    causal                 whether positions see earlier ones only
    words, spans           word level: names and pieces; characters of each token, in UTF-16 units
    attention              {mean (L, n, n), heads (L, H, n, n) or null, residual}: fused weights
                           without the residual, which the page adds
    graph                  one matrix a layer, where only a graph is known
    scores                 [{method, layers, queries, values, saturated, settings}]
    importance, prediction what the answer depends on; the answer
    layer, query           what is seen first

With attention or a graph the page computes raw attention and rollout itself. An array is
{type, shape, scale, data}: base64 of little-endian numbers, "u2" for integer / 65535 · scale.
"""

from collections.abc import Iterable
from typing import Any, TypedDict, cast

from attnflow._internal.checks import Floats, Progress
from attnflow._internal.settings import thaw_settings
from attnflow.errors import InputError
from attnflow.importance import Importance, Prediction
from attnflow.types import Attention, TokenAttention
from attnflow.view._encoded import Encoded, as_floats, as_shares
from attnflow.view._flows import computed
from attnflow.view._shown import Content, Shown, content
from attnflow.view._text import text_parts

VERSION = 1  # of the document, which the page's script checks

_TITLE = "Token attention"
# Characters of the page. Chosen: what opens at once, and still goes into a mail.
_HEADS_SIZE = 8_000_000


class Settings(TypedDict, total=False):
    """The settings of `page_data`, which `to_html` and `show` hand on."""

    importance: Importance | Iterable[Importance]
    prediction: Prediction | None
    query: int | None
    layer: int | None
    flow_queries: Iterable[int] | int | None
    heads: bool | None
    title: str | None
    threads: int | None
    progress: Progress | None


def page_data(
    shown: Shown,
    *,
    importance: Importance | Iterable[Importance] = (),
    prediction: Prediction | None = None,
    query: int | None = None,
    layer: int | None = None,
    flow_queries: Iterable[int] | int | None = None,
    heads: bool | None = None,
    title: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """All that a page shows, as one document that JSON can hold.

    Parameters
    ----------
    shown, importance, prediction, query, layer, flow_queries, heads, title, threads, progress
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
    found = content(shown, importance=importance, prediction=prediction, layer=layer, query=query)
    scores = computed(found, flow_queries, threads=threads, progress=progress)
    # Of a graph with `tops` the layer of interest has weights of its own, and a page puts a graph
    # together from one matrix a layer: it gets the scores alone.
    graph = found.graph if found.graph is not None and found.graph.tops is None else None
    return {
        "version": VERSION,
        "title": _title(title),
        **text_parts(found.tokens, found.origin if found.to_tokens else None),
        "tokens": list(found.tokens),
        "sizes": list(found.sizes),
        "names": _names(found),
        "causal": found.causal,
        "attention": _attention(found.attention, heads=heads),
        "graph": None if graph is None else [_edges(matrix) for matrix in graph.layers],
        "scores": [_scores(each) for each in scores],
        "importance": [
            {"method": each.method, "values": each.values.tolist()} for each in found.importance
        ],
        "prediction": _prediction(found.prediction),
        "layer": found.layer,
        "query": found.query,
    }


def _title(title: object) -> str:
    if title is None:
        return _TITLE
    if not isinstance(title, str) or not title.strip():
        raise InputError(
            f"title is {title!r}; a text is wanted: give some words, or leave title out for "
            f"{_TITLE!r}"
        )
    return title


def _names(found: Content) -> list[list[str]] | None:
    """Names of the nodes of every layer, where they are not those of the tokens."""
    alike = [size == len(found.tokens) and found.named for size in found.sizes[1:]]
    if all(alike):
        return None
    tokens = list(found.tokens)
    above = zip(found.sizes[1:], alike, strict=True)
    return [tokens, *(tokens if same else list(map(str, range(n))) for n, same in above)]


def _attention(attention: Attention | None, *, heads: object) -> dict[str, Any] | None:
    if not isinstance(heads, bool | None):
        raise InputError(
            f"heads is {heads!r}; True is wanted for every head, or False for their mean; leave it "
            "out for every head where they are small"
        )
    if attention is None:
        if heads:
            raise InputError(
                "heads=True came, but the heads are fused already in what is shown; show the "
                "Attention, or leave heads out"
            )
        return None
    graph = attention.graph(residual=0.0)
    each = as_shares(attention.weights) if _with_heads(attention, asked=heads) else None
    return {"mean": as_shares(graph.layers), "heads": each, "residual": _residual()}


def _residual() -> float:
    """The residual that graphs have by default, asked of the smallest one."""
    return cast("float", Attention([[[[1.0]]]]).graph().settings["residual"])


def _with_heads(attention: Attention, *, asked: bool | None) -> bool:
    if asked and attention.averaged:
        raise InputError(
            "heads=True came, but this attention holds the mean of the heads only; read the model "
            'again with attend(…, heads="all")'
        )
    if asked is not None:
        return asked
    characters = attention.weights.size * 2 * 4 / 3  # two bytes a weight, in base64
    return attention.n_heads > 1 and characters < _HEADS_SIZE


def _edges(matrix: Floats) -> Encoded:
    """One layer of a graph: in 16 bits where its weights are shares, else as they are."""
    shares = float(matrix.max()) <= 1.0
    if not shares:
        return as_floats(matrix)
    # One part for each row, which make the same array together.
    return as_shares(matrix)


def _scores(scores: TokenAttention) -> dict[str, Any]:
    return {
        "method": scores.method,
        "layers": list(scores.layers),
        "queries": list(scores.queries),
        "values": as_floats(scores.scores),
        "saturated": list(scores.saturated),
        "settings": thaw_settings(scores.settings),
    }


def _prediction(prediction: Prediction | None) -> dict[str, Any] | None:
    if prediction is None:
        return None
    return {
        "label": prediction.label,
        "probabilities": dict(prediction.probabilities),
        "position": prediction.position,
    }
