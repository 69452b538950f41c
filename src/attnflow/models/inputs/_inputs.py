"""The input of a forward pass: the tokens of a text, and names and origin of all positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.words import align, strip_span
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models._model import family_of, inner_tokenizer
from attnflow.models.inputs._texts import is_text, tokenizer_arguments
from attnflow.types import Grid, Origin, Span

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of one example's sequence."""

    tokens: tuple[str, ...] | None = None  # None if the input has no tokens
    spans: tuple[Span | None, ...] | None = None  # in `text`; None for special tokens
    text: str = ""
    kept: NDArray[np.bool] | None = None  # False for padding; None without padding
    generated: int = 0


@dataclass(frozen=True, slots=True)
class TokenizedText(Positions):
    """One text as a tokenizer encodes it; spans are None if they are unknown."""

    tokens: tuple[str, ...] = ()
    fields: dict[str, list[int]] = field(default_factory=dict)  # outputs, one number per token
    ended: bool = False  # whether the last token is a special token

    @property
    def ids(self) -> list[int]:
        """The token ids."""
        return self.fields["input_ids"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input of one forward pass, a batch of one or more examples."""

    forward: dict[str, Any]  # keyword arguments; "" for a single positional argument
    sources: tuple[Positions, ...]
    targets: tuple[Positions, ...] | None  # None without a decoder
    single: bool  # whether one text was passed, not a list or tensors
    # Possible batch sizes of a plain module, whose batch axis is unknown before the pass. Until
    # then, `sources` and `targets` may be empty.
    batches: tuple[int, ...] = ()

    def with_batch_size(self, examples: int, name: str) -> Self:
        """Return the inputs for the batch size of the attention in the module `name`."""
        if examples in self.batches:
            unnamed = (Positions(),) * examples
            return replace(
                self,
                sources=self.sources or unnamed,
                targets=None if self.targets is None else self.targets or unnamed,
                batches=(),
            ).with_batch_size(examples, name)
        if examples != len(self.sources):
            raise UnsupportedModelError(
                f"{name or 'an attention'}: expected a batch of "
                f"{len(self.sources) or self.batches[1]}, got {examples}. Models that fold heads, "
                "windows or frames into the batch are not supported"
            )
        return self


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
    return TokenizedText(tokens, spans, text, fields=encoding, ended=bool(special) and special[-1])


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


def name_positions(
    model: nn.Module, fields: Mapping[str, Any], positions: Positions, count: int
) -> tuple[tuple[str, ...], Origin | None]:
    """Return names and origin of the `count` positions of a sequence.

    `fields` are the model's inputs, empty for the sequence of a decoder. Without tokens, positions
    are named as patches of an image, seconds of audio, or by number.
    """
    if positions.tokens is not None and len(positions.tokens) == count:
        if positions.spans is None and not positions.generated:
            return positions.tokens, None
        return positions.tokens, Origin(
            spans=positions.spans, generated=positions.generated, text=positions.text
        )
    encoder = getattr(model, "encoder", None)  # reads the image if only it has a patch size
    reader = encoder if _patch_size(encoder) and not _patch_size(model) else model
    grid = _grid(reader, fields, count)
    if grid is not None:
        special = _special_names(reader) or tuple(f"[{number}]" for number in range(grid.prefix))
        patches = (f"{row},{column}" for row in range(grid.rows) for column in range(grid.columns))
        return (*special, *patches), Origin(grid=grid)
    seconds = family_of(model).frame_seconds
    if seconds and fields:
        return tuple(f"{number * seconds:.2f}s" for number in range(count)), None
    return tuple(map(str, range(count))), None


def name_example(
    model: nn.Module, inputs: Inputs, example: int, sizes: tuple[int, ...]
) -> tuple[tuple[tuple[str, ...], ...], Origin | None]:
    """Return the names of the positions of each sequence of an example, and their origin.

    `sizes` are the numbers of positions: of the only sequence, or of source and target.
    """
    source = inputs.sources[example]
    names, origin = name_positions(model, inputs.forward, source, sizes[0])
    if len(sizes) == 1:
        return (names,), origin
    target = Positions() if inputs.targets is None else inputs.targets[example]
    more, origin_of_target = name_positions(model, {}, target, sizes[1])
    return (names, more), _join_origins(source, target, (origin, origin_of_target))


def _join_origins(
    source: Positions, target: Positions, origins: tuple[Origin | None, Origin | None]
) -> Origin | None:
    """Return the origin of source and target: source text, newline, target text; or the patches."""
    first, second = (None if origin is None else origin.spans for origin in origins)
    if first is None or second is None:
        grid = None if origins[0] is None else origins[0].grid
        known = grid is not None or target.generated
        return Origin(grid=grid, generated=target.generated) if known else None
    shift = len(source.text) + 1
    moved = tuple(None if span is None else (span[0] + shift, span[1] + shift) for span in second)
    return Origin(
        spans=(*first, *moved), generated=target.generated, text=f"{source.text}\n{target.text}"
    )


def _grid(reader: object, fields: Mapping[str, Any], count: int) -> Grid | None:
    """Return the grid of image patches after the special positions, or None.

    In an unknown family, one position beyond the patches is taken for a class token before them.
    With more there is no grid: they may be before or after the patches, in YOLOS they are both.
    """
    pixels, patch = fields.get("pixel_values"), _patch_size(reader)
    if pixels is None or pixels.ndim != 4 or patch is None:
        return None
    rows, columns = pixels.shape[2] // patch[0], pixels.shape[3] // patch[1]
    prefix, special = count - rows * columns, _special_names(reader)
    fits = prefix == len(special) if special else prefix in (0, 1)
    return Grid(rows, columns, prefix) if rows and columns and fits else None


def _patch_size(reader: object) -> tuple[int, int] | None:
    size = getattr(getattr(reader, "config", None), "patch_size", None)
    if isinstance(size, int) and size > 0:
        return size, size
    if isinstance(size, list | tuple) and len(size) == 2:
        return int(size[0]), int(size[1])
    return None


def _special_names(reader: object) -> tuple[str, ...]:
    """Return names of the positions before the patches; none for an unknown family."""
    family, config = family_of(reader), getattr(reader, "config", None)
    registers = int(getattr(config, family.registers, 0)) if family.registers else 0
    return (*family.prefix, *(f"[REG{number}]" for number in range(1, registers + 1)))
