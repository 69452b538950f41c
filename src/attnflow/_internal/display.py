"""How tokens, numbers and tables are written for people."""

import math
from collections.abc import Callable, Sequence

# Characters of a text in the name of its column. Chosen, so that a table fits a page.
_LONGEST_NAME = 40


def format_number(value: float, digits: int = 3) -> str:
    """Return a score, probability or correlation with a fixed number of digits.

    >>> format_number(0.25), format_number(0.5, 2), format_number(math.nan)
    ('0.250', '0.50', 'undefined')
    """
    return "undefined" if math.isnan(value) else f"{value:.{digits}f}"


def printable(name: str) -> str:
    r"""Return the name with control characters escaped, so that they cannot act on a terminal.

    >>> print(printable("a\n"))
    a\n
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def one_line(text: str) -> str:
    r"""Return a text as the name of a column: on one line, truncated.

    >>> one_line("one\n two")
    'one two'
    """
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_NAME else line[: _LONGEST_NAME - 1] + "…"


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first row is the header, columns after the first align right.

    >>> print(markdown_table([["", "L1"], ["raw", "0.5"]]))
    |     |  L1 |
    |-----|----:|
    | raw | 0.5 |
    """
    # A bar or a line break would end its cell.
    cells = [[" ".join(cell.replace("|", r"\|").split()) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = "|".join("-" * (width + 1) + ("-", ":")[i > 0] for i, width in enumerate(widths))
    head, *body = (f"| {line} |" for line in align_columns(cells, right=True, gap=" | "))
    return "\n".join([head, f"|{rule}|", *body])


def position_name(position: int, tokens: Sequence[str]) -> str:
    """Return a position with its token; the number alone if it has no token or is named by it.

    >>> position_name(0, ["[CLS]"]), position_name(1, ["0", "1"]), position_name(2, [])
    ('0 [CLS]', '1', '2')
    """
    number = str(position)
    has_name = position < len(tokens) and tokens[position] != number
    return f"{number} {tokens[position]}" if has_name else number


def align_columns(
    rows: Sequence[Sequence[str]],
    *,
    right: bool,
    gap: str = "  ",
    width: Callable[[str], int] = len,
) -> list[str]:
    """Return the lines of a table: the first column to the left, others to the right if `right`.

    >>> align_columns([["", "raw"], ["key", "0.500"]], right=True)
    ['       raw', 'key  0.500']
    """
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        spaces = [" " * (most - width(cell)) for cell, most in zip(row, widths, strict=True)]
        cells = enumerate(zip(row, spaces, strict=True))
        padded = [space + cell if right and i else cell + space for i, (cell, space) in cells]
        lines.append(gap.join(padded))
    return lines
