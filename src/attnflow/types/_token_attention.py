"""TokenAttention: what comes out."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks, words
from attnflow._internal.settings import Settings, freeze_settings
from attnflow.errors import InputError
from attnflow.types._origin import Origin, check_origin
from attnflow.types._score_table import position_name, score_table
from attnflow.types._stored import StoredRecord
from attnflow.types._words import read_words

Method: TypeAlias = Literal["raw", "rollout", "flow"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True, slots=True, eq=False)
class TokenAttention(StoredRecord):
    """How much each position of each layer takes from each input token.

    `scores[a, b, c]` is what position `queries[b]` of layer `layers[a]` takes from `tokens[c]`.
    Layers are numbered as in the paper: layer 0 is the input, 1 the output of the first block.

    Parameters
    ----------
    scores
        Scores (layer, query, token), none negative; kept as float64 and read-only. Maximum flow
        over edges without bound may be infinite.
    tokens
        Names of the last axis.
    layers, queries
        Numbers of the layers (1 and up) and positions that the first two axes stand for.
    method
        "raw", "rollout" or "flow".
    settings
        How the scores were made; with the attention, enough to compute them again.
    saturated
        One truth value a layer: True where flow gave the same for every query that was computed,
        so that the layer tells nothing about the query; `flow` says what it means for a single
        query. By default False everywhere.
    origin
        What the tokens stand for outside the model, where it is known.

    Notes
    -----
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import attnflow as af
    >>> t = af.rollout(af.Attention([[[[1.0, 0.0], [0.5, 0.5]]]], ["a", "b"]))
    >>> t
    TokenAttention('rollout', layers=1, queries=2, tokens=2)
    >>> t.row(1, 1)
    array([0.25, 0.75])
    """

    scores: NDArray[np.float64]
    tokens: tuple[str, ...]
    layers: tuple[int, ...]
    queries: tuple[int, ...]
    method: Method
    settings: Settings
    saturated: tuple[bool, ...]
    origin: Origin | None

    _REQUIRED = ("scores", "tokens", "layers", "queries", "method", "settings", "saturated")
    _OPTIONAL = ("origin",)

    def __init__(
        self,
        scores: ArrayLike,
        tokens: Iterable[str],
        layers: Iterable[int],
        queries: Iterable[int],
        method: Method,
        settings: Settings | None = None,
        saturated: Iterable[bool] | None = None,
        origin: Origin | None = None,
    ) -> None:
        array = checks.as_floats(scores, "scores").astype(np.float64, copy=False)
        if array.ndim != 3 or 0 in array.shape:
            raise InputError(
                f"scores has shape {array.shape}; three axes (layer, query, token) are wanted, "
                "none of them empty"
            )
        if not array.min() >= 0:  # also when it is NaN
            place = np.unravel_index(np.argmin(array >= 0), array.shape)
            raise InputError(
                f"scores[{', '.join(map(str, place))}] is {array[place]}; scores are 0 or more"
            )
        if not isinstance(cast("object", method), str) or method not in METHODS:
            raise InputError(f"method is {method!r}; use one of {', '.join(METHODS)}")
        numbers = checks.as_ints(layers, "layers")
        positions = checks.as_ints(queries, "queries")
        marks = _marks(saturated, len(numbers))
        if array.shape[:2] != (len(numbers), len(positions)) or len(marks) != len(numbers):
            raise InputError(
                f"scores has shape {array.shape}, but there are {len(numbers)} layers, "
                f"{len(positions)} queries and {len(marks)} marks of saturation; "
                "give one number for each layer and query of scores"
            )
        if min(numbers) < 1 or min(positions) < 0:
            raise InputError(
                f"layers {numbers} and queries {positions} came; "
                "layers count from 1 (0 is the input), queries from 0"
            )
        self._set(
            scores=checks.as_read_only(array),
            tokens=checks.as_tokens(tokens, array.shape[2]),
            layers=numbers,
            queries=positions,
            method=method,
            settings=freeze_settings(settings),
            saturated=marks,
            origin=check_origin(origin, array.shape[2]),
        )

    def normalized(self) -> Self:
        """Return the scores with rows that sum to one, as in the original code of the paper.

        `scores / scores.sum(token)`; a row of zeros stays zero. A row with an infinite score is an
        InputError.

        >>> import attnflow as af
        >>> t = af.rollout(af.AttentionGraph([[[2.0, 2.0], [0.0, 0.0]]]))
        >>> t.normalized().scores
        array([[[0.5, 0.5],
                [0. , 0. ]]])
        """
        largest = self.scores.max(axis=2, keepdims=True)
        if not np.isfinite(largest).all():
            a, b, _ = np.unravel_index(np.argmax(largest), largest.shape)
            raise InputError(
                f"layer {self.layers[a]}, query {self.queries[b]} has an infinite score and cannot "
                "be normalized. Compute only queries without an unbounded path to a token"
            )
        # Scaling by a power of two is exact, and the sum of a row cannot overflow afterwards.
        scores = np.ldexp(self.scores, -np.frexp(largest)[1])
        scores /= np.where(largest > 0, scores.sum(axis=2, keepdims=True), 1.0)
        scores.setflags(write=False)
        settings = {**self.settings, "normalized": True}
        return dataclasses.replace(self, scores=scores, settings=settings)

    def row(self, layer: int, query: int) -> NDArray[np.float64]:
        """Scores (token) of one position of one layer, both numbered as in `layers`, `queries`.

        >>> TokenAttention([[[0.5, 0.5]]], ["a", "b"], [6], [0], "rollout").row(6, 0)
        array([0.5, 0.5])
        """
        place = _place(layer, "layer", self.layers)
        return self.scores[place, _place(query, "query", self.queries)]

    def to_words(self, text: str | None = None, *, queries: words.Pieces = "mean") -> Self:
        """The same for the words of the text that the model read, instead of its tokens.

        `scores[a, v, w] = mean_b sum_c scores[a, b, c]` over the pieces b of word v and c of word
        w. Words are named as they stand in the text and `origin.spans` holds their characters;
        special tokens and white space stay apart.

        Parameters
        ----------
        text
            What the tokens were made from; by default `origin.text`, which `attnflow.models.attend`
            keeps, with what the model wrote. Of an encoder-decoder, source and target with a line
            break between. Where `origin.spans` is not known, the tokens are looked up in it.
        queries
            "mean" for the mean over the pieces of a word that were computed, "last" for its last
            piece, which in a causal model has seen the whole word. Queries of the result are
            numbers of words: those of which a piece was computed.

        Notes
        -----
        Rows keep their sums. A sum of flows is not the flow to the set: it is that or more, as
        flows to two pieces may use the same edges. So flow favours words of many pieces; divide by
        their number, or compare words of as many.

        Examples
        --------
        >>> import attnflow as af
        >>> a = af.Attention([[[[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]]]], ["the", "key", "##s"])
        >>> t = af.rollout(a).to_words("The keys")
        >>> t.tokens, t.row(1, 1)
        (('The', 'keys'), array([0., 1.]))
        """
        if self._segmented:
            raise InputError(
                "the scores go to segments, and words are made of tokens; compute them with "
                'segments="tokens", or with segments="words" in the first place'
            )
        onto = self.settings.get("onto", 0)
        if onto != 0:
            raise InputError(
                f"the scores go to layer {onto}, whose nodes are no characters of a text; compute "
                "them with onto=0"
            )
        read = read_words(self.tokens, text, self.origin)
        scores, numbers = words.merged(self.scores, self.queries, read.words, rows=queries)
        scores.setflags(write=False)
        return dataclasses.replace(
            self,
            scores=scores,
            tokens=read.names,
            queries=numbers,
            settings={**self.settings, "words": queries},
            origin=read.origin,
        )

    def to_grid(self, query: int = 0) -> NDArray[np.float64]:
        """Scores (layer, row, column) of one position over the patches of an image.

        Special tokens, before the patches or after them, are left out. Position 0 is the class
        token of most image models.

        >>> import attnflow as af
        >>> o = af.Origin(grid=af.Grid(rows=1, columns=2, prefix=1))
        >>> t = af.TokenAttention([[[0.5, 0.3, 0.2]]], [*"c01"], [6], [0], "rollout", origin=o)
        >>> t.to_grid()
        array([[[0.3, 0.2]]])
        """
        if self._segmented:
            raise InputError(
                "the scores go to segments, and a grid is made of patches; compute them with "
                'segments="tokens"'
            )
        grid = self.origin.grid if self.origin else None
        if grid is None:
            raise InputError(
                "the tokens are not known to be patches of an image; give the attention an "
                "Origin(grid=Grid(rows, columns, prefix))"
            )
        place = _place(query, "query", self.queries)
        patches = self.scores[:, place, grid.prefix : grid.prefix + grid.size]
        return patches.reshape(len(self.layers), grid.rows, grid.columns)

    def __repr__(self) -> str:
        layers, queries, tokens = self.scores.shape
        return (
            f"TokenAttention({self.method!r}, layers={layers}, queries={queries}, tokens={tokens})"
        )

    def _repr_html_(self) -> str:
        """The scores of the last layer, as far as they fit."""
        # With one query for each input token they are the same positions. Otherwise the layer may
        # be of another size, which is not known here.
        whole = self.queries == tuple(range(len(self.tokens))) and self.settings.get("onto", 0) == 0
        names = self.tokens if whole and not self._segmented else ()
        queries = [position_name(query, names) for query in self.queries]
        caption = f"{self!r}, layer {self.layers[-1]}"
        several = len(self.queries) > 1  # a single query is compared with nothing, see `flow`
        if self.saturated[-1]:
            caption += ", saturated" if several else ", scores at their ceiling"
        elif self.method == "flow" and several:
            caption += ", not saturated"
        return score_table(caption, self.tokens, queries, self.scores[-1])

    @property
    def _segmented(self) -> bool:
        """Whether the last axis are segments, several tokens each, and queries are tokens still."""
        return self.settings.get("segments", "tokens") != "tokens"


def _place(value: object, name: str, computed: tuple[int, ...]) -> int:
    """Where the scores of a layer or query are, if it was computed."""
    shown = [str(number) for number in computed]
    listed = ", ".join(shown if len(shown) <= 10 else [*shown[:3], "…", shown[-1]])
    try:
        number = checks.as_int(value, name)
    except InputError as reason:
        raise InputError(f"{name} is {value!r}; a number is wanted, one of {listed}") from reason
    if number not in computed:
        several = {"layer": "layers", "query": "queries"}[name]
        raise InputError(f"{name} {number} was not computed; {several} are {listed}")
    return computed.index(number)


def _marks(saturated: object, count: int) -> tuple[bool, ...]:
    """One truth value a layer, as plain ones; without any, False everywhere."""
    if saturated is None:
        return (False,) * count
    marks = np.asarray(saturated)
    if marks.dtype.kind != "b" or marks.ndim != 1:
        raise InputError(f"saturated is {saturated!r}; one truth value a layer is wanted")
    return tuple(bool(mark) for mark in marks)
