"""The content of a page, from any input that `to_html` accepts, checked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from attnflow._internal import checks
from attnflow._internal.sinks import sinks_to_remove
from attnflow.edges import Edges
from attnflow.errors import InputError
from attnflow.evaluate import Explanation
from attnflow.importance import Importance, Prediction
from attnflow.types import (
    Attention,
    AttentionGraph,
    EncoderDecoderAttention,
    Origin,
    Sink,
    TokenAttention,
)
from attnflow.view._start import first_query, layer_names

EdgesInput: TypeAlias = Attention | EncoderDecoderAttention | AttentionGraph
PageInput: TypeAlias = (
    EdgesInput
    | Mapping[str, EdgesInput]
    | Mapping[Edges, Attention | AttentionGraph]
    | TokenAttention
    | Sequence[TokenAttention]
    | Explanation
)
_KINDS = (
    "an Attention, EncoderDecoderAttention, AttentionGraph, TokenAttention or Explanation, a "
    "list of TokenAttention, one for each method, or a dict of graphs, one for each edge weight"
)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a page about one input.

    At least one of `attention`, `graph` and `scores` is set. `layer` and `query` are selected
    first. `sinks` are those that the page can take out of the graph, known if `weights` are.
    `others` are contents of the same input with other edge weights.
    """

    tokens: tuple[str, ...]
    sizes: tuple[int, ...]
    layer: int
    query: int
    causal: bool = False
    origin: Origin | None = None
    attention: Attention | None = None
    graph: AttentionGraph | None = None
    scores: tuple[TokenAttention, ...] = ()
    importance: tuple[Importance, ...] = ()
    prediction: Prediction | None = None
    named: bool = True  # whether nodes of layers as large as the input have the tokens' names
    edges: str | None = None  # the name of the edge weights, if it is known
    weights: Attention | EncoderDecoderAttention | None = None  # that the graph is built from
    sinks: tuple[Sink, ...] = ()
    layer_names: tuple[str, ...] | None = None  # of an encoder-decoder, the input first
    others: tuple["Content", ...] = ()
    # How the scores of an Explanation were made.
    keep_sinks: bool = False
    corrected: bool | None = None  # None: they say nothing about what the page can correct

    @property
    def to_tokens(self) -> bool:
        """Whether scores are of the tokens of a text, and not of segments or another layer."""
        return all(_axis(scores) == (0, "tokens", None) for scores in self.scores)

    @property
    def can_correct(self) -> bool:
        """Whether the page can correct these scores for the receptive field."""
        return self.causal and self.attention is not None

    @property
    def sink_positions(self) -> tuple[int, ...]:
        """Positions that the page can take out; see `sinks_to_remove`."""
        return sinks_to_remove(self.sinks, len(self.tokens))


def content(
    x: PageInput,
    *,
    importance: Importance | Iterable[Importance] = (),
    prediction: Prediction | None = None,
    layer: int | None = None,
    query: int | None = None,
) -> Content:
    """Return the content of a page; all arguments must be about one input."""
    found = _content_of(x)
    if prediction is not None:
        if found.prediction is not None:
            raise InputError("an Explanation includes its prediction. Leave prediction out")
        if not isinstance(cast("object", prediction), Prediction):
            raise InputError(
                f"prediction must be a Prediction, got {type(prediction).__name__}. Pass what "
                "attnflow.importance.predict returns"
            )
        found = replace(found, prediction=prediction)
    found = replace(found, importance=(*found.importance, *_importance(importance)))
    _check_importance(found)
    return _select(found, layer, query)


