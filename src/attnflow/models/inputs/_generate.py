"""Text that a model writes itself, to be explained by one pass over prompt and output."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from attnflow._internal import checks
from attnflow._internal.words import align, strip_span
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models._model import device_of, evaluation_mode, explain_failure
from attnflow.models.inputs._tokenize import TokenizedText, inner_tokenizer, token_names
from attnflow.types import Span

if TYPE_CHECKING:
    from torch import nn

# How many new tokens, or the settings of the model's own `generate`.
Generate: TypeAlias = "int | Mapping[str, Any]"


def generate_text(
    model: nn.Module,
    tokenizer: Any,
    prompt: TokenizedText,
    generate: Generate,
    *,
    begin: TokenizedText | None = None,
) -> TokenizedText:
    """What the model writes after a prompt, with what was there before it.

    That is the prompt itself or, of a model with a decoder of its own, the start token `begin`.
    Greedy and without sampling, unless the settings in `generate` say otherwise.
    """
    import torch

    writer = _writer(model)
    before = prompt if begin is None else begin
    _check_room(model, generate, before)
    ids = torch.tensor([prompt.ids], device=device_of(model))
    failed = f"{type(model).__name__} cannot generate with {generate!r}"
    with (
        torch.no_grad(),
        evaluation_mode(model),
        explain_failure(failed, "call its generate by itself"),
    ):
        output = writer(
            input_ids=ids, attention_mask=torch.ones_like(ids), **_settings(model, generate)
        )
    sequences = getattr(output, "sequences", output)  # where more than the tokens was asked for
    new = cast("list[int]", sequences[0].tolist())[len(before.ids) :]
    if not new:
        raise InputError("the model wrote nothing after the text; ask for more tokens")
    return _continued(tokenizer, before, new)


def count_new_tokens(model: nn.Module, generate: Generate, limit: int | None) -> int:
    """How many tokens are asked for, of at most `limit`; 1 where the settings do not tell."""
    sequences = _setting(model, generate, "num_return_sequences") or 1
    if sequences != 1:
        raise InputError(
            f"generate asks for {sequences} sequences, and one is explained; leave "
            "num_return_sequences out"
        )
    count = _setting(model, generate, "max_new_tokens")
    if count is None:
        length = _length(model, generate)
        if length is not None and limit is not None and length > limit:
            raise InputError(
                f"generate asks for a max_length of {length}, and the model takes {limit} tokens "
                "in all; ask for fewer"
            )
        return 1
    count = checks.as_int(count, "generate")
    if count < 1:
        raise InputError(f"generate is {count}; the number of new tokens is wanted, 1 or more")
    if limit is not None and count >= limit:
        raise InputError(
            f"generate is {count}, and the model takes {limit} tokens in all; ask for fewer"
        )
    return count


def _check_room(model: nn.Module, generate: Generate, before: TokenizedText) -> None:
    """Refuse a length in all, as `max_length` is, that leaves nothing to write."""
    length = _length(model, generate)
    new = _setting(model, generate, "max_new_tokens")  # of the two, the one that counts
    if new is None and length is not None and length <= len(before.ids):
        raise InputError(
            f"generate asks for a max_length of {length}, which counts the {len(before.ids)} "
            "tokens that are there before; ask for max_new_tokens"
        )


def _length(model: nn.Module, generate: Generate) -> int | None:
    length = _setting(model, generate, "max_length")
    return None if length is None else checks.as_int(length, "max_length")


def _setting(model: nn.Module, generate: Generate, name: str) -> Any:
    """A setting for the model's own `generate`: as asked for, else as its configuration has it."""
    if not isinstance(generate, Mapping):
        return generate if name == "max_new_tokens" else None
    if generate.get(name) is not None:
        return generate[name]
    holders = (generate.get("generation_config"), getattr(model, "generation_config", None))
    each = (getattr(holder, name, None) for holder in holders)
    return next((value for value in each if value is not None), None)


def _writer(model: nn.Module) -> Any:
    can = getattr(model, "can_generate", None)
    if can is None or not can():
        raise UnsupportedModelError(
            f"{type(model).__name__} cannot generate; use a model with a language model head, such "
            "as AutoModelForCausalLM gives, or leave generate out"
        )
    return cast("Any", model).generate


def _settings(model: nn.Module, generate: Generate) -> dict[str, Any]:
    if isinstance(generate, Mapping):
        settings = dict(generate)
    else:
        settings = {"max_new_tokens": int(generate), "do_sample": False, "num_beams": 1}
    if _cache_is_short(model):
        settings = {"use_cache": False, **settings}
    config = cast("Any", model).generation_config
    if "generation_config" in settings:
        return settings  # which goes alone
    if config.pad_token_id is None and config.eos_token_id is not None:
        # Nothing is padded; named because `generate` warns where it is not.
        end = config.eos_token_id
        settings = {"pad_token_id": end[0] if isinstance(end, list) else end, **settings}
    return settings


def _cache_is_short(model: nn.Module) -> bool:
    """Whether the decoder has more layers than transformers makes room for in its cache.

    Of T5 and its kin, transformers 5.22 counts the layers of the encoder, and then fails with an
    IndexError. Without the cache the same is written, more slowly.
    """
    config = getattr(model, "config", None)
    layers = (getattr(config, f"num_{part}_layers", None) for part in ("decoder", "hidden"))
    deep, buffer = layers
    return isinstance(deep, int) and isinstance(buffer, int) and deep > buffer


def _continued(tokenizer: Any, before: TokenizedText, new: list[int]) -> TokenizedText:
    """Tokens and characters of what was there before and what is new."""
    tokenizer = inner_tokenizer(tokenizer)
    names = token_names(tokenizer, new)
    text = _said(tokenizer, before.ids, new)
    spans = None
    if before.spans is not None:
        shift = len(before.text)
        found = _spans(tokenizer, before.ids, new, text)
        moved = (span and (span[0] + shift, span[1] + shift) for span in found)
        spans = (*before.spans, *moved)
    fields = {name: [*each, *([each[-1]] * len(new))] for name, each in before.fields.items()}
    fields["input_ids"] = [*before.ids, *new]
    return TokenizedText(
        text=before.text + text,
        fields=fields,
        tokens=(*before.tokens, *names),
        spans=spans,
        generated=len(new),
    )


def _said(tokenizer: Any, before: list[int], new: list[int]) -> str:
    """What the new tokens say after those before them.

    Read together, since many tokenizers drop the space before the first token.
    """
    settings: Any = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
    begin, whole = (str(tokenizer.decode(ids, **settings)) for ids in (before, [*before, *new]))
    return whole[len(begin) :] if whole.startswith(begin) else tokenizer.decode(new, **settings)


def _spans(tokenizer: Any, before: list[int], new: list[int], text: str) -> tuple[Span | None, ...]:
    """The characters of each new token in what they say together."""
    special = frozenset(map(str, tokenizer.all_special_tokens))
    try:
        return align(token_names(tokenizer, new), text, special=special)
    except InputError:
        # Bytes that make no character are not found in the text. What a token adds to it is.
        lengths = [len(_said(tokenizer, before, new[:end])) for end in range(len(new) + 1)]
        return tuple(
            strip_span((start, end), text) if start < end <= len(text) else None
            for start, end in itertools.pairwise(lengths)
        )
