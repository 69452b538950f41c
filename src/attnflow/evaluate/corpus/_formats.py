"""A summary as text, Markdown, CSV, LaTeX and a figure."""

from __future__ import annotations

import csv
import importlib.util
import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from attnflow._internal.display import (
    align_columns,
    count_texts,
    format_number,
    markdown_table,
    method_title,
    percent,
    printable,
)
from attnflow._internal.run_folder import replace_file
from attnflow.evaluate.corpus._figure import save_figure

if TYPE_CHECKING:
    from attnflow.evaluate.corpus._summary import CellSummary, Summary

_Rows: TypeAlias = Sequence[Sequence[str]]

_METRICS = {
    "spearman": "Spearman's rank correlation",
    "dense_spearman": "rank correlation by the formula without ties on dense ranks",
    "kendall": "Kendall's tau-b",
    "top_k": "overlap of the top tokens",
    "pointing": "share of texts whose labelled token has the highest score",
    "entropy": "entropy of the scores, 1 if all are equal",
    "comprehensiveness": "comprehensiveness (more is better)",
    "sufficiency": "sufficiency (less is better)",
    "log_odds": "log-odds (less is better)",
}
_LATEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
_LEGEND = "Mean ± standard deviation over texts [95 % bootstrap interval of the mean]."
_GRID_LEGEND = "With several edge weights: means over texts [95 % bootstrap interval of the mean]."
_RAW_LEGEND = (
    "Raw scores of attention are without the residual connection; those of other edges are rows of "
    "the graph, with it."
)
_CAUSAL_LEGEND = (
    "The model is a decoder. These are the paper's scores: attention sinks are kept, and nothing "
    "is corrected for the receptive field."
)
_BEST_LEGEND = "The best of many cells is better partly by luck."
_CLIPPED_LEGEND = "Negative weights of edges are set to zero, by absolute value, mean over texts"
_STAR = "*"
_STAR_LEGEND = (
    f"A star ({_STAR}) marks a mean without texts whose value is undefined; "
    "summary.csv has their number."
)
# 1 for metrics of which more is better, the default; -1 if less is; 0 if neither is.
_SIGNS = {"sufficiency": -1, "log_odds": -1, "entropy": 0}
_COLUMNS = (
    "edges", "method", "layer", "importance", "metric", "mean", "std", "low", "high", "defined",
    "undefined", "failed", "texts",
)  # fmt: skip


class Group(NamedTuple):
    """The cells of one metric and importance: tables, or a row of panels of a figure."""

    title: str
    sign: int  # 1 if more is better, -1 if less is, 0 if neither is
    rows: dict[tuple[str, str], dict[int, CellSummary]]  # by edges and method, then by layer
    baselines: dict[str, CellSummary]  # without a layer

    @property
    def layers(self) -> list[int]:
        """The layers, in their order."""
        return list(next(iter(self.rows.values())))

    @property
    def edges(self) -> list[str]:
        """The edge weights, in their order."""
        return list(dict.fromkeys(edges for edges, _ in self.rows))

    def methods(self, edges: str) -> dict[str, dict[int, CellSummary]]:
        """Return the cells of one edge weight, by method and layer."""
        return {method: cells for (own, method), cells in self.rows.items() if own == edges}

    def best(self, layers: Sequence[int]) -> CellSummary | None:
        """Return the best cell of these layers, None without any or if neither is better.

        Of those that at least half of the texts define, as a mean over few texts may be chance.
        """
        cells = [cells[layer] for cells in self.rows.values() for layer in layers]
        known = [item for item in cells if item.defined and item.defined >= item.undefined]
        if not self.sign:
            return None
        return max(known, key=lambda item: self.sign * item.mean, default=None)


def groups(summary: Summary) -> list[Group]:
    """Return the cells of a summary by metric and importance, in the order of the plan."""
    found: dict[tuple[str | None, str], Group] = {}
    for item in summary.cells:
        edges, method, layer, importance, metric = item.cell
        group = found.setdefault(
            (importance, metric), Group(_title(importance, metric), _SIGNS.get(metric, 1), {}, {})
        )
        if edges is not None and layer is not None:
            group.rows.setdefault((edges, method), {})[layer] = item
        else:
            group.baselines[method] = item
    return list(found.values())


def as_text(summary: Summary) -> str:
    """Return a summary as aligned text."""
    return _document(summary, lambda rows: "\n".join(align_columns(rows, right=True)))


def as_markdown(summary: Summary) -> str:
    """Return a summary as Markdown."""
    return _document(summary, markdown_table)


def as_latex(summary: Summary) -> str:
    """Return a summary as LaTeX tables, which need the package booktabs."""

    def tabular(rows: _Rows) -> str:
        head, *body = (" & ".join(map(_latex, row)).replace("±", r"$\pm$") + r" \\" for row in rows)
        columns = "l" + "r" * (len(rows[0]) - 1)
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])

    return _document(summary, tabular, about=lambda line: f"% {line}")


