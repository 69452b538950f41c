"""An explanation as text for people: a bar for each number."""

import sys
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from attnflow.cli._table import printable
from attnflow.evaluate import Explanation
from attnflow.types import position_name

_BAR = 6  # characters; chosen so that five columns fit 100
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_TITLES = {"blank_out": "blank-out", "input_gradient": "input gradient"}
# Two colours that differ for colour-blind readers too, and no meaning in colour alone.
_ATTENTION, _IMPORTANCE = "blue", "yellow"


def explanation_table(explanation: Explanation, unknown: dict[int, str]) -> None:
    """Print the prediction, a table of tokens and the correlations."""
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    with console.capture() as captured:
        _print(explanation, unknown, console)
    # Tables are padded to their full width.
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _print(explanation: Explanation, unknown: dict[int, str], console: Any) -> None:
    from rich.text import Text

    label = explanation.prediction.label
    others = [
        f"{printable(name)} {p:.3f}"
        for name, p in explanation.prediction.probabilities.items()
        if name != label
    ]
    line = Text()
    _ = line.append(f"{printable(label)} {explanation.prediction.probabilities[label]:.3f}", "bold")
    _ = line.append(f"   ({', '.join(others)})")
    console.print(line)
    target = next(iter(explanation.importance.values())).settings.get("target_name")
    about = "" if target == label else f"; importance is for {printable(str(target))}"
    by = position_name(explanation.query, [*map(printable, explanation.tokens)])
    console.print(Text(f"Layer {explanation.layer}, from {by}{about}"))
    console.print()
    console.print(_tokens(explanation, unknown))
    console.print()
    console.print(_correlations(explanation))


def _tokens(explanation: Explanation, unknown: dict[int, str]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    columns = explanation.columns()
    for name in columns:
        table.add_column(_TITLES.get(name, name), no_wrap=True)
    for place, token in enumerate(explanation.tokens):
        word = f"{token} ({unknown[place]})" if place in unknown else token
        cells = [_cell(name, values, place, explanation) for name, values in columns.items()]
        table.add_row(Text(printable(word)), *cells)
    return table


def _cell(name: str, values: NDArray[np.float64], place: int, explanation: Explanation) -> Any:
    from rich.text import Text

    cell = Text(f"{values[place]:.3f} ")
    colour = _ATTENTION if name in explanation.scores else _IMPORTANCE
    # A bar of at most `_BAR` characters, in steps of an eighth of one.
    share = values[place] / max(values.max(), np.finfo(float).tiny)
    full, eighths = divmod(round(share * _BAR * 8), 8)
    _ = cell.append(("█" * full + _EIGHTHS[eighths].strip()).ljust(_BAR), colour)
    return cell


def _correlations(explanation: Explanation) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("Spearman's rank correlation with", no_wrap=True)
    for name in explanation.scores:
        table.add_column(name, justify="right")
    for importance, row in explanation.correlations().items():
        cells = ["undefined" if np.isnan(rho) else f"{rho:.2f}" for rho in row.values()]
        table.add_row(_TITLES[importance], *cells)
    return table
