"""Importance: how much the answer of a model depends on each token of its input."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
from attnflow._internal.html_table import html_table
from attnflow._internal.settings import Settings, freeze_settings
from attnflow.errors import InputError
from attnflow.types._origin import Origin, check_origin
from attnflow.types._stored import StoredRecord
from attnflow.types._words import read_words

# So that the table fits a notebook's page; chosen by eye.
_ROWS_SHOWN = 30


@dataclass(frozen=True, slots=True, eq=False)
class Importance(StoredRecord):
    """How much the answer of a model depends on each token of its input.

    `values[i]` is what `tokens[i]` counts for. What token attention is measured against.

    Parameters
    ----------
    values
        One finite number a token; kept as float64 and read-only. Below zero only where the method
        has a sign: the token speaks against the answer.
    tokens
        Names of the positions: tokens, words or spans of the text.
    method
        What the values are, such as "blank_out" or "input_gradient".
    settings
        How they were made, the answer in question among it; with model and input, enough to
        compute them again.
    origin
        What the tokens stand for outside the model, where it is known.

    Notes
    -----
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> Importance([0.0, 0.7], ["the", "key"], "blank_out")
    Importance('blank_out', tokens=2)
    """

    values: NDArray[np.float64]
    tokens: tuple[str, ...]
    method: str
    settings: Settings
    origin: Origin | None

    _REQUIRED = ("values", "tokens", "method", "settings")
    _OPTIONAL = ("origin",)

    def __init__(
        self,
        values: ArrayLike,
        tokens: Iterable[str],
        method: str,
        settings: Settings | None = None,
        origin: Origin | None = None,
    ) -> None:
        array = checks.as_floats(values, "values").astype(np.float64, copy=False)
        if array.ndim != 1 or not array.size:
            raise InputError(
                f"values has shape {array.shape}; one number a token is wanted, at least one"
            )
        if not np.isfinite(array).all():
            place = int(np.argmin(np.isfinite(array)))
            raise InputError(f"values[{place}] is {array[place]}; finite numbers are wanted")
        if not isinstance(cast("object", method), str) or not method:
            raise InputError(f"method is {method!r}; a name is wanted, such as blank_out")
        self._set(
            values=checks.as_read_only(array),
            tokens=checks.as_tokens(tokens, array.size),
            method=str(method),
            settings=freeze_settings(settings),
            origin=check_origin(origin, array.size),
        )

    def absolute(self) -> Self:
        """The same without signs: `|values|`, how much a token counts whichever way.

        >>> Importance([0.5, -0.7], ["a", "b"], "integrated_gradients").absolute().values
        array([0.5, 0.7])
        """
        settings = {**self.settings, "absolute": True}
        return dataclasses.replace(self, values=np.abs(self.values), settings=settings)

    def to_words(self, text: str | None = None) -> Self:
        """The same for the words of the text that the model read, instead of its tokens.

        `values[w] = sum over the pieces i of word w of values[i]`. Words are those of
        `TokenAttention.to_words`, so that both can be compared; special tokens stay apart.

        Parameters
        ----------
        text
            What the tokens were made from; by default `origin.text`, which the functions of
            `attnflow.importance` keep. Where `origin.spans` is not known, the tokens are looked up
            in it.

        Notes
        -----
        What a word counts for as a whole is another question than the sum over its pieces;
        `attnflow.importance.leave_span_out` asks it of the model.

        Examples
        --------
        >>> i = Importance([0.1, 0.5, 0.2], ["the", "key", "##s"], "blank_out")
        >>> i.to_words("The keys").values
        array([0.1, 0.7])
        """
        read = read_words(self.tokens, text, self.origin)
        return dataclasses.replace(
            self,
            values=np.array([self.values[list(word.pieces)].sum() for word in read.words]),
            tokens=read.names,
            settings={**self.settings, "words": "sum"},
            origin=read.origin,
        )

    def __repr__(self) -> str:
        return f"Importance({self.method!r}, tokens={len(self.tokens)})"

    def _repr_html_(self) -> str:
        """The values, as far as they fit."""
        pairs = list(zip(self.tokens, self.values, strict=True))
        rows = [
            [str(number), token, f"{value:.3g}"]
            for number, (token, value) in enumerate(pairs[:_ROWS_SHOWN])
        ]
        more = f", the first {_ROWS_SHOWN} of {len(pairs)}" if len(pairs) > _ROWS_SHOWN else ""
        return html_table(f"{self.method}{more}", ["position", "token", "value"], rows)
