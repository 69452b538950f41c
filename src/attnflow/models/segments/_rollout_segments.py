"""`rollout_segments`: attention rollout during the forward pass, without the attention weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack, overload

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.models.capture import capture_attention
from attnflow.models.inputs import (
    ModelInput,
    Several,
    Single,
    WithTokenizer,
    model_and_tokenizer,
    prepare,
    takes_pipeline,
)
from attnflow.models.segments._accumulate import RolloutAccumulator
from attnflow.models.segments._columns import SEPARATOR, Segments, join_texts
from attnflow.types import TokenAttention

if TYPE_CHECKING:
    from torch import nn

# The texts of one prompt, for segments="texts".
Texts: TypeAlias = list[str] | tuple[str, ...]


class _RolloutSettings(TypedDict, total=False):
    """Settings of `rollout_segments`, for its overloads."""

    text_target: str | list[str] | None
    residual: float
    layers: Iterable[int] | int | None
    queries: Iterable[int] | int | None
    truncate: bool


class RolloutSettings(_RolloutSettings, total=False):
    """Settings for segments of each text."""

    segments: Segments


class JoinSettings(_RolloutSettings):
    """Settings for texts that are joined to one prompt, and are its segments."""

    segments: Literal["texts"]


@overload
def rollout_segments(
    model: nn.Module, tokenizer: Any, text: Single, **settings: Unpack[RolloutSettings]
) -> TokenAttention: ...
@overload
def rollout_segments(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[RolloutSettings]
) -> list[TokenAttention]: ...
@overload
def rollout_segments(
    model: nn.Module, tokenizer: Any, text: Texts, **settings: Unpack[JoinSettings]
) -> TokenAttention: ...
@overload
def rollout_segments(
    model: nn.Module, tokenizer: Any, text: Sequence[Texts], **settings: Unpack[JoinSettings]
) -> list[TokenAttention]: ...
@overload
def rollout_segments(
    model: WithTokenizer, text: Single, **settings: Unpack[RolloutSettings]
) -> TokenAttention: ...
@overload
def rollout_segments(
    model: WithTokenizer, text: Several, **settings: Unpack[RolloutSettings]
) -> list[TokenAttention]: ...
@overload
def rollout_segments(
    model: WithTokenizer, text: Texts, **settings: Unpack[JoinSettings]
) -> TokenAttention: ...
@overload
def rollout_segments(
    model: WithTokenizer, text: Sequence[Texts], **settings: Unpack[JoinSettings]
) -> list[TokenAttention]: ...
@takes_pipeline
def rollout_segments(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput | Texts | Sequence[Texts],
    *,
    segments: Segments | Literal["texts"] = "tokens",
    text_target: str | list[str] | None = None,
    residual: float = 0.5,
    layers: Iterable[int] | int | None = None,
    queries: Iterable[int] | int | None = None,
    truncate: bool = False,
) -> TokenAttention | list[TokenAttention]:
    """Return attention rollout of a model for an input, computed during the forward pass.

    `R(i) = (1 − r) · mean over heads of A(i, head) R(i − 1) + r · R(i − 1)`, where R(0) is one in
    the column of each position's segment. Fused attention computes attention times a matrix, so
    the attention weights are never stored, and inputs of tens of thousands of tokens fit in memory.
    Equal to `attnflow.rollout(attend(…))` with columns summed by segment.

    Parameters
    ----------
    model, tokenizer, text_target, truncate
        As for `attend`.
    text
        As for `attend`; with segments="texts" a list of texts that are joined with line breaks to
        one prompt, which gives one result, or a list of such lists.
    segments
        The columns of the result: "tokens"; "words"; "lines" of the text; "texts"; character spans
        (start, end) that do not overlap; or, for an image, an array (rows, columns) with the number
        of the region of each patch, −1 for none. A token belongs to the segment that contains most
        of it; tokens in no segment share a last column "[rest]". Pass a list of lists for a list of
        spans per text. For an encoder-decoder, words, lines and spans refer to the source, a line
        break and the target.
    residual
        Weight of the residual connection, at least 0 and below 1.
    layers, queries
        The layers (1…L) and positions in the result; by default all.

    Notes
    -----
    With few segments, takes little more time than a forward pass, and memory that grows with tokens
    times segments. For more than 128 columns the heads of a block of queries are averaged first.
    Models that do not use transformers' attention interface compute the weights of each layer. In
    half precision the scores are rounded as the model rounds.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> from transformers import BertConfig, BertModel
    >>> import torch
    >>> from attnflow.models import rollout_segments
    >>> small = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    >>> model = BertModel(BertConfig(vocab_size=10, num_hidden_layers=3, **small))
    >>> rollout_segments(model, None, {"input_ids": torch.tensor([[1, 2, 3, 4]])}, queries=0)
    [TokenAttention('rollout', layers=3, queries=1, tokens=4)]
    """
    model, tokenizer = model_and_tokenizer(model, tokenizer)
    share = checks.as_float(residual, "residual")
    joined, checked, nested = _prompts(text, segments)
    inputs = prepare(model, tokenizer, joined, text_target=text_target, truncate=truncate)
    accumulator = RolloutAccumulator(
        model, inputs, checked, nested=nested, residual=share, layers=layers, queries=queries
    )
    capture_attention(model, inputs.forward, accumulator.receive, fused=True)
    found = accumulator.results()
    return found[0] if inputs.single else found


def _prompts(text: Any, segments: Any) -> tuple[Any, list[Any], bool]:
    """Return text for `prepare`, the segments, and whether they are nested: one for each text."""
    if isinstance(segments, str) and segments == "texts":
        several, prompts = _texts(text)
        joined = [SEPARATOR.join(parts) for parts in prompts]
        return joined if several else joined[0], [join_texts(parts) for parts in prompts], True
    nested = isinstance(text, list) and _is_nested(segments)
    return text, list(segments) if nested else [segments], nested


def _texts(text: Any) -> tuple[bool, list[list[str]]]:
    """Return whether there are several prompts, and the texts of each."""
    if not isinstance(text, list | tuple) or not text:
        raise InputError(
            f'segments="texts" needs a list of the texts of a prompt, got {text!r:.40}'
        )
    several = all(isinstance(parts, list | tuple) and parts for parts in text)
    if not several and any(isinstance(parts, list | tuple) for parts in text):
        raise InputError(
            'segments="texts" needs a list of texts, or one list for each prompt, got texts and '
            "lists, or an empty list"
        )
    prompts = [list(parts) for parts in (text if several else [text])]
    for part in (part for parts in prompts for part in parts):
        if not isinstance(part, str) or not part.strip():
            raise InputError(f"expected texts with at least one word in a prompt, got {part!r}")
    return several, prompts


def _is_nested(segments: Any) -> bool:
    """Return whether these are lists of spans, one for each text, and not spans."""
    return (
        isinstance(segments, list | tuple)
        and bool(segments)
        and all(isinstance(spans, list | tuple) for spans in segments)
        and all(isinstance(span, list | tuple) for spans in segments for span in spans)
    )
