"""Labels of figures: what scores measure, what was taken out, where flow is saturated or flat."""

from collections.abc import Sequence
from typing import cast

from attnflow._internal.display import position_names
from attnflow.plot._palette import TITLES
from attnflow.plot._scale import is_segmented
from attnflow.types import TokenAttention

_SATURATED, _FLAT = "*", "\N{DAGGER}"


def score_label(token_attention: TokenAttention) -> str:
    """Return the label of the scores of a method.

    >>> import attnflow as af
    >>> t = af.TokenAttention([[[2.0, 2.0]]], ["a", "b"], [1], [0], "flow")
    >>> score_label(t), score_label(t.normalized())
    ('flow', 'share of flow')
    """
    if token_attention.method == "rollout":
        return "share"
    what = {"raw": "attention", "flow": "flow"}[token_attention.method]
    # Rows corrected for the receptive field sum to one as well.
    shares = token_attention.settings.get("normalized") or token_attention.settings.get(
        "receptive_field"
    )
    return f"share of {what}" if shares else what


def layer_names(token_attention: TokenAttention, place: int | None = None) -> list[str]:
    """Return the layer numbers from the lowest up, with marks where flow is saturated or flat.

    A layer is marked as flat if the query at index `place` is, by default if all queries are.

    >>> import attnflow as af
    >>> marks = [True, False]
    >>> t = af.TokenAttention([[[1.0]]] * 2, ["a"], [2, 1], [0], "flow", saturated=marks)
    >>> layer_names(t)
    ['1', '2*']
    """
    flat = [bool(row.all() if place is None else row[place]) for row in token_attention.flat]
    rows = sorted(zip(token_attention.layers, token_attention.saturated, flat, strict=True))
    return [f"{layer}{_SATURATED * saturated}{_FLAT * even}" for layer, saturated, even in rows]


def flow_mark(token_attention: TokenAttention, layer: int, query: int | None = None) -> str:
    """Return " (saturated)" or " (flat)" if flow is so in a layer, else "".

    Flat is meant of one query; without it of all, and of some of them their number is given.

    >>> import attnflow as af
    >>> t = af.TokenAttention([[[1.0]] * 2], ["a"], [6], [0, 1], "flow", flat=[[True, False]])
    >>> flow_mark(t, 6, 0), flow_mark(t, 6, 1), flow_mark(t, 6)
    (' (flat)', '', ' (flat for 1 of 2 queries)')
    """
    place = token_attention.layers.index(layer)
    if token_attention.saturated[place]:
        return " (saturated)"
    flat = token_attention.flat[place]
    if query is not None:
        flat = flat[[token_attention.queries.index(query)]]
    if not flat.any():
        return ""
    return " (flat)" if flat.all() else f" (flat for {flat.sum()} of {len(flat)} queries)"


def layer_title(token_attention: TokenAttention, layer: int, query: int | None = None) -> str:
    """Return the method and the layer, and whether flow is saturated or flat there.

    Flat is meant of the query, without one of all computed.

    >>> import attnflow as af
    >>> t = af.TokenAttention([[[1.0]]], ["a"], [6], [0], "flow", saturated=[True])
    >>> layer_title(t, 6)
    'Attention flow, layer 6 (saturated)'
    """
    mark = flow_mark(token_attention, layer, query)
    return f"{TITLES[token_attention.method]}, layer {layer}{mark}"


def query_name(token_attention: TokenAttention, query: int) -> str:
    """Return the name of a query: its position, and its token if the columns are the tokens."""
    kind = "word" if "words" in token_attention.settings else "position"
    return position_names([query], position_tokens(token_attention), kind)


def position_tokens(token_attention: TokenAttention) -> tuple[str, ...]:
    """Return the names of positions: none if columns are segments, or nodes of another layer."""
    named = token_attention.settings.get("onto", 0) == 0 and not is_segmented(token_attention)
    return token_attention.tokens if named else ()


def taken_out(token_attention: TokenAttention) -> tuple[int, ...]:
    """Return the positions of tokens that were taken out of the attention, see `rollout`."""
    return tuple(cast("tuple[int, ...]", token_attention.settings.get("without", ())))


def score_notes(token_attention: TokenAttention) -> list[str]:
    """Return lines about what was taken out of the scores, and how they were corrected.

    >>> import attnflow as af
    >>> settings = {"without": (0,), "receptive_field": True}
    >>> t = af.TokenAttention([[[0.0, 1.0]]], ["<s>", "a"], [6], [1], "flow", settings)
    >>> score_notes(t)
    ['without position 0 <s>', 'corrected for the receptive field']
    """
    lines: list[str] = []
    if positions := taken_out(token_attention):
        # Of words, the names are those of words, and the positions still those of tokens.
        words = "words" in token_attention.settings
        tokens = () if words else position_tokens(token_attention)
        named = position_names(positions, tokens, "position" if tokens else "token")
        lines.append(f"without {named}")
    if token_attention.settings.get("receptive_field") is True:
        lines.append("corrected for the receptive field")
    return lines


def layer_label(names: Sequence[str]) -> str:
    """Return the axis label for such names; it explains the marks that there are.

    >>> layer_label(["1", "2"]), layer_label(["1", "2*"])
    ('layer', 'layer (* saturated)')
    """
    marks = ((_SATURATED, "saturated"), (_FLAT, "flat"))
    meanings = [f"{mark} {word}" for mark, word in marks if any(mark in name for name in names)]
    return f"layer ({', '.join(meanings)})" if meanings else "layer"
