"""A small HTML table for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Render a table; every cell is escaped, since tokens such as `<s>` and `<pad>` look like tags.

    `caption` stands above the table, `header` names the columns, and the first cell of each of
    `rows` is its heading. The cost is that of the text.

    >>> html_table("one row", ["query", "a"], [["<s>", "1"]])
    '<table><caption>one row</caption><thead><tr><th>query</th><th>a</th></tr></thead>\
<tbody><tr><th>&lt;s&gt;</th><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{_row(cells)}</tr>" for cells in rows)
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def counted(names: Sequence[str]) -> str:
    """How many names there are, and as many of them as fit a cell.

    >>> counted(["a", "b"])
    '2: a b'
    """
    shown = 20  # so that the table fits a notebook's page; chosen by eye
    more = " …" if len(names) > shown else ""
    return f"{len(names)}: {' '.join(names[:shown])}{more}"


def _row(cells: Iterable[str]) -> str:
    first, *others = cells
    return f"<th>{escape(first)}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in others)
