"""The files that browsers are given: those of a fixed table, read once, and no others."""

import hashlib
from dataclasses import dataclass

from attnflow.view._static import static_file

_TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class File:
    """What a browser is given for one address."""

    content: bytes
    type: str
    tag: str  # changes with the content


def files() -> dict[str, File]:
    """Address → file. An address is looked up as it is: nothing in it becomes a path.

    >>> files()["/"].type
    'text/html; charset=utf-8'
    """
    names = {
        "/": "app.html",
        **{f"/page/{name}": name for name in ("app.js", "app.css", "widget.js")},
    }
    return {address: _file(name) for address, name in names.items()}


def made_file(text: str, suffix: str) -> File:
    """A file of this text."""
    content = text.encode()
    tag = hashlib.blake2b(content, digest_size=8).hexdigest()
    return File(content, _TYPES[suffix], f'"{tag}"')


def _file(name: str) -> File:
    return made_file(static_file(name), name.rpartition(".")[2])
