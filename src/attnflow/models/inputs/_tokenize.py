"""Text to tokens: ids for the model, names and characters for people."""

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
    """One text as a tokenizer gives it."""

    text: str
    fields: dict[str, list[int]]  # input_ids and what else the tokenizer gives, one a token
    tokens: tuple[str, ...]
    spans: tuple[Span | None, ...] | None  # None for a special token; as a whole: not known
    ended: bool = False  # whether the last token is one that the tokenizer put there
    generated: int = 0  # how many of the last tokens the model wrote itself

    @property
    def ids(self) -> list[int]:
        """The ids of the tokens."""
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
    """Tokens of a text, at most `limit` of them.

    With `target`, as the tokenizer encodes what a decoder is to write; its start token takes the
    place of the end token, or one more. `reserved` of the limit are for what the model writes after
    the text.
    """
    if not isinstance(text, str):
        raise InputError(
            f"a {type(text).__name__} came where a text is wanted. For an image or sound, pass "
            "what the model's processor gives: attend(model, None, processor(…, "
            "return_tensors='pt'))"
        )
    if tokenizer is None:
        raise InputError(
            "a text came without a tokenizer; pass the model's tokenizer, or ready inputs such as "
            "{'input_ids': ids}"
        )
    _check_characters(text)
    whole = _encoded(tokenizer, text, target=target) if text.strip() else None
    if whole is None or (whole.spans is not None and not any(whole.spans)):
        raise InputError(f"the text {text!r} has no tokens; pass a text with at least one word")
    if limit is None:
        return whole
    started = target and not whole.ended
    buffer = limit - reserved - started
    if len(whole.ids) <= buffer:
        return whole
    if not truncate:
        besides = f" with the {reserved} that it is to write" if reserved else ""
        besides = " with its start token" if started else besides
        raise InputError(
            f"the text has {len(whole.ids)} tokens, and the model takes {limit}{besides}; shorten "
            "it, or pass truncate=True to cut it off there"
        )
    return _encoded(tokenizer, text, target=target, truncation=True, max_length=buffer)


def count_tokens(tokenizer: Any, text: str) -> int:
    """How many tokens a text has, those that the tokenizer puts around it included.

    Parameters
    ----------
    tokenizer
        Of transformers, as `load` gives it.
    text
        Of any length; one without a word is an InputError.

    Examples
    --------
    >>> from attnflow import models, paper
    >>> models.count_tokens(paper.load().tokenizer, "the key to the cabinets")
    7
    """
    return len(tokenize(tokenizer, text, limit=None, truncate=False).ids)


def _check_characters(text: str) -> None:
    """Refuse halves of characters, which Python's strings may hold and tokenizers do not take."""
    try:
        _ = text.encode()
    except UnicodeEncodeError as reason:
        raise InputError(
            f"character {reason.start} of the text is {text[reason.start]!r}, half of a character; "
            "read the text again in the right encoding, or leave it out"
        ) from reason


def _encoded(tokenizer: Any, text: str, *, target: bool, **cut: Any) -> TokenizedText:
    tokenizer = inner_tokenizer(tokenizer)
    fast = bool(getattr(tokenizer, "is_fast", False))
    given: dict[str, Any] = {"text_target": text} if target else {"text": text}
    # Said here that the length is nobody's concern but ours: tokenizers warn of it.
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
        spans = _found(tokens, text, special, truncated=bool(cut))
    return TokenizedText(text, encoding, tokens, spans, ended=special[-1])


def _special(tokenizer: Any, ids: list[int], mask: list[int]) -> list[bool]:
    """Which tokens the tokenizer put around the text."""
    if len(mask) == len(ids):
        return [bool(marked) for marked in mask]
    # A tokenizer that adds tokens of its own and does not say where: known by their ids.
    added = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    return [each in added for each in ids]


def _found(
    tokens: tuple[str, ...], text: str, special: list[bool], *, truncated: bool
) -> tuple[Span | None, ...] | None:
    """Characters of the tokens of a tokenizer without offsets; None where they are not found."""
    names = frozenset(name for name, marked in zip(tokens, special, strict=True) if marked)
    try:
        return align(tokens, text, special=names, truncated=truncated)
    except InputError:  # a tokenizer that rewrites the text: attention can be had all the same
        return None


def token_names(tokenizer: Any, ids: list[int]) -> tuple[str, ...]:
    """The tokens of ids, as the tokenizer calls them; without a tokenizer, the ids.

    A model may know more ids than its tokenizer has names for, `<50257>` then stands for one.
    """
    if tokenizer is None:
        return tuple(map(str, ids))
    names = inner_tokenizer(tokenizer).convert_ids_to_tokens(ids)
    return tuple(f"<{each}>" if n is None else str(n) for n, each in zip(names, ids, strict=True))


def inner_tokenizer(tokenizer: Any) -> Any:
    """The tokenizer itself; a processor has one inside."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    if isinstance(inner, type) or not hasattr(inner, "convert_ids_to_tokens"):
        raise InputError(
            f"a {type(tokenizer).__name__} came as the tokenizer; one of transformers is wanted, "
            "such as attnflow.models.load(folder) gives. What the package tokenizers made goes "
            "into PreTrainedTokenizerFast(tokenizer_object=…)"
        )
    return inner


def decoder_of(model: nn.Module) -> nn.Module:
    """The part of an encoder-decoder that writes; the model itself where it does not say."""
    part = getattr(model, "get_decoder", lambda: None)()
    return model if part is None else part


def decoder_limit(model: nn.Module) -> int | None:
    """How many tokens the decoder takes, its start token included; None where it names no limit."""
    decoder = decoder_of(model)
    own = getattr(getattr(decoder, "config", None), "max_target_positions", None)  # of Whisper
    return own if isinstance(own, int) else token_limit(decoder)
