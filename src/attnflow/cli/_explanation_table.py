"""An explanation as a table for the terminal, with a bar for each number."""

import math
import os
import shutil

import numpy as np
import typer
from numpy.typing import NDArray

from attnflow._internal.display import (
    format_number,
    format_scores,
    method_title,
    position_names,
    printable,
    token_names,
)
from attnflow._internal.scale import largest_other
from attnflow.cli._table import align, text_width
from attnflow.evaluate import Explanation

_OTHERS = 9  # answers but the predicted one: as many as a language model has
_BAR = 6  # characters, where there is room; chosen so that five columns fit 80
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_ROUNDING = 1e-6  # of equal scores; chosen: far less than a bar can show
_CUT = ">"  # the end of a bar that is longer than the scale
_CUT_LINE = f"{_CUT} longer than the scale, which ends at the largest other score"
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
    importance = explanation.importance["blank_out"].settings
    names = explanation.answer_names
    best = typer.style(f"{names[label]} {format_number(given[label])}", bold=True)
    others = sorted((name for name in given if name != label), key=given.__getitem__, reverse=True)
    listed = [f"{names[name]} {format_number(given[name])}" for name in others[:_OTHERS]]
    if more := len(others) - len(listed):
        listed.append(f"{more:,} more")
    about = f"; importance is for {target}" if (target := explanation.importance_for) else ""
    by = position_names([explanation.query], explanation.tokens)
    edges = "" if explanation.edges == "attention" else f", edges {explanation.edges}"
    edges += (
        " (raw has the residual connection in it)" if edges and "raw" in explanation.scores else ""
    )
    without = explanation.without
    left_out = f", without {position_names(without, explanation.tokens)}" if without else ""
    left_out += ", corrected for the receptive field" if explanation.receptive_field else ""
    blank = importance["replaced_by"]
    return [
        f"{best}   ({', '.join(listed)})",
        f"Layer {explanation.layer}, from {by}{edges}{left_out}{about}",
        "Blank-out sets the attention mask of each token to 0"
        if importance["replace"] == "attention_mask"
        else f"Blank-out replaces each token by {printable(str(blank))}",
    ]


def _tokens(explanation: Explanation, unknown: dict[int, str]) -> list[str]:
    """Return a line for each token, with bars as long as the terminal has room for.

    Names and numbers are never cut: without bars, lines may be longer than the terminal is wide. A
    last line says what the end of a bar that was cut means.
    """
    names = [
        f"{name} ({printable(unknown[place])})" if place in unknown else name
        for place, name in enumerate(token_names(explanation.tokens))
    ]
    columns = explanation.columns()
    own = np.arange(len(names)) == explanation.query
    lines: list[str] = []
    cut = False
    for bar in range(_BAR, -1, -1):
        cells, cut = [["", *names]], False
        for name, values in columns.items():
            scored = name in explanation.scores
            top = largest_other(values[None], own) if scored else values.max()
            cut |= bar > 0 and bool(_exceeds(values, top).any())
            shown = _bars(values, bar, top, _ATTENTION if scored else _IMPORTANCE)
            cells.append([method_title(name), *shown])
        lines = align([*zip(*cells, strict=True)])
        # `COLUMNS`, else the width of the terminal, else 80.
        if max(map(text_width, lines)) <= shutil.get_terminal_size().columns:
            break
    return [*lines, *([_CUT_LINE] * cut)]


def _bars(values: NDArray[np.float64], length: int, top: float, colour: str) -> list[str]:
    """Return each number with a bar of at most `length` characters, in steps of an eighth.

    The longest is `top`; the bar of a larger number ends in an arrow. NaN is a dash.
    """
    cells: list[str] = []
    numbers: list[float] = values.tolist()
    shown = format_scores(numbers, top)
    for value, number, cut in zip(numbers, shown, _exceeds(values, top).tolist(), strict=True):
        if math.isnan(value):
            cells.append(number)
            continue
        share = min(1.0, value / max(top, np.finfo(float).tiny))
        full, eighths = divmod(round(share * length * 8), 8)
        bar = "█" * full + _EIGHTHS[eighths].strip()
        bar = bar[:-1] + _CUT if cut and length else bar
        cell = f"{number} {typer.style(bar, fg=colour) if bar else ''}"
        cells.append((cell + " " * (length - len(bar))) if length else number)
    return cells


def _exceeds(values: NDArray[np.float64], top: float) -> NDArray[np.bool_]:
    """Return which values are larger than the end of the scale, by more than rounding."""
    return values > top * (1 + _ROUNDING)


def _correlations(explanation: Explanation) -> list[str]:
    rows = [["Spearman's rank correlation with", *explanation.scores]]
    for importance, row in explanation.correlations().items():
        shown = [
            "-" if method in explanation.uncompared else format_number(rho, 2)
            for method, rho in row.items()
        ]
        rows.append([method_title(importance), *shown])
    return align(rows, right=True)
