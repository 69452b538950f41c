"""The page's scripts, styles and HTML, which `make page` builds from `page/src`."""

import functools
from importlib.resources import files


@functools.cache
def static_file(name: str) -> str:
    """Return the text of a file of `static/`."""
    return (files("attnflow.view") / "static" / name).read_text(encoding="utf-8")