def as_csv(summary: Summary) -> str:
    """Return a summary as CSV, one line for each cell; a number that is undefined is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for item in summary.cells:
        numbers = (item.mean, item.std, item.low, item.high)
        shown = ["" if math.isnan(number) else repr(number) for number in numbers]
        counts = (item.defined, item.undefined, summary.failed, summary.texts)
        writer.writerow([*item.cell, *shown, *counts])
    return file.getvalue()


def save_summary(summary: Summary, folder: Path) -> None:
    """Write a summary in all formats; the figure if matplotlib is installed."""
    formats: dict[str, Callable[[Summary], str]] = {
        "txt": as_text, "md": as_markdown, "csv": as_csv, "tex": as_latex,
    }  # fmt: skip
    for suffix, write in formats.items():
        replace_file(folder / f"summary.{suffix}", write(summary).encode())
    if importlib.util.find_spec("matplotlib") is not None:
        save_figure(groups(summary), folder / "summary.svg")


def _document(
    summary: Summary, table: Callable[[_Rows], str], about: Callable[[str], str] = str
) -> str:
    settings = cast("Any", summary.settings)
    model, data = settings["model"]["name"], settings["data"]["name"]
    failed = f", {summary.failed:,} failed" if summary.failed else ""
    parts = [about(printable(f"{model}, {data}: {count_texts(summary.texts)}{failed}"))]
    found = groups(summary)
    for group in found:
        several = len(group.edges) > 1
        title = group.title if several else f"{group.title}, edges: {method_title(group.edges[0])}"
        parts += [about(title), table(_grid(group) if several else _by_layer(group))]
        if group.baselines:
            rows = [[method_title(name), _cell(item)] for name, item in group.baselines.items()]
            parts.append(table([["baseline", "mean"], *rows]))
        if best := _best_line(group):
            parts.append(about(best))
    parts += [about(line) for line in _legends(found, causal=summary.causal)]
    shares = {edges: percent(share) for edges, share in summary.clipped.items()}
    if clipped := ", ".join(
        f"{share} of {method_title(edges)}" for edges, share in shares.items() if share
    ):
        parts.append(about(f"{_CLIPPED_LEGEND}: {clipped}."))
    if any(_STAR in part for part in parts[1:]):  # the first has names, which may have stars
        parts.append(about(_STAR_LEGEND))
    parts += [
        about(f"text_id {number} failed: {printable(error)}") for number, error in summary.errors
    ]
    return "\n\n".join(parts) + "\n"


def _legends(found: Sequence[Group], *, causal: bool) -> list[str]:
    """Return what explains the tables that are shown, and no others."""
    shown = {
        _LEGEND: any(len(group.edges) == 1 or group.baselines for group in found),
        _GRID_LEGEND: any(len(group.edges) > 1 for group in found),
        _RAW_LEGEND: any(
            edges != "attention" and "raw" in group.methods(edges)
            for group in found
            for edges in group.edges
        ),
        _BEST_LEGEND: any(
            _best_line(group) and sum(map(len, group.rows.values())) > 1 for group in found
        ),
        _CAUSAL_LEGEND: causal,
    }
    return [line for line, is_shown in shown.items() if is_shown]


def _by_layer(group: Group) -> _Rows:
    """Return the table of one edge weight: a row for each layer, a column for each method."""
    methods = group.methods(group.edges[0])
    rows = [
        [str(layer), *(_cell(by_layer[layer]) for by_layer in methods.values())]
        for layer in group.layers
    ]
    return [["layer", *methods], *rows]


def _grid(group: Group) -> _Rows:
    """Return the table of several edge weights: a row for each with each method, layers across."""
    last = max(group.layers)
    head = ["edges, method", *(f"L{layer}" for layer in group.layers), f"95 % interval, L{last}"]
    rows: list[list[str]] = [head]
    for (edges, method), cells in group.rows.items():
        means = [_mean(cells[layer]) for layer in group.layers]
        rows.append([f"{method_title(edges)}, {method}", *means, _interval(cells[last])])
    return rows


def _best_line(group: Group) -> str:
    """Return a sentence that names the best cell, and the best of the last layer; empty if none."""
    overall, above = (group.best(layers) for layers in (group.layers, [max(group.layers)]))
    if overall is None:
        return ""
    line = f"Best: {_named(overall, group)}"
    if above is not None and above is not overall:
        line += f"; at the last layer: {_named(above, group)}"
    return f"{line}."


def _named(item: CellSummary, group: Group) -> str:
    edges, method, layer = item.cell[:3]
    name = f"{method_title(str(edges))}, {method}" if len(group.edges) > 1 else method
    return f"{name}, L{layer}, {_mean(item)} {_interval(item)}"


def _title(importance: str | None, metric: str) -> str:
    of = "" if importance is None else f" with {method_title(importance)}"
    return f"{_METRICS.get(metric, metric)}{of}"


def _mean(item: CellSummary) -> str:
    star = _STAR if item.undefined else ""
    return (format_number(item.mean, 2) if item.defined else "none") + star


def _interval(item: CellSummary) -> str:
    if not item.defined:
        return ""
    return f"[{format_number(item.low, 2)}, {format_number(item.high, 2)}]"


def _cell(item: CellSummary) -> str:
    more = f", {item.undefined:,} undefined" if item.undefined else ""
    if not item.defined:
        return f"none{more}"
    mean, std = (format_number(number, 2) for number in (item.mean, item.std))
    return f"{mean} ± {std} {_interval(item)}{more}"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text)
