"""The static files of the app: a fixed table, read once."""

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
    """Content and headers of one address."""

    content: bytes
    type: str
    tag: str  # the ETag: a digest of the content


def files() -> dict[str, File]:
    """Return address → file. No part of an address is ever used as a path."""
    names = {
        "/": "app.html",
        **{f"/page/{name}": name for name in ("app.js", "app.css", "widget.js")},
    }
    return {
        address: make_file(static_file(name), name.rpartition(".")[2])
        for address, name in names.items()
    }


def make_file(text: str, suffix: str) -> File:
    """Return a file with this text."""
    content = text.encode()
    tag = hashlib.blake2b(content, digest_size=8).hexdigest()
    return File(content, _TYPES[suffix], f'"{tag}"')
