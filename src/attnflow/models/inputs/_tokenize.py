"""The tokens of a text: ids, names, and the characters that each token stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from attnflow._internal.words import align, strip_span
from attnflow.errors import InputError
from attnflow.models.inputs._inputs import TokenizedText
from attnflow.models.inputs._texts import inner_tokenizer, is_text, tokenizer_arguments
from attnflow.types import Span


@dataclass(frozen=True, slots=True)
class TokenizerInput:
    """What a tokenizer is called with."""

    first: str
    second: str | None = None
    complete: bool = False  # whether the text has its special tokens already

    @property
    def text(self) -> str:
        """The text that spans refer to: of a pair both texts, with a line break between them."""
        return self.first if self.second is None else f"{self.first}\n{self.second}"

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts one by one."""
        return (self.first,) if self.second is None else (self.first, self.second)

    def shifted(self, spans: Sequence[Span], parts: Sequence[int | None]) -> list[Span]:
        """Return spans in one of `parts` each as spans in `text`; None is a special token."""
        starts = (0, len(self.first) + 1)
        shifts = (0 if part is None else starts[part] for part in parts)
        pairs = zip(spans, shifts, strict=True)
        return [(start + shift, end + shift) for (start, end), shift in pairs]


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
    if target and not isinstance(text, str):
        raise InputError(
            f"text_target: expected a text, a str, got {type(text).__name__}. A decoder writes one "
            "text for each input"
        )
    if tokenizer is None and is_text(text):
        raise InputError(
            "a text needs a tokenizer, got None. Pass the model's tokenizer, or tensors such as "
            "{'input_ids': ids}"
        )
    if isinstance(text, str):
        given = TokenizerInput(text)
    else:
        given = TokenizerInput(*tokenizer_arguments(tokenizer, text))
    _check_surrogates(given.text)
    words = all(part.strip() for part in given.parts)
    encoded = _encode(tokenizer, given, target=target) if words else None
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
    return _encode(tokenizer, given, target=target, truncation=True, max_length=available)


def _check_surrogates(text: str) -> None:
    """Reject lone surrogates, which Python strings may contain but tokenizers do not take."""
    try:
        _ = text.encode()
    except UnicodeEncodeError as reason:
        raise InputError(
            f"character {reason.start} of the text is {text[reason.start]!r}, a lone surrogate. "
            "Read the text in the right encoding, or remove it"
        ) from reason


def _encode(tokenizer: Any, source: TokenizerInput, *, target: bool, **cut: Any) -> TokenizedText:
    tokenizer, text = inner_tokenizer(tokenizer), source.text
    fast = bool(getattr(tokenizer, "is_fast", False))
    given: dict[str, Any] = {"text_target" if target else "text": source.first}
    if source.second is not None:
        given["text_pair"] = source.second
    # Without verbose=False, tokenizers warn about the length.
    settings = {"return_special_tokens_mask": True, "verbose": False, **cut}
    settings["add_special_tokens"] = not source.complete
    encoded = tokenizer(**given, **settings, return_offsets_mapping=fast)
    encoding = dict(encoded)
    special = _special(tokenizer, encoding["input_ids"], encoding.pop("special_tokens_mask"))
    offsets = cast("list[Span] | None", encoding.pop("offset_mapping", None))
    tokens = token_names(tokenizer, encoding["input_ids"])
    if offsets is not None:
        if source.second is not None:
            offsets = source.shifted(offsets, encoded.sequence_ids())
        items = zip(offsets, special, strict=True)
        spans = tuple(None if marked else _stripped(span, text) for span, marked in items)
    else:
        spans = _aligned(tokens, text, special, truncated=bool(cut))
    return TokenizedText(tokens, spans, text, fields=encoding, ended=special[-1])


def _stripped(span: Span, text: str) -> Span:
    """Return a span without white space at its ends; that of most tokens has none."""
    start, end = span
    part = text[start:end]
    return (start, end) if part == part.strip() else strip_span((start, end), text)


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
