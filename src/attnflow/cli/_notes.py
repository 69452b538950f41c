"""Lines on stderr about what a user should know before reading scores."""

from attnflow.attention import Attention
from attnflow.encoder_decoder import EncoderDecoderAttention
from attnflow.sinks import told


def sinks_note(attention: Attention | EncoderDecoderAttention, *, remedy: str = "--without") -> str:
    """One line about positions that take most of a layer's attention, or an empty text.

    `remedy` is the option that takes them out, as users of the command at hand would write it.
    """
    sinks = attention.sinks
    if not sinks:
        return ""
    where = sorted({sink.position for sink in sinks})
    numbers, them = ",".join(map(str, where)), "it" if len(where) == 1 else "them"
    return f"note: {told(sinks, attention.tokens)}; {remedy} {numbers} takes {them} out"
