"""How tokens, numbers and tables are written for people."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from attnflow._internal.words import token_texts

# Characters of a text in the name of its column. Chosen, so that a table fits a page.
_LONGEST_NAME = 40
# White space that names show: a line break, a tab, and a space that is a token of its own.
_BREAKS = str.maketrans({"\n": "\N{RETURN SYMBOL}", "\t": "\N{RIGHTWARDS ARROW TO BAR}"})
_SPACE = "\N{OPEN BOX}"
# Invisible characters inside emojis, and in words of several scripts.
_JOINERS = "\u200c\u200d"


def format_number(value: float, digits: int = 3) -> str:
    """Return a score, probability or correlation with a fixed number of digits.

    >>> format_number(0.25), format_number(0.5, 2), format_number(math.nan)
    ('0.250', '0.50', 'undefined')
    """
    return "undefined" if math.isnan(value) else f"{value:.{digits}f}"


def format_scores(values: Sequence[float], largest: float) -> list[str]:
    """Return scores with three digits, in scientific notation if the `largest` would be 0.000.

    NaN, a token without a score, is a dash.

    >>> format_scores([0.25, math.nan], 0.25), format_scores([0.5, 4e-5, 0.0], 4e-5)
    (['0.250', '-'], ['5.0e-01', '4.0e-05', '0.0e+00'])
    """
    shown = ".1e" if 0 < largest < 0.0005 else ".3f"
    return ["-" if math.isnan(value) else f"{value:{shown}}" for value in values]


def percent(share: float) -> str:
    """Return a share as a percentage, empty if it rounds to zero.

    >>> percent(0.1234), percent(1e-9)
    ('12.3 %', '')
    """
    return f"{100 * share:.1f} %" if share >= 0.0005 else ""


def printable(name: str, *, keep: str = "") -> str:
    r"""Return the name with control characters escaped, so that they cannot act on a terminal.

    The characters of `keep` stay as they are.

    >>> print(printable("a\n"))
    a\n
    """
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in name
    )


def token_names(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the names of tokens as people write them, for terminals, figures and pages.

    Marks of tokenizers ("Ġ", "##", "▁") are removed, and letters that stand for bytes are decoded.
    Special tokens keep their names. White space is visible: "⏎" is a line break, "⇥" a tab, and
    "␣" a space that is a token of its own. Control characters are escaped. Pass all tokens of a
    text, because together they tell the family of the tokenizer.

    >>> token_names(["<s>", "Ġcaf", "Ã©", "Ġ"]), token_names(["[CLS]", "key", "##s"])
    (('<s>', 'caf', 'é', '␣'), ('[CLS]', 'key', 's'))
    """
    texts = (text.strip(" ") or text.replace(" ", _SPACE) for text in token_texts(tokens))
    return tuple(printable(text.translate(_BREAKS), keep=_JOINERS) for text in texts)


def label_names(labels: Iterable[str]) -> dict[str, str]:
    """Return the names of labels, which are tokens if a language model predicts them.

    Of labels that would have the same name, as "his" and "Ġhis", a space before the word is shown;
    if they still are the same, as "s" and "##s", they keep their own.

    >>> label_names(["Ġhis", "Ġher"]), label_names(["his", "Ġhis"])
    ({'Ġhis': 'his', 'Ġher': 'her'}, {'his': 'his', 'Ġhis': '␣his'})
    """
    given = list(labels)
    names, texts = token_names(given), token_texts(given)
    counts = Counter(names)
    spaced = [
        name if counts[name] == 1 or not text.startswith(" ") else f"{_SPACE}{name}"
        for name, text in zip(names, texts, strict=True)
    ]
    counts = Counter(spaced)
    return {
        label: name if counts[name] == 1 else printable(label)
        for label, name in zip(given, spaced, strict=True)
    }


def one_line(text: str) -> str:
    r"""Return a text as the name of a column: on one line, truncated.

    >>> one_line("one\n two")
    'one two'
    """
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_NAME else line[: _LONGEST_NAME - 1] + "…"


def first_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, for a message, and how many are left out; "" for none.

    >>> first_names(["a", "b"]), first_names(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def count_texts(count: int) -> str:
    """Return a number of texts.

    >>> count_texts(1), count_texts(1200)
    ('1 text', '1,200 texts')
    """
    return f"{count:,} text{'' if count == 1 else 's'}"


def method_title(name: str) -> str:
    """Return the name of a method or of importance in words.

    >>> method_title("blank_out"), method_title("input_gradient"), method_title("flow")
    ('blank-out', 'input gradient', 'flow')
    """
    return "blank-out" if name == "blank_out" else name.replace("_", " ")


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
    return numbered(position, tokens[position] if position < len(tokens) else "")


def position_names(positions: Sequence[int], tokens: Sequence[str], kind: str = "position") -> str:
    """Return positions with the names of their tokens, for a sentence or a caption.

    >>> position_names([0], ["[CLS]"]), position_names([0, 2], ["[CLS]", "a", "[SEP]"])
    ('position 0 [CLS]', 'positions 0 [CLS], 2 [SEP]')
    """
    names = token_names(tokens)
    listed = ", ".join(position_name(position, names) for position in positions)
    return f"{kind}{'' if len(positions) == 1 else 's'} {listed}"


def numbered(position: int, name: str) -> str:
    """Return a position with its name; the number alone if the name is empty or the number.

    >>> numbered(2, "key"), numbered(2, "2")
    ('2 key', '2')
    """
    number = str(position)
    return number if name in ("", number) else f"{number} {name}"


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
