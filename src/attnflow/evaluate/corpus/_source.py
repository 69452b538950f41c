"""Source: a data file as rows of named columns, whatever its format."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

# The number of a row, counted as `Source.unit` says, and the values of the columns asked for.
SourceRow: TypeAlias = tuple[int, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Source:
    """A data file, of which only the names of its columns have been read."""

    path: Path
    columns: tuple[str, ...]
    text_columns: tuple[str, ...]  # those that can hold texts
    rows: Callable[[tuple[str, ...]], Iterator[SourceRow]]  # reads the file from its start
    unit: Literal["line", "row"]  # what the numbers of rows count, from 1
    typed: bool  # whether values have types, or are strings all
    types: tuple[str, ...] = ()  # of the columns, where the file says them

    def place(self, number: int) -> str:
        """Return where a row is, for errors."""
        return f"{self.path}, {self.unit} {number}"

    def its_columns(self) -> str:
        """Return a sentence with the names of the columns, and their types if known, for errors."""
        names = self.columns
        if self.types:
            pairs = zip(self.columns, self.types, strict=True)
            names = tuple(f"{name} ({kind})" for name, kind in pairs)
        return f"Its columns: {', '.join(names)}" if names else "It has no columns"
