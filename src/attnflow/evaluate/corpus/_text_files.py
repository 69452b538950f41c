"""Lines of text, TSV, CSV and JSON lines as sources, read line by line."""

import csv
import itertools
import reprlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from attnflow._internal.files import open_regular, parse_json
from attnflow.errors import InputError
from attnflow.evaluate.corpus._source import Source, SourceRow

_MAX_LINE = 2**26  # bytes. Chosen: far more than a model reads; a file without line breaks has more
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
_TEXT = "text"  # the column of a file of lines


def lines_source(path: Path) -> Source:
    """Return a file with one text a line."""

    def rows(_: tuple[str, ...]) -> Iterator[SourceRow]:
        for number, line in _lines(path):
            yield number, (line,)

    return Source(path, (_TEXT,), (_TEXT,), rows, "line", typed=False)


def tsv_source(path: Path) -> Source:
    """Return a file of fields between tabs; quotes have no meaning, as in the files of GLUE."""
    return _table_source(path, lambda: ((n, line.split("\t")) for n, line in _lines(path)), "\t")


def csv_source(path: Path) -> Source:
    """Return a file of comma-separated values; a quoted field may have commas and line breaks."""
    return _table_source(path, lambda: _csv_rows(path), ",")


def jsonl_source(path: Path) -> Source:
    """Return a file with one JSON object a line; its columns are the names in the first."""

    def records() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in _lines(path):
            try:
                record: object = parse_json(line)
            except ValueError as reason:
                raise InputError(
                    f"{path}, line {number}: expected a JSON object, got {reprlib.repr(line)}: "
                    f"{reason}. Fix or remove the line"
                ) from reason
            if not isinstance(record, dict):
                raise InputError(
                    f"{path}, line {number}: expected a JSON object, got {type(record).__name__}. "
                    "Fix or remove the line"
                )
            yield number, cast("dict[str, Any]", record)

    def rows(names: tuple[str, ...]) -> Iterator[SourceRow]:
        for number, record in records():
            if missing := [name for name in names if name not in record]:
                raise InputError(
                    f"{path}, line {number}: expected a value for {missing[0]!r}, got only "
                    f"{', '.join(record) or 'an empty object'}. Fix or remove the line"
                )
            yield number, tuple(record[name] for name in names)

    _, first = _first(records(), path, "one JSON object a line")
    strings = tuple(name for name, value in first.items() if isinstance(value, str))
    return Source(path, tuple(first), strings, rows, "line", typed=True)


def _table_source(
    path: Path, read: Callable[[], Iterator[tuple[int, list[str]]]], separator: str
) -> Source:
    """Return rows of fields under a header with the names of the columns."""
    _, header = _first(read(), path, "a header with the names of the columns")
    if len(header) == 1 and separator not in header[0]:  # a quoted name may contain it
        for other, name in _SEPARATORS.items():
            if other in header[0]:
                raise InputError(
                    f"{path}: expected {_SEPARATORS[separator]} between the names of the header, "
                    f"got {name}: {reprlib.repr(header[0])}. Save it as {path.suffix} with "
                    f"{_SEPARATORS[separator]} between fields, or rename the column"
                )
    if len(set(header)) < len(header):
        raise InputError(f"{path}: expected different names in the header, got {header}")

    def rows(names: tuple[str, ...]) -> Iterator[SourceRow]:
        places = [header.index(name) for name in names]
        for number, fields in itertools.islice(read(), 1, None):
            if len(fields) != len(header):
                raise InputError(
                    f"{path}, line {number}: expected {len(header)} fields ({', '.join(header)}), "
                    f"got {len(fields)}. Fix or remove the row"
                )
            yield number, tuple(fields[place] for place in places)

    return Source(path, tuple(header), tuple(header), rows, "line", typed=False)


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    # The limit is one of the process, 131,072 characters by default, and is never lowered.
    _ = csv.field_size_limit(max(_MAX_LINE, csv.field_size_limit()))
    reader = csv.reader((f"{line}\n" for _, line in _lines(path)), strict=True)
    while True:
        number = reader.line_num + 1  # a row may have several lines
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as reason:
            raise InputError(
                f"{path}, line {number}: not comma-separated values: {reason}. Fix or remove the "
                "row; a quoted field ends with a quote, and has two where it has one"
            ) from reason
        yield number, fields or [""]  # an empty line is one empty field


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield numbered lines without their line breaks, checked to be UTF-8."""
    with open_regular(path) as file:
        for number in itertools.count(1):
            line = file.readline(_MAX_LINE + 1)
            if not line:
                return
            if len(line) > _MAX_LINE:
                raise InputError(
                    f"{path}, line {number}: expected at most {_MAX_LINE:,} bytes in a line. Split "
                    "the text, or check that the file has line breaks"
                )
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            try:
                text = line.decode()
            except UnicodeDecodeError as reason:
                raise InputError(
                    f"{path}, line {number}: byte {reason.start + 1} of the line "
                    f"(0x{line[reason.start]:02x}) is not UTF-8. Save the file as UTF-8"
                ) from reason
            text = text.removesuffix("\n").removesuffix("\r")
            _check_characters(path, number, text, only=number == 1 and not line.endswith(b"\n"))
            yield number, text


def _check_characters(path: Path, number: int, text: str, *, only: bool) -> None:
    """Reject a line that shows another encoding or other line ends; `only` one has no line feed."""
    if "\0" in text:
        raise InputError(
            f"{path}, line {number}: character {text.index(chr(0)) + 1} of the line is NUL, as in "
            "files with the encoding UTF-16. Save the file as UTF-8"
        )
    if only and "\r" in text:
        raise InputError(
            f"{path} has carriage returns (CR) and no line feeds (LF), as files of old Macs do. "
            "Save the file with line feeds"
        )


def _first(rows: Iterator[tuple[int, Any]], path: Path, expected: str) -> tuple[int, Any]:
    for row in rows:
        return row
    raise InputError(f"{path} is empty: expected {expected}")
