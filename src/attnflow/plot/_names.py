"""Names of tokens as pictures can show them, whatever characters they hold."""

from __future__ import annotations

import functools
import math
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Characters; chosen so that a label upright below a picture takes less than an inch.
_LONGEST = 18
# Marks that change the character before them and have no picture of their own.
_INVISIBLE = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFE0E, 0xFE0F, 0xFEFF])
# Fonts of symbols that say they hold letters, and one that holds a box for everything.
_NO_LETTERS = ("Last Resort", "STIX", "cm", "Webdings", "Wingdings", "Symbol")
_BOX = "\N{WHITE SQUARE}"


def printable(name: str) -> str:
    r"""The name with line breaks and the like spelled out, as in `\n`.

    >>> print(printable("a\n"))
    a\n
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def short(name: str, longest: int = _LONGEST) -> str:
    """The name on one line, cut to `longest` characters.

    >>> short("incomprehensibilities")
    'incomprehensibili…'
    """
    # Joiners and variation selectors go first: they are not printable, and mean nothing alone.
    name = printable(name.translate(_INVISIBLE))
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def shortened(names: Iterable[str], longest: int = _LONGEST) -> list[str]:
    """The same of several names."""
    return [short(name, longest) for name in names]


def shown(names: Iterable[str], longest: int = _LONGEST) -> tuple[list[str], dict[str, Any]]:
    """Names as matplotlib can draw them, and the properties of text to draw them with.

    A `$` is no formula and `_` no index. A character that the fonts in use lack is drawn with
    another installed font that has it, and where there is none as a box.
    """
    cut = shortened(names, longest)
    families, lacking = _fonts(frozenset().union(*cut))
    table = dict.fromkeys(map(ord, lacking), _BOX)
    properties = {"fontfamily": families, "parse_math": False, "usetex": False}
    return [name.translate(table) for name in cut], properties


def one(name: str, longest: int = 80) -> tuple[str, dict[str, Any]]:
    """The same of a single text, such as a title."""
    (text,), properties = shown([name], longest)
    return text, properties


def _fonts(characters: frozenset[str]) -> tuple[list[str], set[str]]:
    """Families of fonts that hold the characters, and those that none holds."""
    from matplotlib.font_manager import FontProperties, fontManager

    families: list[str] = list(FontProperties().get_family())
    lacking = {c for c in characters if not any(ord(c) in _held_by(each) for each in families)}
    if lacking:
        for font in fontManager.ttflist:
            if font.name.startswith(_NO_LETTERS) or "Color" in font.name or font.style != "normal":
                continue
            if font.name in families or not any(ord(c) in _characters(font.fname) for c in lacking):
                continue
            # What the name gives may be another file of the family, which has fewer.
            found = {c for c in lacking if ord(c) in _held_by(font.name)}
            if found:
                families.append(font.name)
                lacking -= found
            if not lacking:
                break
    return families, lacking


def _held_by(family: str) -> frozenset[int]:
    """The characters of the font that matplotlib takes for a family; none where it has none."""
    from matplotlib.font_manager import FontProperties, findfont

    try:
        # In a list: a bare name would be read as a pattern, in which "sans-serif" is an error.
        return _characters(findfont(FontProperties(family=[family]), fallback_to_default=False))
    except ValueError:
        return frozenset()


@functools.cache
def _characters(path: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):  # a font that cannot be drawn with
        return frozenset()


def thinned(count: int, pitch: float, height: float) -> list[int]:
    """Positions whose names fit, `pitch` points apart with lines of `height` points.

    >>> thinned(5, pitch=10.0, height=9.0), thinned(5, pitch=5.0, height=9.0)
    ([0, 1, 2, 3, 4], [0, 2, 4])
    """
    step = 1
    # Steps that people count in.
    for step in (1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000):
        if step * pitch >= height:
            break
    else:
        step = max(1, int(height / pitch) + 1)
    return list(range(0, count, step))


def strongest_apart(strengths: Sequence[float], pitch: float, height: float) -> list[int]:
    """Positions whose names fit, as in `thinned`, given out from the strongest down.

    A name that would overlap that of a stronger position gives way; of equals, the first is named.

    >>> strongest_apart([0.1, 0.2, 0.9, 0.8, 0.3], pitch=5.0, height=9.0)
    [0, 2, 4]
    >>> strongest_apart([0.1, 0.9, 0.2, 0.8, 0.3], pitch=5.0, height=9.0)
    [1, 3]
    """
    apart = max(1, math.ceil(height / pitch))
    free = [True] * len(strengths)
    kept: list[int] = []
    for place in sorted(range(len(strengths)), key=lambda place: -strengths[place]):
        if free[place]:
            kept.append(place)
            first, last = max(0, place - apart + 1), min(len(free), place + apart)
            free[first:last] = [False] * (last - first)
    return sorted(kept)


def width_of(names: Sequence[str], size: float) -> float:
    """About how wide the widest name is, in points, for a font of `size` points; rather more."""
    return size * max((sum(map(_width, name)) for name in names), default=0.0)


def _width(character: str) -> float:
    # Shares of the size, as DejaVu Sans has them; a wider font is off by some tenths.
    if character in "MW@%mw…" or unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return 0.72 if character.isupper() else 0.6
