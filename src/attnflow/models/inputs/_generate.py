"""Generated text, which is explained by one pass over prompt and output."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from attnflow._internal import checks
from attnflow._internal.words import align, strip_span
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models._model import device_of, evaluation_mode, explain_failure, inner_tokenizer
from attnflow.models.inputs._inputs import TokenizedText, token_names
from attnflow.types import Span

if TYPE_CHECKING:
    from torch import nn

# The number of new tokens, or keyword arguments of the model's `generate`.
Generate: TypeAlias = "int | Mapping[str, Any]"


def generate_text(
    model: nn.Module,
    tokenizer: Any,
    prompt: TokenizedText,
    generate: Generate,
    *,
    begin: TokenizedText | None = None,
) -> TokenizedText:
    """Return the generated tokens with those before them.

    The tokens before them are the prompt or, for an encoder-decoder, the start token `begin`.
    Decoding is greedy, unless the settings in `generate` change it.
    """
    import torch

    method = _generate_method(model)
    before = prompt if begin is None else begin
    _check_max_length(model, generate, before)
    ids = torch.tensor([prompt.ids], device=device_of(model))
    failed = f"{type(model).__name__} cannot generate with {generate!r}"
    with (
        torch.no_grad(),
        evaluation_mode(model),
        explain_failure(failed, "call its generate directly"),
    ):
        output = method(
            input_ids=ids, attention_mask=torch.ones_like(ids), **_settings(model, generate)
        )
    sequences = getattr(output, "sequences", output)  # with return_dict_in_generate
    new = cast("list[int]", sequences[0].tolist())[len(before.ids) :]
    if not new:
        raise InputError("the model generated no tokens after the text; increase max_new_tokens")
    return _append(tokenizer, before, new)


def count_new_tokens(model: nn.Module, generate: Generate, limit: int | None) -> int:
    """Return how many tokens to generate, less than `limit`; 1 if the settings leave it open."""
    sequences = _setting(model, generate, "num_return_sequences") or 1
    if sequences != 1:
        raise InputError(
            f"generate: expected one sequence, got num_return_sequences={sequences}. Leave it out"
        )
    count = _setting(model, generate, "max_new_tokens")
    if count is None:
        length = _length(model, generate)
        if length is not None and limit is not None and length > limit:
            raise InputError(
                f"generate: expected a max_length of at most {limit}, the limit of the model, got "
                f"{length}"
            )
        return 1
    count = checks.as_int(count, "generate")
    if count < 1:
        raise InputError(f"generate must be at least 1 new token, got {count}")
    if limit is not None and count >= limit:
        raise InputError(
            f"generate must be less than {limit}, the model's limit for prompt and output, got "
            f"{count}"
        )
    return count


def _check_max_length(model: nn.Module, generate: Generate, before: TokenizedText) -> None:
    """Reject a `max_length` that leaves no tokens to generate."""
    length = _length(model, generate)
    new = _setting(model, generate, "max_new_tokens")  # takes precedence
    if new is None and length is not None and length <= len(before.ids):
        raise InputError(
            f"generate: max_length={length} includes the {len(before.ids)} tokens of the prompt. "
            "Use max_new_tokens"
        )


def _length(model: nn.Module, generate: Generate) -> int | None:
    length = _setting(model, generate, "max_length")
    return None if length is None else checks.as_int(length, "max_length")


def _setting(model: nn.Module, generate: Generate, name: str) -> Any:
    """Return an argument of the model's `generate`, by default that of its generation config."""
    if not isinstance(generate, Mapping):
        return generate if name == "max_new_tokens" else None
    if generate.get(name) is not None:
        return generate[name]
    configs = (generate.get("generation_config"), getattr(model, "generation_config", None))
    values = (getattr(config, name, None) for config in configs)
    return next((value for value in values if value is not None), None)


def _generate_method(model: nn.Module) -> Any:
    can = getattr(model, "can_generate", None)
    if can is None or not can():
        raise UnsupportedModelError(
            f"generate needs a language model head, such as AutoModelForCausalLM loads, and "
            f"{type(model).__name__} has none"
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
        return settings  # `generate` takes no other arguments with it
    if config.pad_token_id is None and config.eos_token_id is not None:
        # Nothing is padded, but `generate` warns without it.
        end = config.eos_token_id
        settings = {"pad_token_id": end[0] if isinstance(end, list) else end, **settings}
    return settings


def _cache_is_short(model: nn.Module) -> bool:
    """Return whether the decoder has more layers than transformers allocates in its cache.

    For T5 and derived models, transformers 5.22 counts the layers of the encoder and may raise an
    IndexError. Without the cache the output is the same.
    """
    config = getattr(model, "config", None)
    layers = (getattr(config, f"num_{part}_layers", None) for part in ("decoder", "hidden"))
    decoder, cached = layers
    return isinstance(decoder, int) and isinstance(cached, int) and decoder > cached


def _append(tokenizer: Any, before: TokenizedText, new: list[int]) -> TokenizedText:
    """Return a tokenized text with generated tokens appended."""
    tokenizer = inner_tokenizer(tokenizer)
    names = token_names(tokenizer, new)
    text = _decode(tokenizer, before.ids, new)
    spans = None
    if before.spans is not None:
        shift = len(before.text)
        found = _spans(tokenizer, before.ids, new, text)
        moved = (span and (span[0] + shift, span[1] + shift) for span in found)
        spans = (*before.spans, *moved)
    fields = {name: [*row, *([row[-1]] * len(new))] for name, row in before.fields.items()}
    fields["input_ids"] = [*before.ids, *new]
    tokens = (*before.tokens, *names)
    return TokenizedText(tokens, spans, before.text + text, generated=len(new), fields=fields)


def _decode(tokenizer: Any, before: list[int], new: list[int]) -> str:
    """Return the text of the new tokens.

    Decoded with the tokens before, since many tokenizers drop the space before the first token.
    """
    settings: Any = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
    start, full = (str(tokenizer.decode(ids, **settings)) for ids in (before, [*before, *new]))
    return full[len(start) :] if full.startswith(start) else tokenizer.decode(new, **settings)


def _spans(tokenizer: Any, before: list[int], new: list[int], text: str) -> tuple[Span | None, ...]:
    """Return the character span of each new token in their text."""
    special = frozenset(map(str, tokenizer.all_special_tokens))
    try:
        return align(token_names(tokenizer, new), text, special=special)
    except InputError:
        # Tokens that are incomplete characters cannot be aligned: take what each adds to the text.
        lengths = [len(_decode(tokenizer, before, new[:end])) for end in range(len(new) + 1)]
        return tuple(
            strip_span((start, end), text) if start < end <= len(text) else None
            for start, end in itertools.pairwise(lengths)
        )
