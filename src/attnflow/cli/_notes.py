"""Lines on stderr about what a user should know before reading scores."""

from collections.abc import Iterable

from attnflow.cli._table import printable
from attnflow.types import Attention, EncoderDecoderAttention, describe_sinks

# What takes sinks out, for commands that have no option for it.
COMPUTE_WITHOUT = "attnflow compute --without"


def sinks_note(attention: Attention | EncoderDecoderAttention, *, remedy: str = "--without") -> str:
    """One line about positions that take most of a layer's attention, or an empty text.

    `remedy` is the option that takes them out, as users of the command at hand would write it.
    """
    sinks = attention.sinks
    if not sinks:
        return ""
    where = sorted({sink.position for sink in sinks})
    numbers, them = ",".join(map(str, where)), "it" if len(where) == 1 else "them"
    return f"note: {describe_sinks(sinks, attention.tokens)}; {remedy} {numbers} takes {them} out"


def unknown_note(words: Iterable[str], *, replace: object) -> str:
    """One line about words that the model does not know, or an empty text.

    `replace` is what stands for a token that is blanked out.
    """
    each = ", ".join(map(printable, dict.fromkeys(words)))
    if not each:
        return ""
    # A word that is [UNK] already does not change when it is replaced by it.
    nothing = "; their blank-out is 0 whatever they mean" if replace == "unk" else ""
    return f"note: not in the model's vocabulary: {each}{nothing}"
