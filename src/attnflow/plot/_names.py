"""Names of tokens as matplotlib can draw them, whatever characters they contain."""

import functools
import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from attnflow._internal.display import printable

# Characters; chosen so that a vertical label takes less than an inch.
_MAX_LENGTH = 18
# Characters that modify the one before them and have no glyph of their own.
_INVISIBLE = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFE0E, 0xFE0F, 0xFEFF])
# Symbol fonts that claim to have letters, and one with a box for every character.
_SYMBOL_FONTS = ("Last Resort", "STIX", "cm", "Webdings", "Wingdings", "Symbol")
_BOX = "\N{WHITE SQUARE}"


def short(name: str, longest: int = _MAX_LENGTH) -> str:
    """Return the name on one line, cut to `longest` characters.

    >>> short("incomprehensibilities")
    'incomprehensibili…'
    """
    # Joiners and variation selectors are not printable, and have no meaning alone.
    name = printable(name.translate(_INVISIBLE))
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def drawable(names: Iterable[str], longest: int = _MAX_LENGTH) -> tuple[list[str], dict[str, Any]]:
    """Return names that matplotlib can draw, and the text properties to draw them with.

    `$` and `_` are literal. A character missing from the fonts in use is drawn with another
    installed font that has it, or as a box.
    """
    cut = [short(name, longest) for name in names]
    families, missing = _fonts(frozenset().union(*cut))
    table = dict.fromkeys(map(ord, missing), _BOX)
    properties = {"fontfamily": families, "parse_math": False, "usetex": False}
    return [name.translate(table) for name in cut], properties


def drawable_line(name: str, longest: int = 80) -> tuple[str, dict[str, Any]]:
    """Return one line of text, such as a title, as `drawable` does."""
    (text,), properties = drawable([name], longest)
    return text, properties


def _fonts(characters: frozenset[str]) -> tuple[list[str], set[str]]:
    """Return font families that cover the characters, and the characters that none covers."""
    from matplotlib.font_manager import FontProperties, fontManager

    families: list[str] = list(FontProperties().get_family())
    known = frozenset[int]().union(*map(_family_characters, families))
    missing = {c for c in characters if ord(c) not in known}
    for font in fontManager.ttflist:
        if not missing:
            break
        is_text_font = not font.name.startswith(_SYMBOL_FONTS) and "Color" not in font.name
        if not is_text_font or font.style != "normal" or font.name in families:
            continue
        if not any(ord(c) in _characters(font.fname) for c in missing):
            continue
        # matplotlib may pick another file of the family, with fewer characters.
        if found := {c for c in missing if ord(c) in _family_characters(font.name)}:
            families.append(font.name)
            missing -= found
    return families, missing


def _family_characters(family: str) -> frozenset[int]:
    """Return the characters of the font that matplotlib picks for a family, if any."""
    from matplotlib.font_manager import FontProperties, findfont

    try:
        # A list, because a bare name is parsed as a pattern, and "sans-serif" is not one.
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
    """Return every n-th position, so that lines of `height` points fit `pitch` points apart.

    >>> thinned(5, pitch=10.0, height=9.0), thinned(5, pitch=5.0, height=9.0)
    ([0, 1, 2, 3, 4], [0, 2, 4])
    """
    step = 1
    # Round steps.
    for step in (1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000):
        if step * pitch >= height:
            break
    else:
        step = max(1, int(height / pitch) + 1)
    return list(range(0, count, step))


def spaced_by_weight(weights: Sequence[float], pitch: float, height: float) -> list[int]:
    """Return positions whose names fit, chosen from the largest weight down.

    A name that would overlap one of a larger weight is dropped; of equal weights the first stays.

    >>> spaced_by_weight([0.1, 0.2, 0.9, 0.8, 0.3], pitch=5.0, height=9.0)
    [0, 2, 4]
    >>> spaced_by_weight([0.1, 0.9, 0.2, 0.8, 0.3], pitch=5.0, height=9.0)
    [1, 3]
    """
    apart = max(1, math.ceil(height / pitch))
    free = [True] * len(weights)
    kept: list[int] = []
    for place in sorted(range(len(weights)), key=lambda place: -weights[place]):
        if free[place]:
            kept.append(place)
            first, last = max(0, place - apart + 1), min(len(free), place + apart)
            free[first:last] = [False] * (last - first)
    return sorted(kept)


def width_of(names: Sequence[str], size: float) -> float:
    """Return an upper estimate of the width of the widest name in points."""
    return size * max((sum(map(_width, name)) for name in names), default=0.0)


def _width(character: str) -> float:
    # Shares of the font size, measured for DejaVu Sans.
    if character in "MW@%mw…" or unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return 0.72 if character.isupper() else 0.6
