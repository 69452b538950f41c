"""Files of results: one Parquet file for each part, with its checksum in its name.

A file is written under another name, flushed to the disk and renamed. A name therefore says that
the file was complete, and the checksum in it whether it still is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError
from attnflow.evaluate.corpus._data import Part
from attnflow.evaluate.corpus._worker import PartValues

RESULTS = "results"
DRAFT = ".part"  # one name is enough: the folder is locked
_NAME = re.compile(r"part-(\d{8,12})-([0-9a-f]{16})\.parquet", re.ASCII)
# Bytes. Chosen: above the texts of a part, so that each text is stored once and not for every row.
_DICTIONARY = 2**30


@dataclass(frozen=True, slots=True)
class PartFiles:
    """The files of the parts of a run: which are finished, and their checksums."""

    folder: Path
    settings: dict[str, Any]
    finished: NDArray[np.bool_]
    checksums: NDArray[np.uint64]

    @classmethod
    def of(cls, folder: Path, count: int, settings: dict[str, Any]) -> PartFiles:
        """Return the files of a run of `count` parts, none of them finished."""
        return cls(folder, settings, np.zeros(count, np.bool_), np.zeros(count, np.uint64))

    def verify(self) -> tuple[str, ...]:
        """Find the parts that are finished; damaged files are removed, and their names returned."""
        results = self.folder / RESULTS
        damaged: list[str] = []
        try:
            results.mkdir(exist_ok=True)
            with os.scandir(results) as entries:
                for entry in entries:
                    match = _NAME.fullmatch(entry.name)
                    if match is None or int(match[1]) >= len(self.finished):
                        raise InputError(
                            f"{results} contains {entry.name}, which is not a part of this run. "
                            "Move it away"
                        )
                    number, checksum = int(match[1]), int(match[2], 16)
                    path = results / entry.name
                    if _checksum(number, path.read_bytes()) == checksum:
                        self.finished[number], self.checksums[number] = True, checksum
                    else:
                        path.unlink()
                        damaged.append(entry.name)
        except OSError as error:
            raise self._error(error) from error
        return tuple(sorted(damaged))

    def write(self, part: Part, found: PartValues) -> None:
        """Write the results of a part."""
        content = _parquet(part, found, self.settings)
        checksum = _checksum(part.number, content)
        draft = self.folder / DRAFT
        try:
            with draft.open("wb") as file:
                _ = file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _ = draft.replace(self._path(part.number, checksum))
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise self._error(error) from error
        self.finished[part.number], self.checksums[part.number] = True, checksum

    def paths(self) -> Iterator[Path]:
        """Yield the files of finished parts, in their order."""
        for number in np.flatnonzero(self.finished).tolist():
            yield self._path(number, int(self.checksums[number]))

    def _path(self, number: int, checksum: int) -> Path:
        return self.folder / RESULTS / f"part-{number:08}-{checksum:016x}.parquet"

    def _error(self, error: OSError) -> InputError:
        return InputError(
            f"{self.folder} cannot be written to: {error.strerror or error}. Finished parts are "
            "kept: free space or fix the folder, then run the same again to resume"
        )


def _checksum(number: int, content: bytes) -> int:
    """Return 64 bits of SHA-256 of a part and its number: enough against damage, short in a name.

    With the number, a file that was copied or renamed to that of another part is damaged too.
    """
    found = hashlib.sha256(number.to_bytes(8, "big"))
    found.update(content)
    return int.from_bytes(found.digest()[:8], "big")


def _parquet(part: Part, found: PartValues, settings: dict[str, Any]) -> bytes:
    """Return a Parquet file with a row for each text and cell; the same values, the same bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    n_texts, n_cells = found.values.shape
    texts = np.repeat(np.arange(n_texts, dtype=np.int32), n_cells)
    cells = pa.array(np.tile(np.arange(n_cells, dtype=np.int32), n_texts))

    def per_text(values: list[Any]) -> Any:
        """Return strings that are stored once for all rows of a text.

        The values of the dictionary are distinct: for repeated ones, pyarrow 26 writes bytes that
        it has not initialized.
        """
        return pa.array(values, pa.string()).dictionary_encode().take(pa.array(texts))

    def per_cell(name: str, kind: Any) -> Any:
        """Return a field of the cells, for the rows of every text."""
        return pa.array([getattr(cell, name) for cell in found.cells], kind).take(cells)

    values = found.values.ravel()
    columns: dict[str, Any] = {
        "text_id": pa.array(part.first + texts.astype(np.int64)),
        "text": per_text([text.text for text in part.texts]),
        "n_tokens": pa.array(found.n_tokens[texts]),
        "edges": per_cell("edges", pa.string()),
        "method": per_cell("method", pa.string()),
        "layer": per_cell("layer", pa.int32()),
        "importance": per_cell("importance", pa.string()),
        "metric": per_cell("metric", pa.string()),
        "value": pa.array(values, mask=np.isnan(values)),
        "error": per_text(list(found.errors)),
    }
    about = {"attnflow": settings, "measured": found.settings}
    metadata = {name: json.dumps(value, sort_keys=True) for name, value in about.items()}
    table = pa.table(columns).replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    parquet.write_table(
        table,
        sink,
        row_group_size=len(table),
        version="2.6",
        compression="zstd",
        use_dictionary=True,
        dictionary_pagesize_limit=_DICTIONARY,
    )
    return sink.getvalue().to_pybytes()
