"""Notes on stderr about attention sinks and unknown words."""

from collections.abc import Iterable

from attnflow.cli._table import printable
from attnflow.types import Attention, EncoderDecoderAttention, describe_sinks

# How to exclude sinks, for commands without an option for it.
COMPUTE_WITHOUT = "attnflow compute --without"


def sinks_note(attention: Attention | EncoderDecoderAttention, *, remedy: str = "--without") -> str:
    """Return a line about positions that take most of a layer's attention, or "".

    `remedy` is the option that excludes them.
    """
    sinks = attention.sinks
    if not sinks:
        return ""
    where = sorted({sink.position for sink in sinks})
    numbers, them = ",".join(map(str, where)), "it" if len(where) == 1 else "them"
    return f"note: {describe_sinks(sinks, attention.tokens)}; {remedy} {numbers} takes {them} out"


def unknown_note(words: Iterable[str], *, replace: object) -> str:
    """Return a line about words that are not in the vocabulary, or "".

    `replace` is the token that replaces others in blank-out.
    """
    each = ", ".join(map(printable, dict.fromkeys(words)))
    if not each:
        return ""
    # A word that is [UNK] already does not change when it is replaced by it.
    nothing = "; their blank-out is 0 whatever they mean" if replace == "unk" else ""
    return f"note: not in the model's vocabulary: {each}{nothing}"
