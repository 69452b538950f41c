"""Importance: how much the output of a model depends on each input token."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
from attnflow._internal.columns import Columns, as_frame, write_csv
from attnflow._internal.files import PathLike
from attnflow._internal.html_table import value_table
from attnflow._internal.settings import Settings, freeze_settings
from attnflow.errors import InputError
from attnflow.types._origin import Origin, check_origin
from attnflow.types._stored import StoredRecord
from attnflow.types._words import read_words


@dataclass(frozen=True, slots=True, eq=False)
class Importance(StoredRecord):
    """How much the output of a model depends on each input token.

    `values[i]` is the importance of `tokens[i]`. Token attention is compared with it.

    Parameters
    ----------
    values
        One finite number per token, stored as read-only float64. Negative only if the method has
        signs: the token lowers the score of the target.
    tokens
        Names of the positions: tokens, words or spans of the text.
    method
        Name of the method, such as "blank_out" or "input_gradient".
    settings
        How the values were computed, the target included; with model and input, enough to compute
        them again.
    origin
        Text or image that the tokens come from, if known.

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

    _REQUIRED = ("values", "tokens", "method")
    _OPTIONAL = ("settings", "origin")

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
            raise InputError(f"values: expected one number per token, got shape {array.shape}")
        if not np.isfinite(array).all():
            i = int(np.argmin(np.isfinite(array)))
            raise InputError(f"values must be finite, got values[{i}] = {array[i]}")
        if not isinstance(cast("object", method), str) or not method:
            raise InputError(f"method must be a name such as blank_out, got {method!r}")
        self._set(
            values=checks.as_read_only(array),
            tokens=checks.as_tokens(tokens, array.size),
            method=str(method),
            settings=freeze_settings(settings),
            origin=check_origin(origin, array.size),
        )

    def absolute(self) -> Self:
        """Return the importance without signs, `|values|`.

        >>> Importance([0.5, -0.7], ["a", "b"], "integrated_gradients").absolute().values
        array([0.5, 0.7])
        """
        settings = {**self.settings, "absolute": True}
        return dataclasses.replace(self, values=np.abs(self.values), settings=settings)

    def to_words(self, text: str | None = None) -> Self:
        """Return the importance of words instead of tokens.

        `values[w]` is the sum of `values[i]` over the tokens i of word w. Words are those of
        `TokenAttention.to_words`, so that both can be compared.

        Parameters
        ----------
        text
            As for `TokenAttention.to_words`.

        Notes
        -----
        The sum over tokens is not the effect of the word; `attnflow.importance.leave_span_out`
        computes that.

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

    def to_frame(self) -> Any:
        """Return the values as a pandas DataFrame, one row for each token; needs pandas.

        Columns are `position`, `token` and `score`. Tokens are those of the tokenizer, as in
        `TokenAttention.to_frame`.

        >>> print(Importance([0.25, 0.5], ["the", "key"], "blank_out").to_frame())
           position token  score
        0         0   the   0.25
        1         1   key   0.50
        """
        return as_frame(self._columns())

    def to_csv(self, path: PathLike) -> None:
        """Write the values to a .csv file with the columns of `to_frame`; needs no pandas."""
        write_csv(path, self._columns())

    def _columns(self) -> Columns:
        positions = np.arange(len(self.tokens))
        return {"position": positions, "token": list(self.tokens), "score": self.values}

    def __repr__(self) -> str:
        return f"Importance({self.method!r}, tokens={len(self.tokens)})"

    def _repr_html_(self) -> str:
        """Return the first values as HTML."""
        return value_table(self.method, self.tokens, self.values)
