"""What a page is to show, whatever it came as: checked, and in one form."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.evaluate import Explanation
from attnflow.importance import Importance, Prediction
from attnflow.types import (
    Attention,
    AttentionGraph,
    EncoderDecoderAttention,
    Origin,
    TokenAttention,
)

Shown: TypeAlias = (
    Attention
    | EncoderDecoderAttention
    | AttentionGraph
    | TokenAttention
    | Sequence[TokenAttention]
    | Explanation
)
_KINDS = (
    "an Attention, EncoderDecoderAttention, AttentionGraph, TokenAttention or Explanation, or a "
    "list of TokenAttention, one a method"
)


@dataclass(frozen=True, slots=True)
class Content:
    """What a page shows: one input, and all that is known about it.

    Of `attention`, `graph` and `scores` there is at least one. `layer` and `query` are what is
    seen first.
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
    named: bool = True  # whether layers as large as the input are named like it

    @property
    def to_tokens(self) -> bool:
        """Whether scores go to the tokens of a text, and not to segments or another layer."""
        return all(_kind(each) == (0, "tokens", None) for each in self.scores)


def content(
    shown: Shown,
    *,
    importance: Importance | Iterable[Importance] = (),
    prediction: Prediction | None = None,
    layer: int | None = None,
    query: int | None = None,
) -> Content:
    """Check that all of it is about one input, and fill in what is left out."""
    found = _plain(shown)
    if prediction is not None:
        if found.prediction is not None:
            raise InputError("an Explanation has its prediction; leave prediction out")
        found = replace(found, prediction=_checked_prediction(prediction))
    found = replace(found, importance=(*found.importance, *_importance(importance)))
    _check_importance(found)
    return _placed(found, layer, query)


def _plain(shown: object) -> Content:
    if isinstance(shown, Attention):
        sizes = (shown.n_tokens,) * (shown.n_layers + 1)
        last = shown.n_tokens - 1 if shown.causal else 0
        about = (shown.tokens, sizes, shown.n_layers, last, shown.causal, shown.origin)
        return Content(*about, attention=shown)
    if isinstance(shown, EncoderDecoderAttention):
        return _of_graph(shown.graph())
    if isinstance(shown, AttentionGraph):
        return _of_graph(shown)
    if isinstance(shown, TokenAttention):
        return _of_scores((shown,))
    if isinstance(shown, Explanation):
        return _of_explanation(shown)
    if isinstance(shown, Sequence) and not isinstance(shown, str | bytes):
        return _of_several(cast("Sequence[object]", shown))
    raise InputError(f"a {type(shown).__name__} came; a page shows {_KINDS}")


def _of_explanation(explanation: Explanation) -> Content:
    return replace(
        _plain(explanation.attention),
        layer=explanation.layer,
        query=explanation.query,
        importance=tuple(explanation.importance.values()),
        prediction=explanation.prediction,
    )


def _of_graph(graph: AttentionGraph) -> Content:
    causal = bool(graph.settings.get("causal", False))
    # The last position of what a model writes; of others the first, where CLS stands.
    writes = causal or "decoder_layers" in graph.settings
    query = graph.sizes[-1] - 1 if writes else 0
    about = (graph.tokens, graph.sizes, graph.n_layers, query, causal, graph.origin)
    return Content(*about, graph=graph)


def _of_several(shown: Sequence[object]) -> Content:
    for place, each in enumerate(shown):
        if not isinstance(each, TokenAttention):
            raise InputError(
                f"a list came, with a {type(each).__name__} at {place}; a page shows one input: "
                "one of them, or a list of TokenAttention, one a method"
            )
    if not shown:
        raise InputError(f"an empty {type(shown).__name__} came; a page shows {_KINDS}")
    return _of_scores(cast("Sequence[TokenAttention]", tuple(shown)))


