"""The option --data, and the agreement sentences in its folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from attnflow.paper import Splits, load_splits

_SHOWN = 5  # malformed rows; chosen as enough to find what is wrong

Data: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder with linzen/ and linzen-sentences/, or with the authors' "
        "agr_50_mostcommon_10K.tsv(.gz).  [default: generated sentences]",
    ),
]


def read_splits(folder: Path) -> Splits:
    """Return the sentences of a folder; rows that could not be read are noted on stderr."""
    splits = load_splits(folder)
    note_malformed(splits.malformed)
    return splits


def note_malformed(malformed: Sequence[tuple[Path | str, int, str]]) -> None:
    """Write the first rows that could not be read to stderr: path, line and reason."""
    if malformed:
        typer.echo(f"note: {len(malformed)} rows could not be read and are left out:", err=True)
        for path, line, reason in malformed[:_SHOWN]:
            typer.echo(f"  {path}, line {line}: {reason}", err=True)
        if len(malformed) > _SHOWN:
            typer.echo(f"  … and {len(malformed) - _SHOWN} more", err=True)
