"""What pictures say beside scores: what these measure, and which layers are saturated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnflow.types import TokenAttention

_STAR = "*"


def measured(shown: TokenAttention) -> str:
    """What the scores of a method are.

    >>> import attnflow as af
    >>> t = af.TokenAttention([[[2.0, 2.0]]], ["a", "b"], [1], [0], "flow")
    >>> measured(t), measured(t.normalized())
    ('flow', 'share of flow')
    """
    if shown.method == "rollout":
        return "share"
    what = {"raw": "attention", "flow": "flow"}[shown.method]
    # Corrected for the receptive field, rows sum to one as well.
    shares = shown.settings.get("normalized") or shown.settings.get("receptive_field")
    return f"share of {what}" if shares else what


def layer_names(shown: TokenAttention) -> list[str]:
    """Numbers of the layers from the lowest up, with a star at those that are saturated.

    >>> import attnflow as af
    >>> marks = [True, False]
    >>> t = af.TokenAttention([[[1.0]]] * 2, ["a"], [2, 1], [0], "flow", saturated=marks)
    >>> layer_names(t)
    ['1', '2*']
    """
    pairs = sorted(zip(shown.layers, shown.saturated, strict=True))
    return [f"{layer}{_STAR * saturated}" for layer, saturated in pairs]


def layer_label(names: Sequence[str]) -> str:
    """What stands beside such names: it explains the star where there is one.

    >>> layer_label(["1", "2"]), layer_label(["1", "2*"])
    ('layer', 'layer (* saturated)')
    """
    starred = any(name.endswith(_STAR) for name in names)
    return f"layer ({_STAR} saturated)" if starred else "layer"
