"""`PronounCounts`: how often token attention points to the candidate that decides a pronoun."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from attnflow._internal.columns import Columns, check_table_path, nan_to_none, write_columns
from attnflow._internal.display import format_number, markdown_table
from attnflow._internal.settings import settings_to_json
from attnflow.evaluate import LayerTable
from attnflow.paper.results._pronoun_choice import PronounChoice
from attnflow.paper.results._shares import Share, balanced_share, share
from attnflow.types import METHODS

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from attnflow._internal.files import PathLike

# Rows of the table without a layer.
CHANCE, FIRST, NEAREST = "chance", "first candidate", "nearest candidate"
SUPPORT, EFFECT = "larger support", "larger effect"


@dataclass(frozen=True, slots=True, eq=False)
class PronounCounts:
    """How often token attention points to the candidate that decides a pronoun.

    Parameters
    ----------
    table
        For each counted sentence, method and layer: 1 if the candidate that decides the pronoun has
        more weight than the other, 0 if it has less, 0.5 if both have the same. Rows without a
        layer: chance; two rules that only know the places of the candidates; and two that replace
        each candidate by "the person": the candidate that decides lowers the log-odds of the
        preferred pronoun more than the other (support), or changes them more (effect).
    uncorrected
        The same for rollout and flow of a decoder without the correction for the receptive field;
        None for a masked language model, which needs none.
    sentences
        All sentences in the order given, counted or not.
    """

    table: LayerTable
    uncorrected: LayerTable | None
    sentences: tuple[PronounChoice, ...]

    @property
    def left_out(self) -> dict[str, int]:
        """The number of sentences that are not counted, for each reason."""
        return dict(Counter(each.reason for each in self.sentences if each.reason))

    def shares(self, *, balanced: bool = False) -> dict[str, Share]:
        """Return the share of sentences of each method, by layer, with its 95 % interval.

        Parameters
        ----------
        balanced
            The mean of two shares: of sentences whose first candidate decides, and of those whose
            second does. Of a decoder, a method that depends on places alone has 0.5.
        """
        tables = [table for table in (self.table, self.uncorrected) if table is not None]
        return {
            name: self._share(table.values[:, row], balanced=balanced)
            for table in tables
            for row, name in enumerate(table.rows)
        }

    def rules(self, *, balanced: bool = False) -> dict[str, Share]:
        """Return the share of sentences of each rule without layers but chance, as `shares`."""
        return {
            name: self._share(values, balanced=balanced)
            for name, values in self.table.per_text.items()
            if name != CHANCE
        }

    def markdown(self) -> str:
        """Return the shares and the balanced shares by layer as a Markdown table."""
        shares, balanced = self.shares(), self.shares(balanced=True)
        columns = {name: shares[name] for name in METHODS}
        columns |= {f"{name}, balanced": balanced[name] for name in METHODS}
        cells = [["layer", *columns]]
        for place, layer in enumerate(self.table.layers):
            cells.append([str(layer), *(_cell(each, place) for each in columns.values())])
        return markdown_table(cells)

    def rules_markdown(self) -> str:
        """Return the shares and the balanced shares of the rules as a Markdown table."""
        shares, balanced = self.rules(), self.rules(balanced=True)
        rows = [[name, _cell(shares[name]), _cell(balanced[name])] for name in shares]
        return markdown_table([["rule", "share", "balanced"], *rows])

    def with_settings(self, **more: object) -> Self:
        """Return the counts with additional settings in their tables."""
        own = self.uncorrected
        uncorrected = None if own is None else own.with_settings(**more)
        return replace(self, table=self.table.with_settings(**more), uncorrected=uncorrected)

    def save(self, path: PathLike) -> Path:
        """Write the shares to a .csv or .parquet file, and all sentences to a second file.

        The first has a column with the settings, and how many sentences were left out and why.
        Returns the path of the second file: `counts.csv` has `counts.csv.sentences.csv`.
        """
        path = check_table_path(path)
        write_columns(path, self._share_columns())
        sentences = path.with_name(f"{path.name}.sentences{path.suffix}")
        write_columns(sentences, self._sentence_columns())
        return sentences

    def _share(self, values: NDArray[np.float64], *, balanced: bool) -> Share:
        first = self.table.per_text[FIRST] == 1
        return balanced_share(values, first) if balanced else share(values)

    def _share_columns(self) -> Columns:
        """Return a line for each method and layer, and for each rule."""
        names = [f"{prefix}{name}" for prefix in ("", "balanced_") for name in Share._fields]
        columns: Columns = {name: [] for name in ("row", "layer", *names)}
        layers: list[int | None] = [*self.table.layers]
        for shares, balanced, own in (
            (self.shares(), self.shares(balanced=True), layers),
            (self.rules(), self.rules(balanced=True), [None]),
        ):
            for name, each in shares.items():
                columns["row"] += [name] * len(own)
                columns["layer"] += own
                for column, values in zip(names, (*each, *balanced[name]), strict=True):
                    columns[column] += nan_to_none(np.atleast_1d(values))
        n_lines = len(columns["row"])
        columns["sentences"] = [len(self.table.texts)] * n_lines
        settings = {**self.table.settings, "left_out": self.left_out}
        columns["settings"] = [settings_to_json(settings)] * n_lines
        return columns

    def _sentence_columns(self) -> Columns:
        columns: defaultdict[str, list[Any]] = defaultdict(list)
        for each in self.sentences:
            odds = each.log_odds or (None,) * 5
            decides = each.decides
            for name, value in {
                "sentence": each.schema.text,
                "input": each.text,
                "candidate_1": each.schema.candidates[0],
                "candidate_2": each.schema.candidates[1],
                "masculine": each.schema.pronouns[0],
                "feminine": each.schema.pronouns[1],
                "log_odds": odds[0],
                "log_odds_with_1_twice": odds[1],
                "log_odds_with_2_twice": odds[2],
                "log_odds_without_1": odds[3],
                "log_odds_without_2": odds[4],
                "pronoun": each.pronoun,
                "decides": "" if decides is None else each.schema.candidates[decides],
                "left_out": each.reason,
                "error": each.error,
            }.items():
                columns[name].append(value)
        return dict(columns)


def _cell(found: Share, place: int = 0) -> str:
    value, low, high = (format_number(np.atleast_1d(each)[place], 2) for each in found)
    return f"{value} [{low}, {high}]"
