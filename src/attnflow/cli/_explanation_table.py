"""An explanation as a table for the terminal, with a bar for each number."""

import os
import shutil

import numpy as np
import typer
from numpy.typing import NDArray

from attnflow._internal.display import (
    format_number,
    label_names,
    position_name,
    printable,
    token_names,
)
from attnflow.cli._table import align, text_width
from attnflow.evaluate import Explanation

_BAR = 6  # characters, where there is room; chosen so that five columns fit 80
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_TITLES = {"blank_out": "blank-out", "input_gradient": "input gradient"}
# Two colours that differ for colour-blind readers too, and no meaning in colour alone.
_ATTENTION, _IMPORTANCE = "blue", "yellow"


def explanation_table(explanation: Explanation, unknown: dict[int, str]) -> None:
    """Print the prediction, a table of tokens and the correlations."""
    blocks = [_prediction(explanation), _tokens(explanation, unknown), _correlations(explanation)]
    # By default typer prints colours on a terminal only.
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    typer.echo("\n\n".join("\n".join(lines) for lines in blocks), color=False if plain else None)


def _prediction(explanation: Explanation) -> list[str]:
    label, given = explanation.prediction.label, explanation.prediction.probabilities
    target = str(next(iter(explanation.importance.values())).settings.get("target_name"))
    names = label_names({**given, target: None})
    probabilities = {name: f"{names[name]} {format_number(p)}" for name, p in given.items()}
    best = typer.style(probabilities.pop(label), bold=True)
    about = "" if target == label else f"; importance is for {names[target]}"
    by = position_name(explanation.query, token_names(explanation.tokens))
    edges = "" if explanation.edges == "attention" else f", edges {explanation.edges}"
    return [
        f"{best}   ({', '.join(probabilities.values())})",
        f"Layer {explanation.layer}, from {by}{edges}{about}",
    ]


def _tokens(explanation: Explanation, unknown: dict[int, str]) -> list[str]:
    """Return a line for each token, with bars as long as the terminal has room for.

    Names and numbers are never cut: without bars, lines may be longer than the terminal is wide.
    """
    names = [
        f"{name} ({printable(unknown[place])})" if place in unknown else name
        for place, name in enumerate(token_names(explanation.tokens))
    ]
    columns = explanation.columns()
    lines: list[str] = []
    for bar in range(_BAR, -1, -1):
        cells = [["", *names]]
        for name, values in columns.items():
            colour = _ATTENTION if name in explanation.scores else _IMPORTANCE
            cells.append([_TITLES.get(name, name), *_bars(values, bar, colour)])
        lines = align([*zip(*cells, strict=True)])
        # `COLUMNS`, else the width of the terminal, else 80.
        if max(map(text_width, lines)) <= shutil.get_terminal_size().columns:
            break
    return lines


def _bars(values: NDArray[np.float64], length: int, colour: str) -> list[str]:
    """Return each number with a bar of at most `length` characters, in steps of an eighth."""
    cells: list[str] = []
    for value in values.tolist():
        share = value / max(values.max(), np.finfo(float).tiny)
        full, eighths = divmod(round(share * length * 8), 8)
        bar = "█" * full + _EIGHTHS[eighths].strip()
        cell = f"{format_number(value)} {typer.style(bar, fg=colour) if bar else ''}"
        cells.append((cell + " " * (length - len(bar))) if length else format_number(value))
    return cells


def _correlations(explanation: Explanation) -> list[str]:
    rows = [["Spearman's rank correlation with", *explanation.scores]]
    for importance, row in explanation.correlations().items():
        rows.append([_TITLES[importance], *(format_number(rho, 2) for rho in row.values())])
    return align(rows, right=True)
