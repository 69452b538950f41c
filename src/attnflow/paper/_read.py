"""Agreement sentences from files: Linzen et al. (2016) in three forms.

Reference: Linzen, Dupoux & Goldberg, "Assessing the Ability of LSTMs to Learn Syntax-Sensitive
Dependencies", TACL 2016, https://doi.org/10.1162/tacl_a_00115.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from attnflow._internal.storage import PathLike
from attnflow.errors import InputError
from attnflow.paper._prefix import LONGEST, PLURAL, SINGULAR, Prefix

_NUMBERS = {"VBZ": SINGULAR, "VBP": PLURAL}


@dataclass(frozen=True, slots=True)
class Read:
    """What a file gave: its prefixes in order, and (line, reason) of each row that was left out."""

    path: Path
    prefixes: tuple[Prefix, ...]
    malformed: tuple[tuple[int, str], ...]


class _MalformedError(ValueError):
    """Why a row cannot be read."""


_Rows: TypeAlias = Iterable[tuple[int, str]]


def read_numpred(path: PathLike, *, attractors: int | None = None) -> Read:
    r"""Rows `VBZ` or `VBP`, a tab, the words before the verb; no header.

    Parameters
    ----------
    path
        The file, `numpred.val` or `numpred.test.k`.
    attractors
        How many attractors each of its sentences has, where the file is of one kind only.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "numpred.val"
    ...     _ = path.write_text("VBZ\tthe key to the cabinets\nVBD\tthe key\n")
    ...     read = read_numpred(path)
    >>> len(read.prefixes), read.malformed
    (1, ((2, "the verb is 'VBD', wanted is VBZ or VBP"),))
    """

    def parse(fields: Sequence[str]) -> Prefix:
        if len(fields) != 2:
            raise _MalformedError(f"{len(fields)} tab-separated fields, wanted are 2")
        return Prefix(_words(fields[1]), _number(fields[0]), attractors)

    return _read(path, lambda rows: ((line, row, parse) for line, row in rows))


def read_sentences(path: PathLike) -> Read:
    """Full sentences with `subj_idx` and `verb_idx`, counted from 0, below a header.

    The header names at least sentence, subj_idx, verb_idx and verb_pos; other columns are left
    alone. A file without one of them is an InputError.
    """

    def parse(row: dict[str, str]) -> Prefix:
        words, verb = _words(row["sentence"]), _index(row, "verb_idx")
        subject = _index(row, "subj_idx")
        if not 0 <= subject < verb < len(words):
            raise _MalformedError(f"subject {subject} and verb {verb} in {len(words)} words")
        return Prefix(words[:verb], _number(row["verb_pos"]), None, subject, 1, words[verb:])

    return _read_table(path, ("sentence", "subj_idx", "verb_idx", "verb_pos"), parse)


def read_corpus(path: PathLike) -> Read:
    """The authors' full file, plain or gzipped; its `verb_index` counts from 1.

    The header names at least sentence, verb_pos, verb_index and n_diff_intervening; other columns
    are left alone. A file without one of them is an InputError.
    """

    def parse(row: dict[str, str]) -> Prefix:
        words, verb = _words(row["sentence"]), _index(row, "verb_index") - 1
        if not 0 < verb < len(words):
            raise _MalformedError(f"verb {verb + 1} in {len(words)} words")
        attractors = _index(row, "n_diff_intervening")
        return Prefix(words[:verb], _number(row["verb_pos"]), attractors, None, 1, words[verb:])

    return _read_table(path, ("sentence", "verb_pos", "verb_index", "n_diff_intervening"), parse)


def _read_table(
    path: PathLike, columns: Sequence[str], parse: Callable[[dict[str, str]], Prefix]
) -> Read:
    def parsers(rows: _Rows) -> Iterator[tuple[int, str, Callable[[Sequence[str]], Prefix]]]:
        lines = iter(rows)
        header = next(lines, (1, ""))[1].split("\t")
        if missing := [name for name in columns if name not in header]:
            raise InputError(
                f"{path} has no column {', '.join(missing)}; its first line should name the "
                f"columns and is {header!r}. Is it the right file?"
            )

        def parse_fields(fields: Sequence[str]) -> Prefix:
            if len(fields) != len(header):
                raise _MalformedError(
                    f"{len(fields)} tab-separated fields, wanted are {len(header)}"
                )
            return parse(dict(zip(header, fields, strict=True)))

        for line, row in lines:
            yield line, row, parse_fields

    return _read(path, parsers)


def _read(
    path: PathLike,
    parsers: Callable[[_Rows], Iterable[tuple[int, str, Callable[[Sequence[str]], Prefix]]]],
) -> Read:
    path = Path(path)
    opened = gzip.open if path.suffix == ".gz" else open
    prefixes: list[Prefix] = []
    malformed: list[tuple[int, str]] = []
    try:
        with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="\n") as file:
            rows = ((line, row.rstrip("\r\n")) for line, row in enumerate(file, start=1))
            for line, row, parse in parsers(rows):
                try:
                    prefixes.append(_short(parse(row.split("\t"))))
                except _MalformedError as reason:
                    malformed.append((line, str(reason)))
    except FileNotFoundError as reason:
        raise InputError(f"{path} does not exist; check the path") from reason
    except (OSError, EOFError, zlib.error) as reason:  # cut off, or not gzipped, as well
        raise InputError(f"{path} cannot be read: {reason}") from reason
    return Read(path, tuple(prefixes), tuple(malformed))


def _short(prefix: Prefix) -> Prefix:
    if len(prefix.words) > LONGEST:
        raise _MalformedError(f"{len(prefix.words)} words before the verb, the most are {LONGEST}")
    return prefix


def _words(text: str) -> tuple[str, ...]:
    words = tuple(text.split())
    if not words:
        raise _MalformedError("no words")
    return words


def _number(tag: str) -> int:
    if tag not in _NUMBERS:
        raise _MalformedError(f"the verb is {tag!r}, wanted is VBZ or VBP")
    return _NUMBERS[tag]


def _index(row: dict[str, str], name: str) -> int:
    try:
        return int(row[name])
    except ValueError:
        raise _MalformedError(f"{name} is {row[name]!r}, wanted is a whole number") from None
