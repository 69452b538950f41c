"""The page's files, and its modules joined to one script."""

import functools
import re
from importlib.resources import files

# `import { a } from "./b.js"` stands on one line and goes: joined modules see each other's names.
_IMPORT = re.compile(r"^import .*\n?", re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
# Comments that have lines of their own: a third of the text, for readers of the modules alone.
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*[\s\S]*?\*/[ \t]*)\n", re.MULTILINE)


def page_file(name: str) -> str:
    """The text of a file of the page.

    >>> "widget.js" in page_file("modules.txt")
    True
    """
    return (files("attnflow.view") / "page" / name).read_text(encoding="utf-8")


def module_names() -> tuple[str, ...]:
    """Names of the page's modules, each after those it imports; the last one mounts the page.

    >>> module_names()[-1]
    'widget.js'
    """
    return tuple(page_file("modules.txt").split())


@functools.cache
def joined(*more: str) -> str:
    """All modules, and `more` files of the page after them, as one module without imports.

    The default export is that of the last module.
    """
    return "\n".join(_plain(page_file(name)) for name in (*module_names(), *more))


def _plain(module: str) -> str:
    r"""A module's text without imports, comments and the mark of what others may import.

    >>> _plain('// B.\nimport { a } from "./a.js";\nexport const b = a;\nexport default b;\n')
    'const b = a;\nexport default b;\n'
    """
    return _EXPORT.sub("", _IMPORT.sub("", _COMMENT.sub("", module)))
