"""Token attention as an interactive page: a file, a notebook's output, a local app."""

from attnflow.view._data import page_data
from attnflow.view._page import to_html
from attnflow.view._widget import show

__all__ = ["page_data", "show", "to_html"]
