"""Where a page opens, and what its layers are called."""

from collections.abc import Mapping

from attnflow.types import Origin


def first_query(origin: Origin | None, n_tokens: int, *, decoder: bool) -> int:
    """Return the query that is selected first.

    The position that predicted the first generated token; without, the last of a decoder, else the
    first, which is CLS.
    """
    if origin is not None and origin.generated:
        return origin.predicting(n_tokens)[0]
    return n_tokens - 1 if decoder else 0


def layer_names(settings: Mapping[str, object], n_layers: int) -> tuple[str, ...] | None:
    """Return the names of the layers of an encoder-decoder, the input first; None of others.

    >>> layer_names({"encoder_layers": 1, "decoder_layers": 1}, 3)
    ('input', 'encoder 1', 'decoder 1 self', 'decoder 1 cross')
    """
    encoder, decoder = settings.get("encoder_layers"), settings.get("decoder_layers")
    if not isinstance(encoder, int) or not isinstance(decoder, int):
        return None
    names = ["input", *(f"encoder {number}" for number in range(1, encoder + 1))]
    for number in range(1, decoder + 1):
        names += [f"decoder {number} self", f"decoder {number} cross"]
    return tuple(names[: n_layers + 1])
