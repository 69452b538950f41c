"""The texts of a data file: which columns they are in, and their fixed parts."""

from __future__ import annotations

import hashlib
import itertools
import json
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from attnflow._internal import checks
from attnflow._internal.files import PathLike, as_path, open_regular
from attnflow.errors import InputError
from attnflow.evaluate._plan import EvaluationPlan
from attnflow.evaluate._texts import LabelledText
from attnflow.evaluate.corpus._arrow_files import dataset_source, parquet_source
from attnflow.evaluate.corpus._source import Source
from attnflow.evaluate.corpus._text_files import (
    csv_source,
    jsonl_source,
    lines_source,
    tsv_source,
)

_FORMATS = {
    ".tsv": tsv_source,
    ".csv": csv_source,
    ".jsonl": jsonl_source,
    ".ndjson": jsonl_source,
    ".parquet": parquet_source,
}
_COMPRESSED = {".gz", ".bz2", ".xz", ".zst", ".zip"}
_TEXT_NAMES = ("text", "sentence")  # columns that hold the text unless another one is chosen
_DIGEST_SIZE = 8  # bytes for each part, so that the digests of a large corpus fit in memory


class Part(NamedTuple):
    """Texts that are measured together and whose results are one file."""

    number: int  # from 0
    first: int  # the number of its first text, from 0
    texts: tuple[LabelledText, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """What a first pass over all texts found."""

    texts: int
    labels: dict[int | str, int]  # each label, and the number of the first row that has it
    digest: str  # of all texts, with their labels and positions
    digests: bytes  # of the parts, `_DIGEST_SIZE` bytes each

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.digests) // _DIGEST_SIZE


