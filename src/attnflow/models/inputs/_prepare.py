"""Arguments of public functions: a pipeline as model and tokenizer, a text as input of a pass."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload

import numpy as np

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.models._decoders import decoder_limit, start_token
from attnflow.models._model import (
    accepts,
    check_parts,
    check_vocabulary,
    checked_model,
    device_of,
    forward_parameters,
    has_decoder,
    token_limit,
    without_cache,
)
from attnflow.models.inputs._generate import Generate, count_new_tokens, generate_text
from attnflow.models.inputs._images import are_images, image_tensors, is_image
from attnflow.models.inputs._inputs import Inputs, Positions, TokenizedText, token_names, tokenize
from attnflow.models.inputs._tensors import as_tensors, prepare_tensors
from attnflow.models.inputs._texts import Chat, OneText, Pair, is_text, split_texts
from attnflow.models.loading import Loaded

if TYPE_CHECKING:
    import transformers
    from PIL.Image import Image
    from torch import Tensor, nn

# Inputs that give a list of results: several texts, or tensors with a batch axis.
SeveralTexts: TypeAlias = "list[str] | list[Pair] | list[Chat] | Mapping[str, Any] | Tensor"
# `Inputs` are for other packages of attnflow, which use one text several times.
TextInput: TypeAlias = "OneText | SeveralTexts | Inputs"
# The same with images of PIL, for functions that take any positions, not only tokens.
Single: TypeAlias = "OneText | Image"
Several: TypeAlias = "SeveralTexts | list[Image]"
ModelInput: TypeAlias = "Single | Several | Inputs"
# What may be passed in place of a model and its tokenizer.
WithTokenizer: TypeAlias = "transformers.Pipeline | Loaded"

P = ParamSpec("P")
T_co = TypeVar("T_co", covariant=True)

# What a pipeline reads its input with, the most complete first.
_READERS = ("processor", "tokenizer", "image_processor", "feature_extractor")


def prepare(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    text_target: str | list[str] | None = None,
    truncate: bool = False,
    generate: Generate | None = None,
) -> Inputs:
    """Return `text`, one or several texts, images or tensors, as the input of a forward pass.

    `Inputs` are returned unchanged.
    """
    if isinstance(text, Inputs):
        return text
    images = not isinstance(text, str) and (are_images(text) or is_image(text))
    if isinstance(text, str | list | tuple) and not images:
        return _prepare_texts(model, tokenizer, text, text_target, generate, truncate=truncate)
    for name, given in (("text_target", text_target), ("generate", generate)):
        if given is not None:
            raise InputError(
                f"{name} needs a text, got {'an image' if images else 'tensors'}. Add "
                "decoder_input_ids to tensors, or generate first and pass prompt and output "
                "together"
            )
    if images:
        given = cast("list[Any]", text) if isinstance(text, list) else [text]
        tensors = image_tensors(model, tokenizer, given)
        return replace(prepare_tensors(model, None, tensors), single=not isinstance(text, list))
    return prepare_tensors(model, tokenizer, as_tensors(model, text))


def is_single(text: ModelInput) -> bool:
    """Return whether this is one text or image, which gives one result, not a list or tensors."""
    return text.single if isinstance(text, Inputs) else is_text(text) or is_image(text)


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


def _prepare_texts(
    model: nn.Module,
    tokenizer: Any,
    text: object,
    text_target: str | list[str] | None,
    generate: Generate | None,
    *,
    truncate: bool,
) -> Inputs:
    """Return texts, and the targets or generated tokens, as the input of one forward pass."""
    texts, one = ([text], True) if isinstance(text, str) else split_texts(text)
    if not texts:
        raise InputError("expected at least one text or image, got an empty list")
    single = not isinstance(text_target, list | tuple | None)
    targets = [text_target] if single else text_target
    if targets is not None and len(targets) != len(texts):
        raise InputError(
            f"text_target: expected {len(texts)}, one for each text, got {len(targets)}"
        )
    decoder, reserved = has_decoder(model), 0
    if generate is not None:
        limit = decoder_limit(model) if decoder else token_limit(model)
        new = count_new_tokens(model, generate, limit)
        reserved = 0 if decoder else new
    encoded = [
        tokenize_text(model, tokenizer, text, truncate=truncate, reserved=reserved)
        for text in texts
    ]
    if decoder:
        decoder_texts = _decoder_texts(
            model, tokenizer, encoded, targets, generate, truncate=truncate
        )
        fields, sources = _batch(model, encoded)
        added, positions = _batch(model, decoder_texts)
        fields |= {f"decoder_{name}": tensor for name, tensor in added.items()}
        return Inputs(_forward(model, fields), sources, positions, one)
    if targets is not None:
        raise InputError(
            f"text_target needs an encoder-decoder, got {type(model).__name__}. Append it to "
            "the text"
        )
    if generate is not None:
        encoded = [generate_text(model, tokenizer, item, generate) for item in encoded]
    return batch_texts(model, encoded, single=one)


def tokenize_text(
    model: nn.Module, tokenizer: Any, text: object, *, truncate: bool = False, reserved: int = 0
) -> TokenizedText:
    """Return the tokens of a text for a model, as many as it takes less `reserved` ones."""
    main = str(getattr(model, "main_input_name", "input_ids"))
    if main != "input_ids":
        raise InputError(
            f"expected {main} for {type(model).__name__}, got a text. Pass the output of its "
            "processor: processor(…, return_tensors='pt')"
        )
    check_parts(model, ["input_ids"])
    truncate = checks.as_bool(truncate, "truncate")
    limit = token_limit(model)
    encoded = tokenize(tokenizer, text, limit=limit, truncate=truncate, reserved=reserved)
    check_vocabulary(model, encoded.ids)
    return encoded


def batch_texts(model: nn.Module, encoded: list[TokenizedText], *, single: bool = False) -> Inputs:
    """Return tokenised texts as the input of one pass of a model without a decoder."""
    fields, sources = _batch(model, encoded)
    return Inputs(_forward(model, fields), sources, None, single)


def takes_padding(model: nn.Module) -> bool:
    """Return whether texts of different lengths can be a batch.

    A plain module takes ids and no mask.
    """
    return "input_ids" in forward_parameters(model) or hasattr(model, "main_input_name")


def _decoder_texts(
    model: nn.Module,
    tokenizer: Any,
    encoded: list[TokenizedText],
    targets: list[str] | None,
    generate: Generate | None,
    *,
    truncate: bool,
) -> list[TokenizedText]:
    """Return what the decoder reads: its start token, and the target or the generated tokens."""
    start = start_token(model)
    begin = TokenizedText(token_names(tokenizer, [start]), (None,), fields={"input_ids": [start]})
    if generate is not None:
        if targets is not None:
            raise InputError("expected text_target or generate, got both")
        return [generate_text(model, tokenizer, item, generate, begin=begin) for item in encoded]
    if targets is None:
        return [begin] * len(encoded)
    limit = decoder_limit(model)
    texts: list[TokenizedText] = []
    for target in targets:
        item = tokenize(tokenizer, target, limit=limit, truncate=truncate, target=True)
        # The input of the decoder is its output shifted right: without the end token.
        end = len(item.ids) - item.ended
        spans = None if item.spans is None else (None, *item.spans[:end])
        tokens, ids = (*begin.tokens, *item.tokens[:end]), [start, *item.ids[:end]]
        texts.append(TokenizedText(tokens, spans, target, fields={"input_ids": ids}))
    return texts


def _batch(
    model: nn.Module, encoded: list[TokenizedText]
) -> tuple[dict[str, Tensor], tuple[Positions, ...]]:
    """Return the batch, padded on the right with an attention mask if needed."""
    import torch

    lengths = [len(item.ids) for item in encoded]
    longest = max(lengths)
    tensors = {
        name: torch.tensor(
            [item.fields[name] + [0] * (longest - len(item.ids)) for item in encoded],
            device=device_of(model),
        )
        for name in encoded[0].fields
    }
    if min(lengths) == longest:
        return tensors, tuple(encoded)
    real = np.arange(longest) < np.array(lengths)[:, None]  # (text, position)
    tensors["attention_mask"] = torch.tensor(real.astype(np.int64), device=device_of(model))
    return tensors, tuple(
        replace(item, kept=kept) for item, kept in zip(encoded, real, strict=True)
    )


def _forward(model: nn.Module, fields: dict[str, Tensor]) -> dict[str, Any]:
    """Return the fields that the model's forward method takes."""
    if not takes_padding(model):
        mask = fields.get("attention_mask")
        if mask is not None and not bool(mask.all()):
            raise InputError(
                f"{type(model).__name__}.forward takes no attention_mask, so texts of different "
                "lengths cannot be padded. Pass them one by one"
            )
        return {"": fields["input_ids"]}
    accepted: dict[str, Any] = {name: t for name, t in fields.items() if accepts(model, name)}
    return without_cache(model, accepted)


