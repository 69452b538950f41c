"""`to_html`: one interactive page, whole in one text."""

import base64
import hashlib
import html
import re
import textwrap
from typing import Any, Unpack

from attnflow.view._data import Settings, page_data
from attnflow.view._encoded import script_json
from attnflow.view._shown import Shown
from attnflow.view._static import static_file

_MARK = re.compile(r"\{\{(\w+)\}\}")
# What the page may do: run its own script, and nothing that came with a token or a text; load and
# ask nothing. Pictures that are saved go through blob:.
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
# Characters of the text in the title of a browser's tab; chosen: tabs show fewer.
_TITLE_WIDTH = 60


def to_html(shown: Shown, **settings: Unpack[Settings]) -> str:
    """One interactive page of token attention: HTML that needs no other file and no network.

    Parameters
    ----------
    shown
        The attention of a model, a graph, scores, or an Explanation. Of attention and graphs the
        page computes raw attention and rollout itself, and is given flow. Several TokenAttention,
        one a method, are shown side by side as they are.
    importance
        What the answer depends on, of the same tokens; an Explanation brings its own.
    prediction
        What the model answered; an Explanation brings its own.
    query, layer
        The position and layer that are seen first. By default the last layer, and the position
        whose output is read: the last of a model that writes, else the first, where CLS stands.
    flow_queries
        Positions whose flow is computed here. By default all where there are up to 64 tokens, and
        12 layers or as many as make no more pairs; else `query` alone. The page solves others
        itself where the graph is small, and says where it does not.
    heads
        Whether the page holds every head, or their mean alone. By default every head where they
        take less than 8 MB.
    title
        The page's heading.
    threads
        Threads for flow; all cores by default.
    progress
        Called with (pairs done, pairs in all) while flow is computed.

    Notes
    -----
    32 tokens of 6 layers and 12 heads make less than 400 kB; n tokens take `8/3 · L · H · n²`
    bytes for the heads. The same input gives the same text. Weights are rounded to 1/65535.

    Examples
    --------
    >>> import attnflow as af
    >>> page = to_html(af.Attention([[[[1.0, 0.0], [0.5, 0.5]]]], ["a", "b"]))
    >>> page[:15]
    '<!doctype html>'
    """
    return page_of(page_data(shown, **settings))


def page_of(document: dict[str, Any]) -> str:
    """The page of a document that `page_data` made."""
    script = static_file("page.js")
    parts = {
        "policy": _POLICY.format(script=_digest(script)),
        "title": html.escape(_tab_title(document)),
        "style": static_file("page.css"),
        "data": script_json(document),
        "script": script,
    }
    # In one pass, so that a mark in what is put in stays what it is.
    return _MARK.sub(lambda mark: parts[mark[1]], static_file("page.html"))


def _digest(script: str) -> str:
    """What a policy names a script by.

    >>> _digest("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _tab_title(document: dict[str, Any]) -> str:
    text = textwrap.shorten(document["text"] or "", _TITLE_WIDTH, placeholder="…")
    title = ": ".join(filter(None, [document["title"], text]))
    return title.encode("utf-8", "replace").decode()  # half characters are no UTF-8
