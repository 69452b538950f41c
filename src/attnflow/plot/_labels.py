"""Labels of figures: what scores measure, and which layers are saturated."""

from collections.abc import Sequence

from attnflow.types import TokenAttention

_STAR = "*"


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


def layer_names(token_attention: TokenAttention) -> list[str]:
    """Return the layer numbers from the lowest up, with a star at saturated layers.

    >>> import attnflow as af
    >>> marks = [True, False]
    >>> t = af.TokenAttention([[[1.0]]] * 2, ["a"], [2, 1], [0], "flow", saturated=marks)
    >>> layer_names(t)
    ['1', '2*']
    """
    pairs = sorted(zip(token_attention.layers, token_attention.saturated, strict=True))
    return [f"{layer}{_STAR * saturated}" for layer, saturated in pairs]


def layer_label(names: Sequence[str]) -> str:
    """Return the axis label for such names; it explains the star if there is one.

    >>> layer_label(["1", "2"]), layer_label(["1", "2*"])
    ('layer', 'layer (* saturated)')
    """
    starred = any(name.endswith(_STAR) for name in names)
    return f"layer ({_STAR} saturated)" if starred else "layer"