def model_and_tokenizer(model: Any, tokenizer: Any) -> tuple[nn.Module, Any]:
    """Return the checked model and the tokenizer or processor; a pipeline or `Loaded` has both.

    A tokenizer that is passed with it is used instead of its own.
    """
    if has_tokenizer(model):
        own = (getattr(model, name, None) for name in _READERS)
        if tokenizer is None:
            tokenizer = next((reader for reader in own if reader is not None), None)
        model = model.model
    return checked_model(model), tokenizer


class TakesPipeline(Protocol[P, T_co]):
    """A function of (model, tokenizer, text, …) that a pipeline and a text may be passed to."""

    @overload
    def __call__(self, *args: P.args, **settings: P.kwargs) -> T_co: ...
    @overload
    def __call__(self, model: WithTokenizer, *args: Any, **settings: Any) -> T_co: ...


def takes_pipeline(function: Callable[P, T_co]) -> TakesPipeline[P, T_co]:
    """Let a function of (model, tokenizer, text, …) be called with (pipeline, text, …).

    The function gets the pipeline's model and tokenizer, or those of a `Loaded`. A tokenizer or
    None after it is taken for one: a tokenizer is callable, a text is not.
    """

    @functools.wraps(function)
    def call(*args: Any, **settings: Any) -> T_co:
        pipeline, *others = args or (settings.get("model"),)
        if has_tokenizer(pipeline):
            if not args:
                del settings["model"]
            # None alone is the text, so that it is the error of a wrong text.
            text_follows = len(others) > 1 or "text" in settings
            if others and (callable(others[0]) or (others[0] is None and text_follows)):
                tokenizer = others.pop(0)
            else:
                tokenizer = settings.pop("tokenizer", None)
            args = (*model_and_tokenizer(pipeline, tokenizer), *others)
        return function(*args, **settings)

    return cast("TakesPipeline[P, T_co]", call)


def has_tokenizer(model: object) -> bool:
    """Return whether this is a pipeline, without an import of transformers, or a `Loaded`."""
    return isinstance(model, Loaded) or any(
        kind.__name__ == "Pipeline" and kind.__module__.startswith("transformers.")
        for kind in type(model).__mro__
    )
