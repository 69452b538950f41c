"""Texts that come as an argument, from the standard input or in a file."""

import sys
from pathlib import Path

from attnflow.cli._options import wrong
from attnflow.errors import InputError


def one_text(argument: str | None, file: Path | None) -> str:
    """The text of a command: `argument` itself, `-` for the standard input, or a file's content.

    Of what is read, the last line break is not part of the text: editors and echo put it there.
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
        raise InputError(f"{where} is empty; a text of at least one word is wanted")
    return text


def lines(file: Path) -> list[str]:
    """One text a line. An empty line is an error, since line n is to give file n."""
    texts = _content(file).removesuffix("\n").split("\n")
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise InputError(
                f"line {number} of {file} is empty; each line is one text of at least one word"
            )
    return texts


def encodable(text: str, *, option: str) -> str:
    """Refuse an argument with bytes that are no text, which Python hides in half characters."""
    try:
        _ = text.encode()
    except UnicodeEncodeError as reason:
        raise wrong(option, "it is not text in UTF-8") from reason
    return text


def _content(file: Path) -> str:
    try:
        return _decoded(file.read_bytes(), str(file))
    except FileNotFoundError as reason:
        raise InputError(f"{file} does not exist; check the path") from reason
    except OSError as reason:
        raise InputError(f"{file} cannot be read: {reason.strerror}") from reason


def _decoded(content: bytes, where: str) -> str:
    """Text with line breaks as Python has them, without the mark that some editors begin with."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        raise InputError(
            f"{where} is not text in UTF-8 (byte {reason.start + 1}); save it as UTF-8"
        ) from reason
    return text.replace("\r\n", "\n").replace("\r", "\n")
