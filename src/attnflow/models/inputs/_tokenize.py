"""Tokenized text: token ids for the model, names and character spans for results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from attnflow._internal.words import align, strip_span
from attnflow.errors import InputError
from attnflow.models._families import token_limit
from attnflow.types import Span

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """One text as a tokenizer encodes it."""

    text: str
    fields: dict[str, list[int]]  # input_ids and other outputs of the tokenizer, one per token
    tokens: tuple[str, ...]
    spans: tuple[Span | None, ...] | None  # None for special tokens; None for all if unknown
    ended: bool = False  # whether the last token is a special token
    generated: int = 0  # how many of the last tokens the model generated

    @property
    def ids(self) -> list[int]:
        """The token ids."""
        return self.fields["input_ids"]


def tokenize(
    tokenizer: Any,
    text: object,
    *,
    limit: int | None,
    truncate: bool,
    target: bool = False,
    reserved: int = 0,
) -> TokenizedText:
    """Return the tokens of a text, at most `limit`.

    With `target`, the text is encoded as the output of a decoder, whose start token takes the place
    of the end token, if there is one, else one more. `reserved` tokens of the limit are for those
    that the model generates after the text.
    """
    if not isinstance(text, str):
        raise InputError(
            f"expected a text, a str, got {type(text).__name__}. For an image or audio, pass the "
            "output of the model's processor: attend(model, None, processor(…, "
            "return_tensors='pt'))"
        )
    if tokenizer is None:
        raise InputError(
            "a text needs a tokenizer, got None. Pass the model's tokenizer, or tensors such as "
            "{'input_ids': ids}"
        )
    _check_surrogates(text)
    encoded = _encode(tokenizer, text, target=target) if text.strip() else None
    if encoded is None or (encoded.spans is not None and not any(encoded.spans)):
        raise InputError(f"expected a text with at least one word, got {text!r}")
    if limit is None:
        return encoded
    started = target and not encoded.ended
    available = limit - reserved - started
    if len(encoded.ids) <= available:
        return encoded
    if not truncate:
        less = f" less {reserved} to generate" if reserved else ""
        less = " less its start token" if started else less
        raise InputError(
            f"expected a text of at most {available} tokens, the limit of the model{less}, got "
            f"{len(encoded.ids)}. Shorten it, or pass truncate=True"
        )
    return _encode(tokenizer, text, target=target, truncation=True, max_length=available)


def count_tokens(tokenizer: Any, text: str) -> int:
    """Return the number of tokens of a text, special tokens included.

    Parameters
    ----------
    tokenizer
        A tokenizer of transformers, as `load` returns it.
    text
        A text of any length; a text without a word is an InputError.

    Examples
    --------
    >>> from attnflow import models, paper
    >>> models.count_tokens(paper.load().tokenizer, "the key to the cabinets")
    7
    """
    return len(tokenize(tokenizer, text, limit=None, truncate=False).ids)


def _check_surrogates(text: str) -> None:
    """Reject lone surrogates, which Python strings may contain but tokenizers do not take."""
    try:
        _ = text.encode()
    except UnicodeEncodeError as reason:
        raise InputError(
            f"character {reason.start} of the text is {text[reason.start]!r}, a lone surrogate. "
            "Read the text in the right encoding, or remove it"
        ) from reason


def _encode(tokenizer: Any, text: str, *, target: bool, **cut: Any) -> TokenizedText:
    tokenizer = inner_tokenizer(tokenizer)
    fast = bool(getattr(tokenizer, "is_fast", False))
    given: dict[str, Any] = {"text_target": text} if target else {"text": text}
    # Without verbose=False, tokenizers warn about the length.
    settings = {"return_special_tokens_mask": True, "verbose": False, **cut}
    encoding = dict(tokenizer(**given, **settings, return_offsets_mapping=fast))
    special = _special(tokenizer, encoding["input_ids"], encoding.pop("special_tokens_mask"))
    offsets = cast("list[Span] | None", encoding.pop("offset_mapping", None))
    tokens = token_names(tokenizer, encoding["input_ids"])
    if offsets is not None:
        spans = tuple(
            None if marked else strip_span((int(start), int(end)), text)
            for (start, end), marked in zip(offsets, special, strict=True)
        )
    else:
        spans = _aligned(tokens, text, special, truncated=bool(cut))
    return TokenizedText(text, encoding, tokens, spans, ended=special[-1])


def _special(tokenizer: Any, ids: list[int], mask: list[int]) -> list[bool]:
    """Return which tokens are special tokens that the tokenizer added."""
    if len(mask) == len(ids):
        return [bool(marked) for marked in mask]
    # Some tokenizers add tokens that are not in the mask.
    added = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    return [token in added for token in ids]


def _aligned(
    tokens: tuple[str, ...], text: str, special: list[bool], *, truncated: bool
) -> tuple[Span | None, ...] | None:
    """Return the spans of the tokens of a slow tokenizer; None if they cannot be aligned."""
    names = frozenset(name for name, marked in zip(tokens, special, strict=True) if marked)
    try:
        return align(tokens, text, special=names, truncated=truncated)
    except InputError:  # a tokenizer that rewrites the text; attention needs no spans
        return None


def token_names(tokenizer: Any, ids: list[int]) -> tuple[str, ...]:
    """Return the names of token ids; without a tokenizer, the ids.

    An id that the tokenizer has no name for is `<50257>`: models may have more ids.
    """
    if tokenizer is None:
        return tuple(map(str, ids))
    names = inner_tokenizer(tokenizer).convert_ids_to_tokens(ids)
    return tuple(
        f"<{i}>" if name is None else str(name) for name, i in zip(names, ids, strict=True)
    )


def inner_tokenizer(tokenizer: Any) -> Any:
    """Return the tokenizer, or that of a processor."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    if isinstance(inner, type) or not hasattr(inner, "convert_ids_to_tokens"):
        raise InputError(
            "tokenizer: expected one of transformers, such as attnflow.models.load(folder)"
            f".tokenizer, got {type(tokenizer).__name__}. Wrap one of the package tokenizers in "
            "PreTrainedTokenizerFast(tokenizer_object=…)"
        )
    return inner


def decoder_of(model: nn.Module) -> nn.Module:
    """Return the decoder of an encoder-decoder; the model itself without get_decoder."""
    part = getattr(model, "get_decoder", lambda: None)()
    return model if part is None else part


def decoder_limit(model: nn.Module) -> int | None:
    """Return how many tokens the decoder takes, its start token included; None if unlimited."""
    decoder = decoder_of(model)
    own = getattr(getattr(decoder, "config", None), "max_target_positions", None)  # of Whisper
    return own if isinstance(own, int) else token_limit(decoder)
