"""Figures for papers and notebooks: those of the paper, and more.

Every function draws on the matplotlib axes `ax`, or on a new figure by default, and returns the
axes. Needs matplotlib (extra `plot`), except for `text`.
"""

from attnflow.plot._bar import bar
from attnflow.plot._checks import require_matplotlib
from attnflow.plot._compare import compare
from attnflow.plot._correlation import correlation
from attnflow.plot._graph import graph
from attnflow.plot._heatmap import heatmap
from attnflow.plot._image import image
from attnflow.plot._labels import layer_title
from attnflow.plot._matrix import matrix
from attnflow.plot._max_flow import max_flow
from attnflow.plot._palette import COLOURS, TITLES
from attnflow.plot._pronoun import pronoun, pronoun_widths
from attnflow.plot._save import FORMATS, Format, save
from attnflow.plot._text import ColouredText, text

__all__ = [
    "COLOURS", "FORMATS", "TITLES", "ColouredText", "Format", "bar", "compare", "correlation",
    "graph", "heatmap", "image", "layer_title", "matrix", "max_flow", "pronoun", "pronoun_widths",
    "require_matplotlib", "save", "text",
]  # fmt: skip
