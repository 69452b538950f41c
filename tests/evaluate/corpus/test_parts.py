"""Files of parts: the same values give the same bytes, whatever is in memory."""

import io

import numpy as np
from pyarrow import parquet
from stand_in import FAILS, StandIn

from attnflow.evaluate import LabelledText
from attnflow.evaluate.corpus._data import Part
from attnflow.evaluate.corpus._parts import _parquet


def _part(*texts: str) -> Part:
    return Part(0, 0, tuple(LabelledText(text) for text in texts))


def test_the_bytes_do_not_depend_on_what_memory_held_before() -> None:
    rng = np.random.default_rng(0)
    # Repeated texts, and no error at all: pyarrow once wrote memory that nobody had set.
    part = _part("same", "same", "other", "same")
    found = StandIn().measure(part.texts)
    written: set[bytes] = set()
    for size in rng.integers(1, 4096, size=300):
        held = [rng.bytes(int(size)) for _ in range(8)]
        del held
        written.add(_parquet(part, found, {"plan": {}}))
    assert len(written) == 1


def test_a_long_text_is_stored_once_and_not_for_every_row() -> None:
    text = " ".join(np.random.default_rng(0).integers(0, 2**32, 10_000).astype(str))
    part = _part(text, f"short {FAILS}")
    content = _parquet(part, StandIn().measure(part.texts), {})
    assert len(content) < 1.5 * len(text)
    table = parquet.read_table(io.BytesIO(content))
    assert table["text"].to_pylist() == 4 * [text] + 4 * [f"short {FAILS}"]
    assert table["error"].to_pylist() == 4 * [None] + 4 * ["it fails"]
