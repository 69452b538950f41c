"""`attend`: a model and its input give the attention of one forward pass."""
# torch's and transformers' stubs leave much unknown; what is unknown stays inside this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from attnflow.attention import Attention
from attnflow.encoder_decoder import EncoderDecoderAttention
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models._call import ROLES
from attnflow.models._collect import Collector
from attnflow.models._door import require
from attnflow.models._inputs import Positions, not_finite
from attnflow.models._listen import listen
from attnflow.models._origin import described, joined
from attnflow.models._prepare import Text, prepare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from attnflow.models._generate import Generate
    from attnflow.models._inputs import Inputs

Heads: TypeAlias = Literal["all", "mean"]
AnyAttention: TypeAlias = "Attention | EncoderDecoderAttention"


@overload
def attend(
    model: nn.Module,
    tokenizer: Any,
    text: str,
    *,
    target: str | None = None,
    heads: Heads = "all",
    truncate: bool = False,
    generate: Generate | None = None,
) -> AnyAttention: ...
@overload
def attend(
    model: nn.Module,
    tokenizer: Any,
    text: list[str] | tuple[str, ...],
    *,
    target: list[str] | None = None,
    heads: Heads = "all",
    truncate: bool = False,
    generate: Generate | None = None,
) -> list[AnyAttention]: ...
@overload
def attend(
    model: nn.Module,
    tokenizer: Any,
    text: Mapping[str, Any] | Tensor,
    *,
    heads: Heads = "all",
) -> AnyAttention | list[AnyAttention]: ...
def attend(
    model: nn.Module,
    tokenizer: Any,
    text: Text,
    *,
    target: str | list[str] | None = None,
    heads: Heads = "all",
    truncate: bool = False,
    generate: Generate | None = None,
) -> AnyAttention | list[AnyAttention]:
    """The attention of a model for an input, from one forward pass of the model as it is.

    Parameters
    ----------
    model
        A Hugging Face model with any attention implementation (eager, SDPA, flex, flash), or any
        torch module whose attention is `nn.MultiheadAttention`, a call of
        `F.scaled_dot_product_attention`, or a softmax with a dropout called `attn_drop`. It is left
        as it was.
    tokenizer
        The model's tokenizer or processor; None with ready inputs.
    text
        A text gives one result. A list of texts is run as one padded batch and gives a list,
        padding cut away. Ready model inputs, a mapping of tensors by name or the model's main
        input alone, give one result for a batch of one and a list for more.
    target
        What the decoder of an encoder-decoder reads, one text for each text; by default its start
        token alone.
    heads
        "all" keeps every head; "mean" keeps their mean only, computed block by block while the pass
        runs, so that memory is one head's.
    truncate
        Cut a text that is too long for the model; by default it is an InputError.
    generate
        Have the model write this many tokens first (or settings for its own `generate`), and
        explain prompt and output: `Attention.predicting` are the positions that wrote them.

    Returns
    -------
    An Attention, or an EncoderDecoderAttention for a model with a decoder of its own; a list of
    them for several inputs. `causal` is set where no position of the model saw a later one.

    Notes
    -----
    Time is that of an eager forward pass. Memory is `4 · L · H · n²` bytes, `4 · L · n²` with
    heads="mean"; for inputs where that is too much, see `attnflow.models.rollout`. Not for several
    threads at a time on one model.

    Examples
    --------
    >>> from transformers import BertConfig, BertModel
    >>> import torch
    >>> from attnflow.models import attend
    >>> small = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    >>> model = BertModel(BertConfig(vocab_size=10, num_hidden_layers=3, **small))
    >>> attend(model, None, {"input_ids": torch.tensor([[1, 2, 3, 4]])})
    Attention(layers=3, heads=2, tokens=4)
    """
    require("torch")
    if heads not in ("all", "mean"):
        raise InputError(f"heads is {heads!r}; use all or mean")
    model = getattr(model, "_orig_mod", model)  # what torch.compile was given
    inputs = prepare(model, tokenizer, text, target=target, truncate=truncate, generate=generate)
    averaged = heads == "mean"
    collector = Collector(inputs, averaged=averaged, expected=_layers(model))
    listen(model, inputs.forward, collector.hear)
    examples = range(len(collector.inputs.sources))
    found = [_result(model, collector, example, averaged=averaged) for example in examples]
    return found[0] if collector.inputs.single else found


def _layers(model: nn.Module) -> int:
    """How many layers to take memory for; more are taken where there are more."""
    config = getattr(model, "config", None)
    layers = getattr(config, "num_hidden_layers", None)
    return layers if isinstance(layers, int) and layers > 0 else 1


def _result(
    model: nn.Module, collector: Collector, example: int, *, averaged: bool
) -> AnyAttention:
    """What was heard for one example, with the names of its positions."""
    inputs = collector.inputs
    own, decoder, cross = (collector.weights(role, example) for role in ROLES)
    source = inputs.sources[example]
    target = None if inputs.targets is None else inputs.targets[example]
    try:
        if target is None and cross is None:
            return _single(model, inputs, source, own, decoder, averaged=averaged)
        if own is None or decoder is None or cross is None:
            raise _incomplete(model, {"encoder": own, "decoder": decoder, "cross": cross})
        target = target or Positions()
        names, origin = described(model, inputs.forward, source, own.shape[-1])
        more, origin_of_target = described(model, {}, target, decoder.shape[-1])
        origin = joined(source, target, (origin, origin_of_target))
        return EncoderDecoderAttention(
            own, decoder, cross, names, more, averaged=averaged, origin=origin
        )
    except InputError as reason:
        if all(weights is None or np.isfinite(weights).all() for weights in (own, decoder, cross)):
            raise
        raise not_finite(model) from reason


def _single(
    model: nn.Module,
    inputs: Inputs,
    source: Positions,
    own: NDArray[np.float32] | None,
    decoder: NDArray[np.float32] | None,
    *,
    averaged: bool,
) -> Attention:
    """Attention of one sequence to itself, whether or not the model calls its layers a decoder."""
    stacks = [stack for stack in (own, decoder) if stack is not None]
    if len({stack.shape[1:] for stack in stacks}) > 1:
        raise UnsupportedModelError(
            f"{type(model).__name__} attends in an encoder and in a decoder of different sizes; "
            "pass one of them, as in attend(model.encoder, …)"
        )
    weights = stacks[0] if len(stacks) == 1 else np.concatenate(stacks)
    tokens, origin = described(model, inputs.forward, source, weights.shape[-1])
    return Attention(weights, tokens, causal=_causal(weights), averaged=averaged, origin=origin)


def _incomplete(model: nn.Module, heard: Mapping[str, object]) -> UnsupportedModelError:
    missing = [name for name, weights in heard.items() if weights is None]
    return UnsupportedModelError(
        f"{type(model).__name__} attends to another sequence, but no {' or '.join(missing)} "
        "attention was heard; pass the whole model with both of its inputs, or its encoder alone: "
        "attend(model.encoder, …)"
    )


def _causal(weights: NDArray[np.float32]) -> bool:
    """Whether no position takes anything from a later one; one position alone tells nothing."""
    ahead = np.triu_indices(weights.shape[-1], k=1)
    return weights.shape[-1] > 1 and not any(layer[:, *ahead].any() for layer in weights)
