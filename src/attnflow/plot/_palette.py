"""The colours of all figures, suitable for colour-blind readers; needs no matplotlib.

From Okabe & Ito's palette, https://jfly.uni-koeln.de/color/, with a darker light blue, so that bars
stand out from white paper.
"""

from typing import TypeAlias

# Red, green, blue, each 0 to 255.
Rgb: TypeAlias = tuple[int, int, int]

COLOURS = {
    "raw": "#0072B2",
    "rollout": "#D55E00",
    "flow": "#009E73",
    "blank_out": "#CC79A7",
    "input_gradient": "#3A9BD0",
}
# For other names, in turn.
OTHERS = ("#CC79A7", "#3A9BD0", "#E69F00", "#000000")
# Edges of a graph without a method, and secondary elements.
INK, GREY, PALE = "#333333", "#8C8C8C", "#D9D9D9"
# The minimum cut, and the two candidates of a pronoun.
CUT = COLOURS["rollout"]
PAIR = ("#AA4499", "#E69F00")

TITLES = {"raw": "Raw attention", "rollout": "Attention rollout", "flow": "Attention flow"}


def colour_of(name: str, place: int = 0) -> str:
    """Return the colour of a method or measure; for another name, one by its place.

    >>> colour_of("flow"), colour_of("mine", place=2)
    ('#009E73', '#E69F00')
    """
    return COLOURS.get(name, OTHERS[place % len(OTHERS)])


def rgb(colour: str) -> Rgb:
    """Return the components of a colour written as #RRGGBB.

    >>> rgb("#0072B2")
    (0, 114, 178)
    """
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return red, green, blue


def hex_colour(colour: Rgb) -> str:
    """Return the colour as #RRGGBB.

    >>> hex_colour((0, 114, 178))
    '#0072B2'
    """
    return "#" + "".join(f"{part:02X}" for part in colour)


def tint(colour: str, strength: float) -> Rgb:
    """Return a mix of white (`strength` 0) and the colour (1).

    >>> tint("#000000", 0.5)
    (128, 128, 128)
    """
    share = min(1.0, max(0.0, strength))
    red, green, blue = (round(255 - share * (255 - part)) for part in rgb(colour))
    return red, green, blue


def shade(colour: str, strength: float) -> Rgb:
    """Return a mix of the colour (`strength` 0) and black (1).

    >>> shade("#0072B2", 1.0)
    (0, 0, 0)
    """
    share = min(1.0, max(0.0, strength))
    red, green, blue = (round((1 - share) * part) for part in rgb(colour))
    return red, green, blue


def contrast(one: Rgb, other: Rgb) -> float:
    """Return the contrast ratio of two colours, 1 to 21, as WCAG 2 defines it.

    >>> contrast((255, 255, 255), (0, 0, 0))
    21.0
    """
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def ink_on(background: Rgb) -> Rgb:
    """Return black or white, whichever has the larger contrast (at least 4.5 on any colour).

    >>> ink_on((0, 114, 178)), ink_on((255, 255, 255))
    ((255, 255, 255), (0, 0, 0))
    """
    return max(((0, 0, 0), (255, 255, 255)), key=lambda ink: contrast(ink, background))


def _luminance(colour: Rgb) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (each / 255 for each in colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
