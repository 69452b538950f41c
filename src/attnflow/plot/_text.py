"""`text`: tokens with coloured backgrounds, in notebooks and terminals."""

import os
from dataclasses import dataclass
from html import escape

import numpy as np

from attnflow._internal.display import token_names
from attnflow._internal.scale import largest_other
from attnflow.plot._checks import query_index
from attnflow.plot._labels import layer_title, query_name, score_notes
from attnflow.plot._palette import colour_of, hex_colour, ink_on, tint
from attnflow.plot._scale import own_column
from attnflow.types import TokenAttention

_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True, repr=False)
class ColouredText:
    """Tokens with background colours that show their scores.

    Parameters
    ----------
    tokens
        The tokens.
    scores
        One score for each token.
    colour
        Background of the largest score, as #RRGGBB; white is 0.
    caption
        Caption, for example what the scores are.
    vmax
        Score of the full colour; larger ones have it too. By default the largest.
    """

    tokens: tuple[str, ...]
    scores: tuple[float, ...]
    colour: str
    caption: str
    vmax: float | None = None

    def to_html(self) -> str:
        """Return one HTML element with inline colours; names of tokens are escaped."""
        spans = " ".join(
            f'<span style="background:{hex_colour(behind)};color:{hex_colour(ink_on(behind))};'
            f'padding:0.1em 0.25em;border-radius:0.2em" title="{score:.4g}">'
            f"{escape(name)}</span>"
            for name, score, behind in self._coloured()
        )
        return (
            '<figure style="margin:0.5em 0"><figcaption style="font-size:smaller;opacity:0.8">'
            f"{escape(self.caption)}</figcaption>"
            f'<div style="line-height:1.9">{spans}</div></figure>'
        )

    def to_terminal(self, *, colour: bool | None = None) -> str:
        """Return the caption and the tokens in 24-bit ANSI colours; without colours, with scores.

        By default `colour` is True unless NO_COLOR is set (https://no-color.org) or TERM is dumb.
        """
        if colour is None:
            colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        if not colour:
            pairs = zip(token_names(self.tokens), self.scores, strict=True)
            words = [f"{name}[{score:.2f}]" for name, score in pairs]
        else:
            words = [
                f"{_ansi(48, behind)}{_ansi(38, ink_on(behind))} {name} {_RESET}"
                for name, _, behind in self._coloured()
            ]
        return f"{self.caption}\n{' '.join(words)}"

    def _coloured(self) -> list[tuple[str, float, tuple[int, int, int]]]:
        finite = [score for score in self.scores if np.isfinite(score)]
        top = self.vmax or max(finite, default=0.0) or 1.0
        return [
            (name, score, tint(self.colour, score / top))
            for name, score in zip(token_names(self.tokens), self.scores, strict=True)
        ]

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        return f"ColouredText({self.caption!r}, tokens={len(self.tokens)})"


def text(
    token_attention: TokenAttention, *, query: int | None = None, layer: int | None = None
) -> ColouredText:
    """Return the tokens with background colours that show the scores of one position.

    White is 0. The full colour is the largest score but for what the query has of itself and for
    attention sinks, as in `heatmap`; these have it too, and the caption says from which score on.
    It also says what was taken out of the scores. Notebooks show the result; `to_html` and
    `to_terminal` return it as text. Needs no matplotlib.

    Parameters
    ----------
    token_attention
        Scores; those of words (`to_words`) are easiest to read.
    query
        Position whose scores are drawn; optional if only one was computed.
    layer
        Layer; by default the last computed.

    Examples
    --------
    >>> import attnflow as af
    >>> from attnflow import plot
    >>> t = af.TokenAttention([[[0.2, 0.8]]], ["the", "key"], [6], [1], "rollout")
    >>> print(plot.text(t).to_terminal(colour=False))
    Attention rollout, layer 6, from position 1 key, full colour from 0.2
    the[0.20] key[0.80]
    """
    place = query_index(token_attention, query)
    position = token_attention.queries[place]
    chosen = max(token_attention.layers) if layer is None else layer
    scores = token_attention.row(chosen, position)
    top = largest_other(scores[None], own_column(token_attention, position))
    caption = [
        layer_title(token_attention, chosen, position),
        f"from {query_name(token_attention, position)}",
        *score_notes(token_attention),
        *([f"full colour from {top:.2g}"] if scores.max() > top else []),
    ]
    return ColouredText(
        token_attention.tokens,
        tuple(scores.tolist()),
        colour_of(token_attention.method),
        ", ".join(caption),
        vmax=top,
    )


def _ansi(kind: int, colour: tuple[int, int, int]) -> str:
    red, green, blue = colour
    return f"\x1b[{kind};2;{red};{green};{blue}m"
