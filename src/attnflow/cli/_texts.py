"""Texts that come as an argument, from the standard input or in a file."""

import sys
from pathlib import Path

from attnflow.cli._options import wrong
from attnflow.errors import InputError


def one_text(argument: str | None, file: Path | None) -> str:
    """Return the text of a command: `argument`, or the content of standard input (-) or a file.

    The last line break is removed, since editors and echo add it.
    """
    if file is not None:
        text, where = _content(file).removesuffix("\n"), str(file)
    elif argument == "-":
        where = "the standard input"
        # Python has no stdin where the shell closed it.
        content = b"" if sys.stdin is None else sys.stdin.buffer.read()
        text = _decoded(content, where).removesuffix("\n")
    else:
        text, where = encodable(argument or "", option="TEXT"), "TEXT"
    if not text:
        raise InputError(f"{where} is empty. Pass a text with at least one word")
    return text


def lines(file: Path) -> list[str]:
    """Return one text per line. An empty line is an error, since line n becomes file n."""
    texts = _content(file).removesuffix("\n").split("\n")
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
        return _decoded(file.read_bytes(), str(file))
    except FileNotFoundError as reason:
        raise InputError(f"{file} does not exist. Check the path") from reason
    except OSError as reason:
        raise InputError(f"{file} cannot be read: {reason.strerror}") from reason


def _decoded(content: bytes, where: str) -> str:
    """Return the text without a byte order mark, and with Python's line breaks."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        raise InputError(
            f"{where} is not text in UTF-8 (byte {reason.start + 1}). Save it as UTF-8"
        ) from reason
    return text.replace("\r\n", "\n").replace("\r", "\n")
