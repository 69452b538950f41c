"""How much of the package one call runs through: few files, so that it can be read and debugged."""

import sys
from pathlib import Path
from types import FrameType

from small_models import small_model
from small_tokenizers import tokenizer_for

import attnflow as af

SOURCES = Path(af.__file__).parent


def test_capturing_the_attention_of_one_text_runs_through_at_most_12_files():
    model, tokenizer = small_model("bert"), tokenizer_for("bert")
    files: set[str] = set()

    def record(frame: FrameType, _event: str, _argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(SOURCES):
            files.add(str(path.relative_to(SOURCES)))

    _ = af.attend(model, tokenizer, "the old cat")  # loads what is loaded late
    before = sys.gettrace()
    sys.settrace(record)
    try:
        _ = af.attend(model, tokenizer, "the old cat")
    finally:
        sys.settrace(before)
    assert "models/_attend.py" in files
    assert len(files) <= 12, sorted(files)