@dataclass(frozen=True, slots=True)
class Corpus:
    """The texts of a data file, read again from its start whenever they are asked for."""

    source: Source
    text_column: str
    label_column: str | None
    position_column: str | None
    limit: int | None
    part_size: int

    def scan(self) -> Scan:
        """Read all texts once; a row that cannot be read is an InputError."""
        labels: dict[int | str, int] = {}

        def texts() -> Iterator[LabelledText]:
            for number, text in self._texts():
                if text.label is not None:
                    _ = labels.setdefault(text.label, number)
                yield text

        count, overall, digests = 0, hashlib.sha256(), bytearray()
        for part in _split(texts(), self.part_size):
            count += len(part.texts)
            content = _content(part)
            overall.update(content)
            digests += _digest(content)
        if not count:
            raise InputError(f"{self.source.path} has no texts: expected at least one")
        return Scan(count, labels, overall.hexdigest(), bytes(digests))

    def parts(self, scan: Scan) -> Iterator[Part]:
        """Yield the parts; one that differs from the first pass is an InputError."""
        number = -1
        for part in _split((text for _, text in self._texts()), self.part_size):
            number = part.number
            start = _DIGEST_SIZE * number
            if _digest(_content(part)) != scan.digests[start : start + _DIGEST_SIZE]:
                break
            yield part
        else:
            if number + 1 == scan.parts:
                return
        raise InputError(
            f"{self.source.path} was changed during the run. Restore it and run the same again, or "
            "choose another folder for the results of the changed data"
        )

    def _texts(self) -> Iterator[tuple[int, LabelledText]]:
        """Yield the number of each row, and its text."""
        names = [self.text_column, self.label_column, self.position_column]
        used = tuple(dict.fromkeys(name for name in names if name is not None))
        rows = itertools.islice(self.source.rows(used), self.limit)
        for number, values in rows:
            by_name = dict(zip(used, values, strict=True))
            text = self._text(number, by_name[self.text_column])
            label = position = None
            if self.label_column is not None:
                label = self._label(number, by_name[self.label_column])
            if self.position_column is not None:
                position = self._position(number, by_name[self.position_column])
            yield number, LabelledText(text, label, position)

    def _text(self, number: int, value: object) -> str:
        if not isinstance(value, str):
            raise self._unexpected(number, self.text_column, "a text", value)
        try:
            _ = value.encode()
        except UnicodeEncodeError as reason:  # JSON can write one half of a surrogate pair
            raise InputError(
                f"{self.source.place(number)}: character {reason.start + 1} of the text is "
                f"{value[reason.start]!r}, which is not a character. Fix or remove the row"
            ) from reason
        return value

    def _label(self, number: int, value: object) -> int | str:
        if isinstance(value, str) and not self.source.typed:
            value = _as_number(value)
        if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
            raise self._unexpected(number, self.label_column, "a number or a name", value)
        return value

    def _position(self, number: int, value: object) -> int:
        if isinstance(value, str):
            value = _as_number(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._unexpected(number, self.position_column, "a number of 0 or more", value)
        return value

    def _unexpected(
        self, number: int, column: str | None, expected: str, value: object
    ) -> InputError:
        return InputError(
            f"{self.source.place(number)}: expected {expected} in the column {column!r}, got "
            f"{reprlib.repr(value)}. Fix or remove the row"
        )


def open_corpus(
    data: PathLike,
    plan: EvaluationPlan,
    *,
    text_column: str | None,
    label_column: str | None,
    position_column: str | None,
    limit: int | None,
    part_size: int,
) -> Corpus:
    """Return the texts of a data file with the columns that a plan needs."""
    if limit is not None:
        limit = checks.as_int(limit, "limit", least=1)
    part_size = checks.as_int(part_size, "part_size", least=1)
    path = as_path(data)
    source = _source(path)
    return Corpus(
        source,
        _text_column(source, text_column),
        _label_column(source, label_column, plan),
        _position_column(source, position_column, plan),
        limit,
        part_size,
    )


def _source(path: Path) -> Source:
    if path.is_dir():
        return dataset_source(path)
    suffix = path.suffix.lower()
    if suffix == ".json" or suffix in _COMPRESSED:
        open_regular(path).close()  # its errors say what is wrong with the path
    if suffix == ".json":
        raise InputError(
            f"{path}: expected one JSON object a line in a file that ends in .jsonl, got a .json "
            "file. Save it as JSON lines, with the name .jsonl"
        )
    if suffix in _COMPRESSED:
        raise InputError(
            f"{path} is compressed ({suffix}), and is not read so. Decompress it first"
        )
    return _FORMATS.get(suffix, lines_source)(path)


def _text_column(source: Source, name: str | None) -> str:
    if name is not None:
        return _known_column(source, name, "text_column")
    for usual in _TEXT_NAMES:
        if usual in source.text_columns:
            return usual
    if len(source.text_columns) == 1:
        return source.text_columns[0]
    raise InputError(
        f"text_column: expected the name of the column with the texts, since {source.path} has no "
        f"column of strings with the name text or sentence, got None. {source.its_columns()}"
    )


def _label_column(source: Source, name: str | None, plan: EvaluationPlan) -> str | None:
    if plan.target == "label":
        return _known_column(source, "label" if name is None else name, "label_column")
    if name is not None:
        raise InputError(f"label_column must be left out without target='label', got {name!r}")
    return None


def _position_column(source: Source, name: str | None, plan: EvaluationPlan) -> str | None:
    if "pointing" in plan.metrics:
        return _known_column(source, "position" if name is None else name, "position_column")
    if name is not None:
        raise InputError(
            f"position_column must be left out without the metric 'pointing', got {name!r}"
        )
    return None


def _known_column(source: Source, name: str, argument: str) -> str:
    if name not in source.columns:
        raise InputError(
            f"{argument}: {source.path} has no column {name!r}. {source.its_columns()}"
        )
    return name


def _as_number(value: str) -> int | str:
    """Return a number of a text file as an integer, another value as it is."""
    digits = value.removeprefix("-")
    # int() raises an error for very many digits.
    return int(value) if digits.isascii() and digits.isdigit() and len(digits) < 20 else value


def _split(texts: Iterator[LabelledText], size: int) -> Iterator[Part]:
    for number in itertools.count():
        part = tuple(itertools.islice(texts, size))
        if not part:
            return
        yield Part(number, number * size, part)


def _content(part: Part) -> bytes:
    return "".join(f"{json.dumps(text)}\n" for text in part.texts).encode()


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:_DIGEST_SIZE]
