"""`text`: tokens on a background as strong as their scores, in notebooks and terminals."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from attnflow.plot._checks import checked_query
from attnflow.plot._names import printable
from attnflow.plot._palette import TITLES, colour_of, ink_on, tint, written
from attnflow.types import position_name

if TYPE_CHECKING:
    from attnflow.types import TokenAttention

_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True, repr=False)
class ColouredText:
    """Tokens with a score each, shown by the colour behind them.

    Parameters
    ----------
    tokens
        The tokens.
    scores
        One score for each.
    colour
        What is behind the token of the largest score, as #RRGGBB; white stands for 0.
    caption
        What the scores are.
    """

    tokens: tuple[str, ...]
    scores: tuple[float, ...]
    colour: str
    caption: str

    def to_html(self) -> str:
        """One HTML element that brings its colours along; names of tokens are escaped."""
        spans = " ".join(
            f'<span style="background:{written(behind)};color:{written(ink_on(behind))};'
            f'padding:0.1em 0.25em;border-radius:0.2em" title="{score:.4g}">'
            f"{escape(printable(token))}</span>"
            for token, score, behind in self._coloured()
        )
        return (
            '<figure style="margin:0.5em 0"><figcaption style="font-size:smaller;opacity:0.8">'
            f"{escape(self.caption)}</figcaption>"
            f'<div style="line-height:1.9">{spans}</div></figure>'
        )

    def to_terminal(self, *, colour: bool | None = None) -> str:
        """The caption and the tokens with ANSI colours of 24 bits; or without, each with its score.

        `colour` says which; by default there are colours unless the environment has NO_COLOR
        (https://no-color.org) or a terminal without any.
        """
        if colour is None:
            colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        if not colour:
            pairs = zip(self.tokens, self.scores, strict=True)
            words = [f"{printable(token)}[{score:.2f}]" for token, score in pairs]
        else:
            words = [
                f"{_ansi(48, behind)}{_ansi(38, ink_on(behind))} {printable(token)} {_RESET}"
                for token, _, behind in self._coloured()
            ]
        return f"{self.caption}\n{' '.join(words)}"

    def _coloured(self) -> list[tuple[str, float, tuple[int, int, int]]]:
        finite = [score for score in self.scores if np.isfinite(score)]
        top = max(finite, default=0.0) or 1.0
        return [
            (token, score, tint(self.colour, score / top))
            for token, score in zip(self.tokens, self.scores, strict=True)
        ]

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        return f"ColouredText({self.caption!r}, tokens={len(self.tokens)})"


def text(
    token_attention: TokenAttention, *, query: int | None = None, layer: int | None = None
) -> ColouredText:
    """Tokens on a background as strong as what one position takes from them.

    The strongest colour stands for the largest score of the row, white for 0. Notebooks show the
    result; `to_html` and `to_terminal` give it as text. Needs no matplotlib.

    Parameters
    ----------
    token_attention
        Scores; those of words (`to_words`) read best.
    query
        The position that attends; it may be left out where only one was computed.
    layer
        The layer that attends; by default the last that was computed.

    Examples
    --------
    >>> import attnflow as af
    >>> from attnflow import plot
    >>> t = af.TokenAttention([[[0.2, 0.8]]], ["the", "key"], [6], [1], "rollout")
    >>> print(plot.text(t).to_terminal(colour=False))
    Attention rollout, layer 6, from 1 key
    the[0.20] key[0.80]
    """
    place = checked_query(token_attention, query)
    position = token_attention.queries[place]
    chosen = max(token_attention.layers) if layer is None else layer
    scores = token_attention.row(chosen, position)
    # Of segments, or of the nodes of another layer, the names are not those of positions.
    named = token_attention.settings.get("segments", "tokens") == "tokens"
    named = named and token_attention.settings.get("onto", 0) == 0
    where = position_name(position, token_attention.tokens if named else ())
    told = f"{TITLES[token_attention.method]}, layer {chosen}, from {printable(where)}"
    return ColouredText(
        token_attention.tokens,
        tuple(scores.tolist()),
        colour_of(token_attention.method),
        told,
    )


def _ansi(kind: int, colour: tuple[int, int, int]) -> str:
    red, green, blue = colour
    return f"\x1b[{kind};2;{red};{green};{blue}m"
