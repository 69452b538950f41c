"""TokenAttention: scores of the input tokens, the result of raw, rollout and flow."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks, words
from attnflow._internal.columns import Columns, as_frame, write_csv
from attnflow._internal.display import position_name, token_names
from attnflow._internal.files import PathLike
from attnflow._internal.html_table import score_table
from attnflow._internal.settings import Settings, freeze_settings
from attnflow.errors import InputError
from attnflow.types._origin import Origin, check_origin
from attnflow.types._stored import StoredRecord
from attnflow.types._words import read_words

Method: TypeAlias = Literal["raw", "rollout", "flow"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True, slots=True, eq=False)
class TokenAttention(StoredRecord):
    """Attention of each position of each layer to each input token.

    `scores[a, b, c]` is the attention of position `queries[b]` of layer `layers[a]` to `tokens[c]`.
    Layers are numbered as in `Attention`.

    Parameters
    ----------
    scores
        Scores (layer, query, token), 0 or more, stored as read-only float64. Maximum flow over
        unbounded edges may be infinite.
    tokens
        Names of the last axis.
    layers, queries
        Layers (from 1) and positions (from 0) of the first two axes.
    method
        "raw", "rollout" or "flow".
    settings
        How the scores were computed; with the attention, enough to compute them again.
    saturated
        One bool per layer: whether flow is the same for every computed query, so that the layer
        says nothing about the query. `flow` explains what it means for a single query. By default
        all False.
    origin
        Text or image that the tokens come from, if known.
    flat
        Booleans (layer, query), stored as read-only: whether all tokens but the query's own have
        nearly the same score of flow, as `flow` defines it. By default all False.

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
    flat: NDArray[np.bool_]

    _REQUIRED = ("scores", "tokens", "layers", "queries", "method", "saturated")
    _OPTIONAL = ("settings", "origin", "flat")

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
        flat: ArrayLike | None = None,
    ) -> None:
        array = checks.as_floats(scores, "scores").astype(np.float64, copy=False)
        if array.ndim != 3 or 0 in array.shape:
            raise InputError(
                "scores: expected 3 axes (layer, query, token), none empty, got shape "
                f"{array.shape}"
            )
        if not array.min() >= 0:  # also when it is NaN
            place = np.unravel_index(np.argmin(array >= 0), array.shape)
            at = ", ".join(map(str, place))
            raise InputError(f"scores must be 0 or more, got scores[{at}] = {array[place]}")
        if not isinstance(cast("object", method), str) or method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        layers, queries = checks.as_ints(layers, "layers"), checks.as_ints(queries, "queries")
        flags = _as_bools(saturated, len(layers))
        if array.shape[:2] != (len(layers), len(queries)) or len(flags) != len(layers):
            raise InputError(
                f"scores has shape {array.shape}, but there are {len(layers)} layers, "
                f"{len(queries)} queries and {len(flags)} values of saturated. Pass one layer and "
                "one bool for each row of the first axis, one query for each row of the second"
            )
        if min(layers) < 1 or min(queries) < 0:
            raise InputError(
                f"layers must be 1 or more (0 is the input) and queries 0 or more, got {layers} "
                f"and {queries}"
            )
        self._set(
            scores=checks.as_read_only(array),
            tokens=checks.as_tokens(tokens, array.shape[2]),
            layers=layers,
            queries=queries,
            method=method,
            settings=freeze_settings(settings),
            saturated=flags,
            origin=check_origin(origin, array.shape[2]),
            flat=_flags(flat, array.shape[:2]),
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
        """Return the scores (token) of a layer and query, numbered as in `layers` and `queries`.

        >>> TokenAttention([[[0.5, 0.5]]], ["a", "b"], [6], [0], "rollout").row(6, 0)
        array([0.5, 0.5])
        """
        row = _index(layer, "layer", self.layers), _index(query, "query", self.queries)
        return self.scores[row]

    def to_words(self, text: str | None = None, *, queries: words.QueryReduction = "mean") -> Self:
        """Return the scores of words instead of tokens.

        `scores[a, v, w] = mean_b sum_c scores[a, b, c]` over the tokens b of word v and c of word
        w. Words have the names of the text, and `origin.spans` their characters; special tokens
        and white space are words of their own.

        Parameters
        ----------
        text
            The text that was tokenized; by default `origin.text`, which `attnflow.models.attend`
            stores together with the generated text. For an encoder-decoder, source and target with
            a line break between. If `origin.spans` is not known, the tokens are searched in it.
        queries
            "mean" for the mean over the computed tokens of a word, "last" for its last token,
            which in a causal model attends to the complete word. Queries of the result are indices
            of words: those of which a token was computed.

        Notes
        -----
        Rows keep their sums. A sum of flows is at least the flow to the set of tokens, since flows
        to two tokens may use the same edges. So flow favours words of many tokens; divide by their
        number, or compare words of equal numbers of tokens. `flat` is False as soon as a word has
        several tokens, because its score is not that of the others: see `flat` of the tokens.

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
                "expected scores of tokens to make words of, got scores of segments. Compute them "
                'with segments="words", segments="tokens" or without groups'
            )
        onto = self.settings.get("onto", 0)
        if onto != 0:
            raise InputError(
                f"expected scores of input tokens to make words of, got scores of layer {onto}. "
                "Compute them with onto=0"
            )
        read = read_words(self.tokens, text, self.origin)
        rows = words.query_rows(self.queries, read.words, queries)
        scores = words.merge_scores(self.scores, [*rows.values()], read.words)
        scores.setflags(write=False)
        made: dict[str, object] = {**self.settings, "words": queries}
        if isinstance(n_source := made.get("source_tokens"), int):
            made["source_tokens"] = sum(word.pieces[0] < n_source for word in read.words)
        flat = np.stack([self.flat[:, row].all(axis=1) for row in rows.values()], axis=1)
        if any(len(word.pieces) > 1 for word in read.words):
            flat = np.zeros_like(flat)  # sums over different numbers of pieces are not alike
        return dataclasses.replace(
            self,
            scores=scores,
            tokens=read.names,
            queries=tuple(rows),
            settings=made,
            origin=read.origin,
            flat=flat,
        )

    def to_grid(self, query: int = 0) -> NDArray[np.float64]:
        """Return the scores (layer, row, column) of the patches of an image for one query.

        Special tokens before and after the patches are left out. Position 0 is the class token of
        most image models.

        >>> import attnflow as af
        >>> o = af.Origin(grid=af.Grid(rows=1, columns=2, prefix=1))
        >>> t = af.TokenAttention([[[0.5, 0.3, 0.2]]], [*"c01"], [6], [0], "rollout", origin=o)
        >>> t.to_grid()
        array([[[0.3, 0.2]]])
        """
        if self._segmented:
            raise InputError(
                "expected scores of patches to make a grid of, got scores of segments. Compute "
                'them with segments="tokens" or without groups'
            )
        grid = self.origin.grid if self.origin else None
        if grid is None:
            raise InputError(
                "the tokens are not known to be patches of an image. Construct the attention with "
                "origin=Origin(grid=Grid(rows, columns, prefix))"
            )
        index = _index(query, "query", self.queries)
        patches = self.scores[:, index, grid.prefix : grid.prefix + grid.size]
        return patches.reshape(len(self.layers), grid.rows, grid.columns)

    def to_frame(self) -> Any:
        """Return the scores as a pandas DataFrame, one row for each score.

        Columns are `layer`, `query`, `position`, `token` and `score`. `query` and `position` are
        numbers, because several tokens may have one name. Tokens are those of the tokenizer, such
        as "Ġkey" or "##s"; figures and tables for people show "key" and "s". Needs pandas.

        >>> t = TokenAttention([[[0.25, 0.75]]], ["the", "key"], [6], [0], "rollout")
        >>> print(t.to_frame())
           layer  query  position token  score
        0      6      0         0   the   0.25
        1      6      0         1   key   0.75
        """
        return as_frame(self._columns())

    def to_csv(self, path: PathLike) -> None:
        """Write the scores to a .csv file with the columns of `to_frame`; needs no pandas."""
        write_csv(path, self._columns())

    def _columns(self) -> Columns:
        layer, query, position = np.indices(self.scores.shape).reshape(3, -1)
        return {
            "layer": np.array(self.layers)[layer],
            "query": np.array(self.queries)[query],
            "position": position,
            "token": list(self.tokens) * (len(self.layers) * len(self.queries)),
            "score": self.scores.ravel(),
        }

    def __repr__(self) -> str:
        layers, queries, tokens = self.scores.shape
        return (
            f"TokenAttention({self.method!r}, layers={layers}, queries={queries}, tokens={tokens})"
        )

    def _repr_html_(self) -> str:
        """Return the first scores of the last layer as HTML."""
        # If there is one query for each input token, queries have the names of the tokens. If not,
        # the layer may have another size, which is not known here.
        same = self.queries == tuple(range(len(self.tokens))) and self.settings.get("onto", 0) == 0
        names = self.tokens if same and not self._segmented else ()
        queries = [position_name(query, token_names(names)) for query in self.queries]
        caption = f"{self!r}, layer {self.layers[-1]}"
        several = len(self.queries) > 1  # for a single query see `flow`
        if self.saturated[-1]:
            caption += ", saturated" if several else ", scores at their ceiling"
        elif self.method == "flow" and several:
            caption += ", not saturated"
        if count := int(self.flat[-1].sum()):
            caption += f", flat for {count} of {len(self.queries)} queries" if several else ", flat"
        return score_table(caption, self.tokens, queries, self.scores[-1])

    @property
    def _segmented(self) -> bool:
        """Whether the last axis are segments of several tokens."""
        return self.settings.get("segments", "tokens") != "tokens"


def _index(value: object, name: str, computed: tuple[int, ...]) -> int:
    """Return the index of a layer or query among the computed ones."""
    number = checks.as_int(value, name)
    if number not in computed:
        numbers = [str(item) for item in computed]
        listed = ", ".join(numbers if len(numbers) <= 10 else [*numbers[:3], "…", numbers[-1]])
        raise InputError(f"{name} {number} was not computed; expected one of {listed}")
    return computed.index(number)


def _as_bools(saturated: object, count: int) -> tuple[bool, ...]:
    if saturated is None:
        return (False,) * count
    array = np.asarray(saturated)
    if array.dtype.kind != "b" or array.ndim != 1:
        raise InputError(f"saturated must be one bool per layer, got {saturated!r}")
    return tuple(array.tolist())


def _flags(flat: object, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    array = np.zeros(shape, dtype=np.bool_) if flat is None else np.asarray(flat)
    if array.dtype.kind != "b" or array.shape != shape:
        raise InputError(
            f"flat: expected booleans of shape {shape} (layer, query), got {array.dtype} of shape "
            f"{array.shape}"
        )
    return checks.as_read_only(array)