def _content_of(x: object) -> Content:
    if isinstance(x, Attention):
        return Content(
            x.tokens,
            (x.n_tokens,) * (x.n_layers + 1),
            x.n_layers,
            first_query(x.origin, x.n_tokens, decoder=x.causal),
            x.causal,
            x.origin,
            attention=x,
            edges=_edges_name(x.settings) or "attention",
            weights=x,
            sinks=x.sinks,
        )
    if isinstance(x, EncoderDecoderAttention):
        query = first_query(x.origin, x.n_tokens, decoder=True)
        return replace(
            _of_graph(x.graph()), query=query, edges="attention", weights=x, sinks=x.sinks
        )
    if isinstance(x, AttentionGraph):
        return _of_graph(x)
    if isinstance(x, TokenAttention):
        return _of_scores((x,))
    if isinstance(x, Explanation):
        return _of_explanation(x)
    if isinstance(x, Mapping):
        return _of_edges(cast("Mapping[object, object]", x))
    if isinstance(x, Sequence) and not isinstance(x, str | bytes):
        return _of_several(cast("Sequence[object]", x))
    raise InputError(f"expected {_KINDS}, got {type(x).__name__}")


def _of_explanation(x: Explanation) -> Content:
    found = _of_edges(x.graphs)
    composed = any(method in x.scores for method in ("rollout", "flow"))
    return replace(
        found,
        layer=x.layer,
        query=x.query,
        importance=tuple(x.importance.values()),
        prediction=x.prediction,
        keep_sinks=bool(found.sink_positions) and not x.without,
        corrected=x.receptive_field if found.can_correct and composed else None,
    )


def _of_graph(graph: AttentionGraph) -> Content:
    causal = bool(graph.settings.get("causal", False))
    decoder = causal or "decoder_layers" in graph.settings
    query = first_query(graph.origin, graph.sizes[-1], decoder=decoder)
    edges = _edges_name(graph.settings)
    return Content(
        graph.tokens,
        graph.sizes,
        graph.n_layers,
        query,
        causal,
        graph.origin,
        graph=graph,
        edges=edges,
        layer_names=layer_names(graph.settings, graph.n_layers),
    )


def _edges_name(settings: Mapping[str, object]) -> str | None:
    """Return the name of the edge weights that the functions of `attnflow.edges` record."""
    name = settings.get("edges")
    return name if isinstance(name, str) else None


def _of_edges(graphs: Mapping[Any, object]) -> Content:
    """Return the content of the first of several edge weights, with the others."""
    contents: list[Content] = []
    for name, graph in graphs.items():
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"expected names of edge weights as keys, got {name!r}")
        if not isinstance(graph, Attention | EncoderDecoderAttention | AttentionGraph):
            raise InputError(
                "expected an Attention or AttentionGraph for each edge weight, got "
                f"{type(graph).__name__} for {name!r}"
            )
        contents.append(replace(_content_of(graph), edges=name))
    if not contents:
        raise InputError(f"expected {_KINDS}, got an empty {type(graphs).__name__}")
    first, *others = contents
    for other in others:
        if (other.tokens, other.sizes) != (first.tokens, first.sizes):
            raise InputError(
                f"the graphs of {first.edges!r} and {other.edges!r} are of different tokens or "
                "layers, and a page shows one input. Make a page of each"
            )
    if others and any(one.graph is not None and one.graph.tops is not None for one in contents):
        raise InputError(
            "a page with several edge weights takes no graph of a single head. Leave head out, or "
            "make a page of it alone"
        )
    return replace(first, others=tuple(others))


def _of_several(items: Sequence[object]) -> Content:
    for place, item in enumerate(items):
        if not isinstance(item, TokenAttention):
            raise InputError(
                "expected a list of TokenAttention, one for each method, got "
                f"{type(item).__name__} at index {place}. Make a page of each input"
            )
    if not items:
        raise InputError(f"expected {_KINDS}, got an empty {type(items).__name__}")
    return _of_scores(cast("Sequence[TokenAttention]", tuple(items)))


