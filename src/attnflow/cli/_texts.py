"""Texts that come as an argument, from the standard input or in a file."""

import io
import sys
from pathlib import Path
from typing import IO

from attnflow._internal.files import open_regular
from attnflow.cli._options import wrong
from attnflow.errors import InputError

_MAX_BYTES = 2**26  # of a text, or of a file of texts. Chosen: far more than a model reads


def one_text(argument: str | None, file: Path | None) -> str:
    """Return the text of a command: `argument`, or the content of standard input (-) or a file."""
    if file is not None:
        text, where = _content(file), str(file)
    elif argument == "-":
        where = "the standard input"
        # Python has no stdin where the shell closed it.
        text = _decoded(io.BytesIO() if sys.stdin is None else sys.stdin.buffer, where)
    else:
        text, where = encodable(argument or "", option="TEXT"), "TEXT"
    if not text.strip():  # answered here, before torch is imported
        raise InputError(f"{where} is empty. Pass a text with at least one word")
    return text


def lines(file: Path) -> list[str]:
    """Return one text per line. An empty line is an error, since line n becomes file n."""
    texts = _content(file).split("\n")
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise InputError(
                f"line {number} of {file} is empty. Each line must have at least one word"
            )
    return texts


def encodable(text: str, *, option: str) -> str:
    """Reject an argument that is not UTF-8, which Python decodes to lone surrogates."""
    try:
        _ = text.encode()
    except UnicodeEncodeError as reason:
        raise wrong(option, "expected text in UTF-8") from reason
    return text


def _content(file: Path) -> str:
    try:
        with open_regular(file) as stream:
            return _decoded(stream, str(file))
    except OSError as reason:
        raise InputError(f"{file} cannot be read: {reason.strerror}") from reason


def _decoded(stream: IO[bytes], where: str) -> str:
    """Return the text without a byte order mark and the last line break, which editors add."""
    content = stream.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise InputError(f"{where}: expected at most {_MAX_BYTES} bytes of text. Pass a part of it")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        raise InputError(
            f"{where} is not text in UTF-8 (byte {reason.start + 1}). Save it as UTF-8"
        ) from reason
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
