"""`to_html`: the interactive page as one HTML document."""

import base64
import hashlib
import html
import re
import textwrap
from typing import Any, Unpack

from attnflow.view._content import PageInput
from attnflow.view._data import PageSettings, page_data
from attnflow.view._encoding import script_json
from attnflow.view._static import static_file

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
# Content security policy: the page runs its own script only and loads nothing. Saved figures use
# blob:.
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
# Characters of the text in the title of the browser tab; chosen: tabs show fewer.
_TITLE_WIDTH = 60


def to_html(x: PageInput, **settings: Unpack[PageSettings]) -> str:
    """Return one interactive page of token attention: HTML without other files or network.

    Parameters
    ----------
    x
        The attention of a model, a graph, scores, or an Explanation. From attention and graphs the
        page computes raw attention and rollout; flow is computed here. Several TokenAttention, one
        for each method, are shown as they are. Of several edge weights of one input, as
        `{"attention": attention, "norms": graph}` or an Explanation of `explain(edges=…)`, the page
        shows the first and switches between them.
    **settings
        importance: importance of the same tokens; an Explanation includes its own.
        prediction: the prediction of the model; an Explanation includes its own.
        query, layer: selected first; by default the last layer, and the position whose output is
        read (of generated text, that of its first token; else the last of a decoder, or the first,
        which is CLS).
        flow_queries: positions whose flow is computed here; by default all for up to 64 tokens and
        the pairs of 12 layers, else `query` only. The page solves others itself, up to 512 tokens
        of 48 layers.
        heads: "all" puts every head into the page, "mean" only their mean; by default every head
        if they take less than 8 MB.
        sinks: "remove" takes attention sinks out of the graph that is shown first, "keep" leaves
        them in; by default as in the scores of the Explanation, else "remove". The page switches
        between the two.
        receptive_field: whether the page opens with rollout and flow corrected for the receptive
        field, see `rollout`; by default as in the scores of the Explanation, else with the
        attention of a decoder. The page switches between the two.
        title: heading of the page.
        threads: threads for flow; by default all cores.
        progress: called with (pairs done, total pairs) while flow is computed; may raise to stop
        it.

    Notes
    -----
    A page of 32 tokens, 6 layers and 12 heads has less than 400 kB; the heads of n tokens take
    `8/3 · L · H · n²` bytes, each further edge weight about `8 · L · n²`. The same input gives the
    same text. Weights are rounded to 1/65535. Flow of the attention of a decoder takes twice the
    time, because it is solved for uniform attention too, which the correction divides by.

    Examples
    --------
    >>> import attnflow as af
    >>> page = to_html(af.Attention([[[[1.0, 0.0], [0.5, 0.5]]]], ["a", "b"]))
    >>> page[:15]
    '<!doctype html>'
    """
    return page_of(page_data(x, **settings))


def page_of(document: dict[str, Any]) -> str:
    """Return the page of a document of `page_data`."""
    script = static_file("page.js")
    text = " → ".join(document["texts"] or [document["text"] or ""])
    text = textwrap.shorten(text, _TITLE_WIDTH, placeholder="…")
    title = ": ".join(filter(None, [document["title"], text]))
    parts = {
        "policy": _POLICY.format(script=_digest(script)),
        # Lone surrogates are not UTF-8.
        "title": html.escape(title.encode("utf-8", "replace").decode()),
        "style": static_file("page.css"),
        "data": script_json(document),
        "script": script,
    }
    # One pass, so that placeholders inside the data are left alone.
    return _PLACEHOLDER.sub(lambda match: parts[match[1]], static_file("page.html"))


def _digest(script: str) -> str:
    """Return the source expression of a script in a content security policy.

    >>> _digest("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
