"""Readers for the three file formats of the agreement sentences of Linzen et al. (2016).

Reference: Linzen, Dupoux & Goldberg, "Assessing the Ability of LSTMs to Learn Syntax-Sensitive
Dependencies", TACL 2016, https://doi.org/10.1162/tacl_a_00115.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, TypeAlias, cast

from attnflow._internal.files import PathLike
from attnflow.errors import InputError
from attnflow.paper.data._prefix import MAX_WORDS, PLURAL, SINGULAR, Prefix

_NUMBERS = {"VBZ": SINGULAR, "VBP": PLURAL}


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The prefixes of a file in order, and (line, reason) for each row that was skipped."""

    path: Path
    prefixes: tuple[Prefix, ...]
    malformed: tuple[tuple[int, str], ...]


class _MalformedError(ValueError):
    """The reason why a row cannot be read."""


# Parses the fields of a row.
_Parser: TypeAlias = Callable[[Sequence[str]], Prefix]


def read_numpred(path: PathLike, *, attractors: int | None = None) -> ParsedFile:
    r"""Read rows of `VBZ` or `VBP`, a tab, and the words before the verb; no header.

    Parameters
    ----------
    path
        The file, `numpred.val` or `numpred.test.k`.
    attractors
        The number of attractors of every sentence in the file; None if it varies.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "numpred.val"
    ...     _ = path.write_text("VBZ\tthe key to the cabinets\nVBD\tthe key\n")
    ...     parsed = read_numpred(path)
    >>> len(parsed.prefixes), parsed.malformed
    (1, ((2, "expected verb tag VBZ or VBP, got 'VBD'"),))
    """

    def parse(fields: Sequence[str]) -> Prefix:
        _check_fields(fields, 2)
        return Prefix(_words(fields[1]), _number(fields[0]), attractors)

    return _read(path, lambda _: parse)


def read_sentences(path: PathLike) -> ParsedFile:
    """Read full sentences with `subj_idx` and `verb_idx`, which count from 0, below a header.

    The header must name sentence, subj_idx, verb_idx and verb_pos; other columns are ignored.
    """

    def parse(row: dict[str, str]) -> Prefix:
        words, verb = _words(row["sentence"]), _index(row, "verb_idx")
        subject = _index(row, "subj_idx")
        if not 0 <= subject < verb < len(words):
            raise _MalformedError(
                f"expected 0 <= subj_idx < verb_idx < {len(words)} (the number of words), got "
                f"subj_idx {subject} and verb_idx {verb}"
            )
        return Prefix(words[:verb], _number(row["verb_pos"]), None, subject, 1, words[verb:])

    return _read_table(path, ("sentence", "subj_idx", "verb_idx", "verb_pos"), parse)


def read_corpus(path: PathLike) -> ParsedFile:
    """Read the authors' full file, plain or gzipped; its `verb_index` counts from 1.

    The header must name sentence, verb_pos, verb_index and n_diff_intervening; other columns are
    ignored.
    """

    def parse(row: dict[str, str]) -> Prefix:
        words, verb = _words(row["sentence"]), _index(row, "verb_index") - 1
        if not 0 < verb < len(words):
            raise _MalformedError(
                f"expected verb_index from 2 to {len(words)} (the number of words), got {verb + 1}"
            )
        attractors = _index(row, "n_diff_intervening")
        return Prefix(words[:verb], _number(row["verb_pos"]), attractors, None, 1, words[verb:])

    return _read_table(path, ("sentence", "verb_pos", "verb_index", "n_diff_intervening"), parse)


def _read_table(
    path: PathLike, columns: Sequence[str], parse: Callable[[dict[str, str]], Prefix]
) -> ParsedFile:
    def parser(rows: Iterator[tuple[int, str]]) -> _Parser:
        header = next(rows, (1, ""))[1].split("\t")
        if missing := [name for name in columns if name not in header]:
            raise InputError(
                f"{path}: expected a header with the columns {', '.join(columns)}; "
                f"{', '.join(missing)} missing in {header!r}. Check that it is the right file"
            )

        def parse_fields(fields: Sequence[str]) -> Prefix:
            _check_fields(fields, len(header))
            return parse(dict(zip(header, fields, strict=True)))

        return parse_fields

    return _read(path, parser)


def _read(path: PathLike, parser: Callable[[Iterator[tuple[int, str]]], _Parser]) -> ParsedFile:
    """Parse every row; `parser` may consume the header and returns the parser of a row."""
    path = Path(path)
    prefixes: list[Prefix] = []
    malformed: list[tuple[int, str]] = []
    try:
        with _open(path) as file:
            rows = ((line, row.rstrip("\r\n")) for line, row in enumerate(file, start=1))
            parse = parser(rows)
            for line, row in rows:
                try:
                    prefixes.append(_check_length(parse(row.split("\t"))))
                except _MalformedError as error:
                    malformed.append((line, str(error)))
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the path") from error
    except (OSError, EOFError, zlib.error) as error:  # also a truncated or invalid .gz file
        raise InputError(f"{path} cannot be read: {error}") from error
    return ParsedFile(path, tuple(prefixes), tuple(malformed))


def _open(path: Path) -> TextIO:
    opener = gzip.open if path.suffix == ".gz" else open
    file = opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="\n")
    return cast("TextIO", file)


def _check_fields(fields: Sequence[str], expected: int) -> None:
    if len(fields) != expected:
        raise _MalformedError(f"expected {expected} tab-separated fields, got {len(fields)}")


def _check_length(prefix: Prefix) -> Prefix:
    if len(prefix.words) > MAX_WORDS:
        raise _MalformedError(
            f"expected at most {MAX_WORDS} words before the verb, got {len(prefix.words)}"
        )
    return prefix


def _words(text: str) -> tuple[str, ...]:
    words = tuple(text.split())
    if not words:
        raise _MalformedError("expected at least one word, got none")
    return words


def _number(tag: str) -> int:
    if tag not in _NUMBERS:
        raise _MalformedError(f"expected verb tag VBZ or VBP, got {tag!r}")
    return _NUMBERS[tag]


def _index(row: dict[str, str], name: str) -> int:
    try:
        return int(row[name])
    except ValueError:
        raise _MalformedError(f"{name} must be an integer, got {row[name]!r}") from None
