"""`rollout`: attention rollout during the forward pass, without the matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.models._model import unwrap_compiled
from attnflow.models.capture import capture_attention
from attnflow.models.inputs import ModelInput, prepare
from attnflow.models.segments._accumulate import RolloutAccumulator
from attnflow.models.segments._columns import JOINT, Segments, join_texts
from attnflow.types import TokenAttention

if TYPE_CHECKING:
    from torch import nn


def rollout(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput | Sequence[Sequence[str]],
    *,
    segments: Segments = "tokens",
    target: str | list[str] | None = None,
    residual: float = 0.5,
    layers: Iterable[int] | int | None = None,
    queries: Iterable[int] | int | None = None,
    truncate: bool = False,
) -> TokenAttention | list[TokenAttention]:
    """Attention rollout of a model for an input, computed while the forward pass runs.

    `R(i) = (1 − r) · mean over heads of A(i, head) R(i − 1) + r · R(i − 1)`, where R(0) says which
    segment each position belongs to. Attention times a matrix is what fused attention computes, so
    no matrix of attention weights is ever held, and inputs of tens of thousands of tokens fit.
    Equal to `attnflow.rollout(attend(…))`, whose columns are summed by segment.

    Parameters
    ----------
    model, tokenizer, target, truncate
        As for `attend`.
    text
        As for `attend`; with segments="texts" a list of texts that make up one prompt, put together
        with line breaks, or a list of such lists.
    segments
        What the columns of the result are: "tokens"; "words"; "lines" of the text; "texts"; spans
        (start, end) of characters that do not overlap; or, for an image, an array (rows, columns)
        with the number of the region of each patch, −1 for none. A token belongs to the segment
        that holds most of it; tokens of no segment share a last column "[rest]". For several texts
        with spans of their own, a list of lists. Of an encoder-decoder, words, lines and spans run
        over the source, a line break and the target.
    residual
        Weight of the residual connection, at least 0 and below 1.
    layers, queries
        Which layers (1…L) and positions to keep; by default all.

    Notes
    -----
    With few segments, time is that of a forward pass with values somewhat wider, and memory grows
    with tokens times segments. For more than 128 columns the heads of a block of queries are
    averaged first. Models that do not use transformers' attention interface compute their matrices
    themselves, layer by layer. In half precision the shares are rounded as the model rounds.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> from transformers import BertConfig, BertModel
    >>> import torch
    >>> from attnflow.models import rollout
    >>> small = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    >>> model = BertModel(BertConfig(vocab_size=10, num_hidden_layers=3, **small))
    >>> rollout(model, None, {"input_ids": torch.tensor([[1, 2, 3, 4]])}, queries=0)
    TokenAttention('rollout', layers=3, queries=1, tokens=4)
    """
    model = unwrap_compiled(model)
    share = checks.as_fraction(residual, "residual")
    plain, chosen, nested = _prompts(text, segments)
    inputs = prepare(model, tokenizer, plain, target=target, truncate=truncate)
    rolling = RolloutAccumulator(
        model, inputs, chosen, each=nested, residual=share, layers=layers, queries=queries
    )
    capture_attention(model, inputs.forward, rolling.receive, fused=True)
    found = rolling.results()
    return found[0] if rolling.inputs.single else found


def _prompts(text: Any, segments: Any) -> tuple[Any, list[Any], bool]:
    """Texts as `attend` takes them, segments, and whether there are segments for each text."""
    if isinstance(segments, str) and segments == "texts":
        several, prompts = _texts(text)
        whole = [JOINT.join(parts) for parts in prompts]
        return whole if several else whole[0], [join_texts(parts) for parts in prompts], True
    nested = isinstance(text, list | tuple) and _is_nested(segments)
    return text, list(segments) if nested else [segments], nested


def _texts(text: Any) -> tuple[bool, list[list[str]]]:
    """Whether several prompts came, and the texts that make up each of them."""
    if not isinstance(text, list | tuple) or not text:
        raise InputError(
            f'segments="texts" came with a {type(text).__name__}; a list of texts that make up the '
            "prompt is wanted"
        )
    several = all(isinstance(parts, list | tuple) and parts for parts in text)
    if not several and any(isinstance(parts, list | tuple) for parts in text):
        raise InputError(
            'segments="texts" came with a list of texts and lists, or an empty list; give the '
            "texts of one prompt, or for several prompts one list of texts each"
        )
    prompts = [list(parts) for parts in (text if several else [text])]
    for part in (part for parts in prompts for part in parts):
        if not isinstance(part, str) or not part.strip():
            raise InputError(
                f"{part!r} came among the texts of a prompt; texts with at least one word are "
                "wanted"
            )
    return several, prompts


def _is_nested(segments: Any) -> bool:
    """Whether these are lists of spans, one for each text, and not spans."""
    return (
        isinstance(segments, list | tuple)
        and bool(segments)
        and all(isinstance(each, list | tuple) for each in segments)
        and all(isinstance(span, list | tuple) for each in segments for span in each)
    )
