"""A summary as text, Markdown, CSV, LaTeX and a figure."""

from __future__ import annotations

import csv
import importlib.util
import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from attnflow._internal.display import align_columns, format_number, markdown_table, printable
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
    "log_odds": "log-odds",
}
_LATEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
_LEGEND = "Mean ± standard deviation over texts [95 % bootstrap interval of the mean]."
_COLUMNS = (
    "edges", "method", "layer", "importance", "metric", "mean", "std", "low", "high", "defined",
    "undefined", "failed", "texts",
)  # fmt: skip


class Group(NamedTuple):
    """The cells of one metric, importance and edge weight: a table, or a panel of a figure."""

    title: str
    methods: dict[str, dict[int, CellSummary]]  # by method and layer
    baselines: dict[str, CellSummary]  # without a layer

    @property
    def layers(self) -> list[int]:
        """The layers, in their order."""
        return list(next(iter(self.methods.values())))


def groups(summary: Summary) -> list[Group]:
    """Return the tables of a summary; baselines are in the table of every edge weight."""
    found: dict[tuple[str | None, ...], Group] = {}
    for item in summary.cells:
        edges, method, layer, importance, metric = item.cell
        if edges is not None and layer is not None:
            key = (edges, importance, metric)
            group = found.setdefault(key, Group(_title(*key), {}, {}))
            group.methods.setdefault(method, {})[layer] = item
            continue
        for (_, *of), group in found.items():
            if of == [importance, metric]:
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
    parts = [about(printable(f"{model}, {data}: {summary.texts:,} texts{failed}"))]
    for group in groups(summary):
        parts.append(about(group.title))
        head = ["layer", *group.methods]
        layers = [
            [str(layer), *(_cell(by_layer[layer]) for by_layer in group.methods.values())]
            for layer in group.layers
        ]
        parts.append(table([head, *layers]))
        if group.baselines:
            rows = [[name, _cell(item)] for name, item in group.baselines.items()]
            parts.append(table([["baseline", "mean"], *rows]))
    parts.append(about(_LEGEND))
    parts += [
        about(f"text_id {number} failed: {printable(error)}") for number, error in summary.errors
    ]
    return "\n\n".join(parts) + "\n"


def _title(edges: str | None, importance: str | None, metric: str | None) -> str:
    of = "" if importance is None else f" with {importance.replace('_', ' ')}"
    return f"{_METRICS.get(str(metric), str(metric))}{of}, edges: {str(edges).replace('_', ' ')}"


def _cell(item: CellSummary) -> str:
    more = f", {item.undefined:,} undefined" if item.undefined else ""
    if not item.defined:
        return f"none{more}"
    mean, std, low, high = (
        format_number(number, 2) for number in (item.mean, item.std, item.low, item.high)
    )
    return f"{mean} ± {std} [{low}, {high}]{more}"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text)
