"""The text of a page: characters of each token, and tokens of each word."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnflow._internal import words
from attnflow.errors import InputError
from attnflow.types import Origin, Span


def text_parts(tokens: Sequence[str], origin: Origin | None) -> dict[str, Any]:
    """Return `text`, `spans` and `words` of the document; None for what is not known.

    Spans count UTF-16 units, as JavaScript does. If the tokens cannot be aligned with the text,
    there are no words.

    >>> text_parts(["the", "key", "##s"], Origin(text="The keys"))["words"]
    {'names': ['The', 'keys'], 'pieces': [[0], [1, 2]]}
    """
    text = origin.text if origin else None
    if origin is None or text is None:
        return {"text": text, "spans": None, "words": None}
    try:
        spans = words.align(tokens, text) if origin.spans is None else origin.spans
        found = words.group_tokens(spans, text)
    except InputError:
        return {"text": text, "spans": None, "words": None}
    return {
        "text": text,
        "spans": in_utf16(spans, text),
        "words": {
            "names": list(words.word_names(found, tokens, text)),
            "pieces": [list(word.pieces) for word in found],
        },
    }


def in_utf16(spans: Sequence[Span | None], text: str) -> list[list[int] | None]:
    """Return spans in UTF-16 units; characters beyond U+FFFF have two.

    >>> in_utf16([(0, 1), None, (1, 2)], "\N{KEY}s")
    [[0, 2], None, [2, 3]]
    """
    # Lone surrogates are one unit each.
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    units = [0, *np.cumsum(1 + (codes > 0xFFFF)).tolist()]
    return [span and [units[span[0]], units[span[1]]] for span in spans]