def _of_scores(several: Sequence[TokenAttention]) -> Content:
    first = several[0]
    for place, each in enumerate(several[1:], start=1):
        if each.tokens != first.tokens or _kind(each) != _kind(first):
            raise InputError(
                f"scores 0 and {place} are not about the same tokens; a page shows one input: make "
                "a page of each"
            )
    methods = [each.method for each in several]
    if len(set(methods)) < len(methods):
        raise InputError(
            f"scores of {', '.join(methods)} came; a page shows each method once: make a page of "
            "each"
        )
    queries, layers = (_shared([getattr(t, name) for t in several]) for name in _AXES)
    causal = bool(first.settings.get("causal", False))
    named = _kind(first)[1] == "tokens" and max(queries) < len(first.tokens)
    above = len(first.tokens) if named else 1 + max(q for t in several for q in t.queries)
    top = max(layer for t in several for layer in t.layers)
    return Content(
        tokens=first.tokens,
        sizes=(len(first.tokens), *([above] * top)),
        layer=max(layers),
        query=(max if causal else min)(queries),
        causal=causal,
        origin=first.origin,
        scores=tuple(several),
        named=named,
    )


_AXES = ("queries", "layers")


def _kind(scores: TokenAttention) -> tuple[Any, ...]:
    """What the last axis of scores is: the layer, its nodes or segments of them, words or not."""
    settings = scores.settings
    segments = "tokens" if settings.get("segments", "tokens") == "tokens" else "segments"
    return settings.get("onto", 0), segments, settings.get("words")


def _shared(several: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """What all have, or else what any has."""
    common, every = set(several[0]).intersection(*several), set(several[0]).union(*several)
    return tuple(sorted(common or every))


def _importance(given: object) -> tuple[Importance, ...]:
    several: object = (given,) if isinstance(given, Importance) else given
    if not isinstance(several, Iterable):
        raise InputError(f"importance is a {type(given).__name__}; give Importance, one or several")
    each = tuple(cast("Iterable[object]", several))
    for one in each:
        if not isinstance(one, Importance):
            raise InputError(f"importance holds a {type(one).__name__}; Importance is wanted")
    return cast("tuple[Importance, ...]", each)


def _check_importance(found: Content) -> None:
    methods = [each.method for each in found.importance]
    if len(set(methods)) < len(methods):
        raise InputError(
            f"importance by {', '.join(methods)} came; a page shows each method once: leave one out"
        )
    for each in found.importance:
        if each.tokens != found.tokens:
            raise InputError(
                f"importance by {each.method} is about {len(each.tokens)} tokens, "
                f"{' '.join(each.tokens[:3])} …, and what is shown about {len(found.tokens)}, "
                f"{' '.join(found.tokens[:3])} …; give importance of the same tokens"
            )


def _checked_prediction(prediction: object) -> Prediction:
    if not isinstance(prediction, Prediction):
        raise InputError(
            f"prediction is a {type(prediction).__name__}; a Prediction is wanted, as "
            "attnflow.importance.predict gives it"
        )
    return prediction


def _placed(found: Content, layer: int | None, query: int | None) -> Content:
    """The same with the layer and query that are asked for, if they are there to be shown."""
    if layer is not None:
        layers = {number for each in found.scores for number in each.layers}
        known = sorted(layers) if found.scores else range(1, len(found.sizes))
        found = replace(found, layer=_one_of(layer, "layer", known))
    queries = {number for each in found.scores for number in each.queries}
    there = sorted(queries) if found.scores else range(found.sizes[found.layer])
    wanted = found.query if query is None else query
    if query is None and wanted not in there:  # the layer asked for is smaller than the top
        wanted = there[-1]
    return replace(found, query=_one_of(wanted, "query", there))


def _one_of(value: object, name: str, known: Sequence[int]) -> int:
    number = checks.as_int(value, name)
    if number not in known:
        several = {"layer": "layers", "query": "queries"}[name]
        ends = f"{known[0]} to {known[-1]}" if len(known) > 1 else str(known[0])
        gaps = ", not all of them" if len(known) < 1 + known[-1] - known[0] else ""
        raise InputError(
            f"{name} is {number}; {several} to be shown are {ends}{gaps}: give one of them, or "
            f"leave {name} out"
        )
    return number
