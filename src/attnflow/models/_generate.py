"""Text that a model writes itself, to be explained by one pass over prompt and output."""
# transformers' stubs leave much unknown; what is unknown stays inside this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from attnflow import checked
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models._encode import Encoded, inner_tokenizer, token_names
from attnflow.models._inputs import device_of
from attnflow.models._listen import evaluating
from attnflow.words import align, stripped

if TYPE_CHECKING:
    from torch import nn

    from attnflow.origin import Span

# How many new tokens, or the settings of the model's own `generate`.
Generate: TypeAlias = "int | Mapping[str, Any]"


def written(
    model: nn.Module,
    tokenizer: Any,
    prompt: Encoded,
    generate: Generate,
    *,
    begin: Encoded | None = None,
) -> Encoded:
    """What the model writes after a prompt, with what was there before it.

    That is the prompt itself or, of a model with a decoder of its own, the start token `begin`.
    Greedy and without sampling, unless the settings in `generate` say otherwise.
    """
    import torch

    writer = _writer(model)
    ids = torch.tensor([prompt.ids], device=device_of(model))
    with torch.no_grad(), evaluating(model):
        output = writer(
            input_ids=ids, attention_mask=torch.ones_like(ids), **_settings(model, generate)
        )
    before = prompt if begin is None else begin
    sequences = getattr(output, "sequences", output)  # where more than the tokens was asked for
    new = cast("list[int]", sequences[0].tolist())[len(before.ids) :]
    if not new:
        raise InputError("the model wrote nothing after the text; ask for more tokens")
    return _continued(tokenizer, before, new)


def new_tokens(generate: Generate, limit: int | None) -> int:
    """How many tokens are asked for, of at most `limit`; 0 where the settings do not tell."""
    if isinstance(generate, Mapping):
        count = generate.get("max_new_tokens")
        if count is None:
            return 0
    else:
        count = generate
    count = checked.whole_number(count, "generate")
    if count < 1:
        raise InputError(f"generate is {count}; the number of new tokens is wanted, 1 or more")
    if limit is not None and count >= limit:
        raise InputError(
            f"generate is {count}, and the model takes {limit} tokens in all; ask for fewer"
        )
    return count


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
    config = cast("Any", model).generation_config
    if config.pad_token_id is None and config.eos_token_id is not None:
        # Nothing is padded; named because `generate` warns where it is not.
        end = config.eos_token_id
        settings = {"pad_token_id": end[0] if isinstance(end, list) else end, **settings}
    return settings


def _continued(tokenizer: Any, before: Encoded, new: list[int]) -> Encoded:
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
    return Encoded(
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
            stripped((start, end), text) if start < end <= len(text) else None
            for start, end in itertools.pairwise(lengths)
        )
