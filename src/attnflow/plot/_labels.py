"""Labels of figures: what scores measure, and in which layers flow is saturated or flat."""

from collections.abc import Sequence

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


def layer_label(names: Sequence[str]) -> str:
    """Return the axis label for such names; it explains the marks that there are.

    >>> layer_label(["1", "2"]), layer_label(["1", "2*"])
    ('layer', 'layer (* saturated)')
    """
    marks = ((_SATURATED, "saturated"), (_FLAT, "flat"))
    meanings = [f"{mark} {word}" for mark, word in marks if any(mark in name for name in names)]
    return f"layer ({', '.join(meanings)})" if meanings else "layer"
