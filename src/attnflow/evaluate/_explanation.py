"""`Explanation`, the result of `explain`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.columns import Columns, as_frame, nan_to_none, write_csv
from attnflow._internal.display import (
    format_number,
    format_scores,
    label_names,
    method_title,
    percent,
    position_names,
    printable,
    token_names,
)
from attnflow._internal.files import PathLike
from attnflow._internal.html_table import html_table
from attnflow._internal.settings import thaw_settings
from attnflow.edges import Edges
from attnflow.evaluate._spearman import spearman
from attnflow.importance import Prediction
from attnflow.types import Attention, AttentionGraph, Importance, Method, TokenAttention

_LEAST_COMPARED = 3  # tokens: a rank correlation of two is 1 or -1, whatever their values


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Explanation:
    """A prediction, with token attention and importance for each token.

    Parameters
    ----------
    text
        The text that the model read.
    prediction
        The prediction of the model.
    scores
        Token attention by method, of one layer and one query.
    importance
        Importance by method, for the target.
    attention
        The attention of the model for the text.
    graphs
        What was computed for each of the edge weights: a graph; for "attention", the attention
        itself. The scores are those of the first.
    missing
        Importance that could not be computed, with the reason: "input_gradient" of a model that
        passes no gradient on, as quantised ones do.
    """

    text: str
    prediction: Prediction
    scores: Mapping[Method, TokenAttention]
    importance: Mapping[str, Importance]
    attention: Attention
    graphs: Mapping[Edges, Attention | AttentionGraph]
    missing: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def edges(self) -> Edges:
        """The name of the edge weights that the scores were computed from."""
        return next(iter(self.graphs))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the text."""
        return next(iter(self.importance.values())).tokens

    @property
    def layer(self) -> int:
        """The layer of the scores."""
        return next(iter(self.scores.values())).layers[0]

    @property
    def query(self) -> int:
        """The query of the scores."""
        return next(iter(self.scores.values())).queries[0]

    @property
    def without(self) -> tuple[int, ...]:
        """Positions that are taken out of the scores: attention sinks, see `explain`."""
        found = next(iter(self.scores.values())).settings.get("without", ())
        return tuple(cast("tuple[int, ...]", found))

    @property
    def receptive_field(self) -> bool:
        """Whether rollout and flow are corrected for the receptive field of a causal model."""
        return any(t.settings.get("receptive_field") is True for t in self.scores.values())

    @property
    def answer_names(self) -> dict[str, str]:
        """Names of the answers for people: those with probabilities, the target and `against`."""
        about = self._blank_out_settings()
        given = [about[key] for key in ("target_name", "other_name") if key in about]
        return label_names(dict.fromkeys([*self.prediction.probabilities, *map(str, given)]))

    @property
    def importance_for(self) -> str:
        """The answer that importance is for, as in "his against her"; empty for the prediction."""
        about, names = self._blank_out_settings(), self.answer_names
        target, other = about.get("target_name", self.prediction.label), about.get("other_name")
        if other is not None:
            return f"{names[target]} against {names[other]}"
        return names[target] if target != self.prediction.label else ""

    def _blank_out_settings(self) -> dict[str, Any]:
        """Return the settings of blank-out, none without it."""
        found = self.importance.get("blank_out")
        return {} if found is None else thaw_settings(found.settings)

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return one number for each token, by method; scores of tokens taken out are NaN."""
        attention = {
            name: np.where(self._scored(name), result.scores[0, 0], np.nan)
            for name, result in self.scores.items()
        }
        return attention | {name: result.values for name, result in self.importance.items()}

    def _scored(self, method: Method) -> NDArray[np.bool_]:
        """Return which tokens have a score of a method: all but those taken out.

        In rollout and flow a query that is taken out keeps its residual connection; raw attention
        has none.
        """
        places = np.arange(len(self.tokens))
        own = (places == self.query) & (method != "raw")
        return ~np.isin(places, self.without) | own

    def correlations(self) -> dict[str, dict[str, float]]:
        """Return Spearman's rank correlation by importance and method; NaN if undefined.

        Tokens taken out of the scores, see `without`, do not count: those that are NaN in
        `columns`. For methods that are `uncompared` it is NaN.
        """
        if not self.importance:
            return {}
        values = np.stack([result.values for result in self.importance.values()])
        found: dict[str, dict[str, float]] = {name: {} for name in self.importance}
        for method, result in self.scores.items():
            kept = self._scored(method)
            rhos = spearman(values[:, kept], result.scores[0, 0][kept])
            for row, rho in zip(found.values(), rhos.tolist(), strict=True):
                row[method] = math.nan if method in self.uncompared else rho
        return found

    @property
    def uncompared(self) -> tuple[Method, ...]:
        """Methods with scores of fewer than three tokens: a rank correlation says nothing."""
        return tuple(name for name in self.scores if self._scored(name).sum() < _LEAST_COMPARED)

    @property
    def saturated(self) -> bool:
        """Whether every score of flow is at its ceiling, as `flow` explains."""
        return "flow" in self.scores and self.scores["flow"].saturated[0]

    @property
    def flat(self) -> bool:
        """Whether all tokens but the query's own have nearly the same score of flow, see `flow`."""
        return "flow" in self.scores and bool(self.scores["flow"].flat[0, 0])

    def to_frame(self) -> Any:
        """Return token attention and importance as a pandas DataFrame; needs pandas.

        Columns are `method`, `edges`, `layer`, `query`, `position`, `token` and `score`, with one
        row for each method and token. `edges`, `layer` and `query` are missing for importance, and
        scores of tokens that are taken out are NaN, or empty in a .csv file. Tokens are those of
        the tokenizer, as in `TokenAttention.to_frame`.

        Examples
        --------
        >>> import attnflow as af
        >>> from attnflow import paper
        >>> shipped = paper.load()
        >>> e = af.explain(shipped.model, shipped.tokenizer, "the key to the cabinets")
        >>> e.to_frame().query("method == 'flow'")["token"].tolist()
        ['[CLS]', 'the', 'key', 'to', 'the', 'cabinets', '<?>']
        """
        return as_frame(self._columns())

    def to_csv(self, path: PathLike) -> None:
        """Write token attention and importance to a .csv file with the columns of `to_frame`.

        Needs no pandas.
        """
        columns = self._columns()
        write_csv(path, {**columns, "score": nan_to_none(columns["score"])})

    def _columns(self) -> Columns:
        columns, n_tokens = self.columns(), len(self.tokens)
        made = {
            name: (self.edges, self.layer, self.query) if name in self.scores else (None,) * 3
            for name in columns
        }
        edges, layers, queries = zip(*made.values(), strict=True)
        return {
            "method": _repeat(columns, n_tokens),
            "edges": _repeat(edges, n_tokens),
            "layer": _repeat(layers, n_tokens),
            "query": _repeat(queries, n_tokens),
            "position": list(range(n_tokens)) * len(columns),
            "token": list(self.tokens) * len(columns),
            "score": np.concatenate(list(columns.values())),
        }

    def settings(self) -> dict[str, Any]:
        """Return the settings of all results, by method; for one that is missing, the reason."""
        results = {**self.scores, **self.importance}
        made = {name: thaw_settings(result.settings) for name, result in results.items()}
        made |= {name: {"missing": reason} for name, reason in self.missing.items()}
        return {"layer": self.layer, "query": self.query, "edges": self.edges, **made}

    def __repr__(self) -> str:
        return f"Explanation({self.prediction!r}, tokens={len(self.tokens)}, layer={self.layer})"

    def _repr_html_(self) -> str:
        columns = self.columns()
        shown = [format_scores(x.tolist(), np.nanmax(x)) for x in columns.values()]
        rows = [[*row] for row in zip(token_names(self.tokens), *shown, strict=True)]
        edges = "" if self.edges == "attention" else f", edges {self.edges}"
        answer, p = self.prediction.label, self.prediction.probabilities
        caption = f"{self.answer_names[answer]} {format_number(p[answer])}, layer {self.layer}, "
        caption += f"from {position_names([self.query], self.tokens)}{edges}"
        weights = self.graphs[self.edges]
        made = weights.settings if isinstance(weights, AttentionGraph) else {}
        if share := percent(cast("float", made.get("clipped", 0.0))):
            caption += f" ({share} of the weights negative and set to zero)"
        if self.importance_for:
            caption += f", importance for {self.importance_for}"
        if blank := self._blank_out_settings().get("replaced_by"):
            caption += f", blank-out by {printable(str(blank))}"
        if self.without:
            several, them = ("s", "them") if len(self.without) > 1 else ("", "it")
            names = position_names(self.without, self.tokens)
            caption += (
                f', without the attention sink{several} at {names} (sinks="keep" keeps {them})'
            )
        if self.receptive_field:
            caption += ", corrected for the receptive field"
        if self.saturated or self.flat:
            caption += ", flow saturated" if self.saturated else ", flow flat"
        for name, reason in self.missing.items():
            caption += f". No {method_title(name)}: {reason}"
        return html_table(caption, ["token", *map(method_title, columns)], rows)


def _repeat(values: Iterable[object], count: int) -> list[object]:
    """Return each value `count` times."""
    return [value for value in values for _ in range(count)]