def _of_scores(several: Sequence[TokenAttention]) -> Content:
    first = several[0]
    for place, scores in enumerate(several[1:], start=1):
        if scores.tokens != first.tokens or _axis(scores) != _axis(first):
            raise InputError(
                f"scores 0 and {place} are of different tokens, and a page shows one input. Make a "
                "page of each"
            )
    methods = [scores.method for scores in several]
    if len(set(methods)) < len(methods):
        raise InputError(
            f"expected each method once, got scores of {', '.join(methods)}. Make a page of each"
        )
    queries, layers = (_shared([getattr(t, a) for t in several]) for a in ("queries", "layers"))
    causal = bool(first.settings.get("causal", False))
    named = _axis(first)[1] == "tokens" and max(queries) < len(first.tokens)
    above = len(first.tokens) if named else 1 + max(q for t in several for q in t.queries)
    top = max(layer for t in several for layer in t.layers)
    names = {_edges_name(scores.settings) for scores in several}
    predicting = () if first.origin is None else first.origin.predicting(len(first.tokens))
    written = set(predicting).intersection(queries)
    query = min(written) if written else (max if causal else min)(queries)
    return Content(
        tokens=first.tokens,
        sizes=(len(first.tokens), *([above] * top)),
        layer=max(layers),
        query=query,
        causal=causal,
        origin=first.origin,
        scores=tuple(several),
        named=named,
        edges=names.pop() if len(names) == 1 else None,
        layer_names=layer_names(first.settings, top),
    )


def _axis(scores: TokenAttention) -> tuple[Any, ...]:
    """Return what the last axis of scores is: layer, tokens or segments, words or not."""
    settings = scores.settings
    segments = "tokens" if settings.get("segments", "tokens") == "tokens" else "segments"
    return settings.get("onto", 0), segments, settings.get("words")


def _shared(several: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the numbers that all have, or else all numbers."""
    common, every = set(several[0]).intersection(*several), set(several[0]).union(*several)
    return tuple(sorted(common or every))


def _importance(given: object) -> tuple[Importance, ...]:
    several: object = (given,) if isinstance(given, Importance) else given
    if not isinstance(several, Iterable):
        raise InputError(f"importance must be one or more Importance, got {type(given).__name__}")
    items = tuple(cast("Iterable[object]", several))
    for item in items:
        if not isinstance(item, Importance):
            raise InputError(
                f"importance must be one or more Importance, got {type(item).__name__}"
            )
    return cast("tuple[Importance, ...]", items)


def _check_importance(found: Content) -> None:
    methods = [importance.method for importance in found.importance]
    if len(set(methods)) < len(methods):
        raise InputError(
            f"expected each importance method once, got {', '.join(methods)}. Leave one out"
        )
    for importance in found.importance:
        tokens = importance.tokens
        if tokens != found.tokens:
            raise InputError(
                f"importance by {importance.method} is of {len(tokens)} tokens, "
                f"{' '.join(tokens[:3])} …, and the page of {len(found.tokens)}, "
                f"{' '.join(found.tokens[:3])} …. Pass importance of the same tokens"
            )


def _select(found: Content, layer: int | None, query: int | None) -> Content:
    """Return the content with this layer and query selected, checked."""
    if layer is not None:
        layers = {number for scores in found.scores for number in scores.layers}
        known = sorted(layers) if found.scores else range(1, len(found.sizes))
        found = replace(found, layer=_one_of(layer, "layer", known))
    queries = {number for scores in found.scores for number in scores.queries}
    known = sorted(queries) if found.scores else range(found.sizes[found.layer])
    selected = found.query if query is None else query
    if query is None and selected not in known:  # the layer is smaller than the top
        selected = known[-1]
    return replace(found, query=_one_of(selected, "query", known))


def _one_of(value: object, name: str, known: Sequence[int]) -> int:
    number = checks.as_int(value, name, least=known[0], most=known[-1])
    if number not in known:  # a page may show some layers and queries only
        raise InputError(f"{name} must be one of {', '.join(map(str, known))}, got {number}")
    return number
