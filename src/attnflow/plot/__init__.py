"""Pictures for papers and notebooks: the figures of the paper, and some that it does not have.

Every function takes `ax`, the axes of matplotlib to draw on, and makes a new figure without; it
returns the axes and changes nothing else. Needs matplotlib: `pip install "attnflow[plot]"`; `text`
needs nothing.
"""

from attnflow.plot._compare import compare
from attnflow.plot._correlation import correlation
from attnflow.plot._door import require_matplotlib
from attnflow.plot._graph import graph
from attnflow.plot._heatmap import heatmap
from attnflow.plot._image import image
from attnflow.plot._max_flow import max_flow
from attnflow.plot._palette import COLOURS, TITLES
from attnflow.plot._pronoun import pronoun, pronoun_widths
from attnflow.plot._save import FORMATS, Format, save
from attnflow.plot._text import ColouredText, text

__all__ = [
    "COLOURS",
    "FORMATS",
    "TITLES",
    "ColouredText",
    "Format",
    "compare",
    "correlation",
    "graph",
    "heatmap",
    "image",
    "max_flow",
    "pronoun",
    "pronoun_widths",
    "require_matplotlib",
    "save",
    "text",
]
