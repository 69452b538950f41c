"""`attend`: the attention of a model for an input, from one forward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models._model import layer_count
from attnflow.models.capture import (
    ROLES,
    Collector,
    Sizes,
    capture_attention,
    check_memory,
    not_finite,
    not_normalized,
)
from attnflow.models.inputs import (
    Generate,
    Inputs,
    ModelInput,
    Several,
    Single,
    WithTokenizer,
    model_and_tokenizer,
    name_example,
    prepare,
    takes_pipeline,
)
from attnflow.types import Attention, EncoderDecoderAttention

if TYPE_CHECKING:
    from torch import nn

Heads: TypeAlias = Literal["all", "mean"]
AnyAttention: TypeAlias = "Attention | EncoderDecoderAttention"

# Largest error of the sum of a row in float32, as for `Attention`.
_TOLERANCE = 1e-3
# Fewer positions are not checked against the memory, since the check itself takes time. Chosen: the
# attention of a large model for so many is below a gigabyte.
_CHECKED = 512


class AttendSettings(TypedDict, total=False):
    """Settings of `attend`, for its overloads."""

    text_target: str | list[str] | None
    heads: Heads
    truncate: bool
    generate: Generate | None


@overload
def attend(
    model: nn.Module, tokenizer: Any, text: Single, **settings: Unpack[AttendSettings]
) -> AnyAttention: ...
@overload
def attend(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[AttendSettings]
) -> list[AnyAttention]: ...
@overload
def attend(
    model: WithTokenizer, text: Single, **settings: Unpack[AttendSettings]
) -> AnyAttention: ...
@overload
def attend(
    model: WithTokenizer, text: Several, **settings: Unpack[AttendSettings]
) -> list[AnyAttention]: ...
@takes_pipeline
def attend(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    text_target: str | list[str] | None = None,
    heads: Heads = "all",
    truncate: bool = False,
    generate: Generate | None = None,
) -> AnyAttention | list[AnyAttention]:
    """Return the attention of a model for an input, from one forward pass.

    Parameters
    ----------
    model
        A Hugging Face model with any attention implementation (eager, SDPA, flex, flash), or any
        torch module whose attention is `nn.MultiheadAttention`, a call of
        `F.scaled_dot_product_attention`, or a softmax with a dropout named `attn_drop`; or a
        pipeline of transformers with such a model, or what `load` returns. It does not change.
    tokenizer
        The model's tokenizer or processor; None with tensors. A pipeline has its own, and so has
        what `load` returns: `attend(pipe, text)`.
    text
        One text gives one result: a str; a tuple of two, a sentence pair; a list of messages
        (`{"role": "user", "content": "…"}`), which the tokenizer's chat template writes; or a PIL
        image, which the processor reads. A list of them, run as a padded batch, gives a list of
        results without padding. Tensors, a mapping by name or the model's main input alone, give a
        list too, also for a batch of one and for a module without a batch axis.
    text_target
        The text that the decoder of an encoder-decoder reads, one for each text; by default only
        its start token.
    heads
        "all" keeps every head; "mean" keeps only their mean, computed during the pass block by
        block, with the memory of one head.
    truncate
        Cut a text that is too long for the model; by default it is an InputError.
    generate
        The number of tokens to generate first, or arguments of the model's `generate`. The result
        covers prompt and output; `Attention.predicting` are the positions that predicted them.

    Returns
    -------
    An Attention, or an EncoderDecoderAttention for an encoder-decoder; a list of them unless `text`
    is one text. `causal` is set if no position attends to a later one.

    Notes
    -----
    Takes the time of an eager forward pass and `4 · L · H · n²` bytes, `4 · L · n²` with
    heads="mean"; where the memory does not suffice, an InputError says so before the pass. For
    longer inputs, see `rollout_segments`. Threads may call this at the same time;
    passes of models that share modules or a config run one after the other. Other code must not
    use a model meanwhile.

    Examples
    --------
    >>> from transformers import BertConfig, BertModel
    >>> import torch
    >>> from attnflow.models import attend
    >>> small = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    >>> model = BertModel(BertConfig(vocab_size=10, num_hidden_layers=3, **small))
    >>> attend(model, None, {"input_ids": torch.tensor([[1, 2, 3, 4]])})
    [Attention(layers=3, heads=2, tokens=4)]
    """
    if not isinstance(cast("object", heads), str) or heads not in ("all", "mean"):
        raise InputError(f"heads: expected 'all' or 'mean', got {heads!r}")
    if not isinstance(text, Inputs):  # these were prepared for a checked model
        model, tokenizer = model_and_tokenizer(model, tokenizer)
    inputs = prepare(
        model, tokenizer, text, text_target=text_target, truncate=truncate, generate=generate
    )
    found, _ = attend_inputs(model, inputs, averaged=heads == "mean")
    return found


def attend_inputs(
    model: nn.Module, inputs: Inputs, *, averaged: bool = False, gradients: bool = False
) -> tuple[AnyAttention | list[AnyAttention], Any]:
    """Return `attend` for inputs that are prepared, and the output of the pass.

    With `gradients`, autograd records the pass, which must be outside inference mode.
    """
    _check_memory(model, inputs, averaged=averaged)
    collector = Collector(inputs, averaged=averaged, expected=layer_count(model) or 1)
    output = capture_attention(model, inputs.forward, collector.receive, gradients=gradients)
    examples = range(len(collector.inputs.sources))
    found = [_result(model, collector, example, averaged=averaged) for example in examples]
    return (found[0] if inputs.single else found), output


def _check_memory(model: nn.Module, inputs: Inputs, *, averaged: bool) -> None:
    """Reject inputs whose attention does not fit into the memory."""

    def estimate(sizes: Sizes) -> float:
        stored = 4 * sizes.pairs  # float32
        if averaged:
            return sizes.returned + stored
        return sizes.returned + sizes.heads * stored + sizes.weights

    lengths = [None if source.tokens is None else len(source.tokens) for source in inputs.sources]
    if None in lengths or sum(length or 0 for length in lengths) >= _CHECKED:
        instead = "" if averaged else 'attnflow.models.attend(…, heads="mean"), '
        check_memory("attention", model, [inputs], estimate, instead=instead)


def _result(
    model: nn.Module, collector: Collector, example: int, *, averaged: bool
) -> AnyAttention:
    """Return the captured attention of one example, with the names of its positions."""
    inputs = collector.inputs
    own, decoder, cross = (collector.weights(role, example) for role in ROLES)
    try:
        if inputs.targets is None and cross is None:
            return _single(model, collector, example, own, decoder, averaged=averaged)
        if own is None or decoder is None or cross is None:
            captured = {"encoder": own, "decoder": decoder, "cross": cross}
            missing = [name for name, weights in captured.items() if weights is None]
            raise UnsupportedModelError(
                f"{type(model).__name__} has cross-attention, but no {' or '.join(missing)} "
                "attention was found. Pass the complete model with both of its inputs, or its "
                "encoder alone: attend(model.encoder, …)"
            )
        sizes = own.shape[-1], decoder.shape[-1]
        (source, target), origin = name_example(model, inputs, example, sizes)
        return EncoderDecoderAttention(
            own, decoder, cross, source=source, target=target, averaged=averaged, origin=origin
        )
    except InputError as reason:
        captured = [weights for weights in (own, decoder, cross) if weights is not None]
        raise _unsupported(model, captured, reason) from reason


def _single(
    model: nn.Module,
    collector: Collector,
    example: int,
    own: NDArray[np.float32] | None,
    decoder: NDArray[np.float32] | None,
    *,
    averaged: bool,
) -> Attention:
    """Return the self-attention of a model with one sequence, an encoder or a decoder."""
    inputs = collector.inputs
    stacks = [stack for stack in (own, decoder) if stack is not None]
    if len({stack.shape[1:] for stack in stacks}) > 1:
        raise UnsupportedModelError(
            f"{type(model).__name__} has an encoder and a decoder with attention of different "
            "shapes. Pass one of them, as in attend(model.encoder, …)"
        )
    weights = stacks[0] if len(stacks) == 1 else np.concatenate(stacks)
    (tokens,), origin = name_example(model, inputs, example, weights.shape[-1:])
    return Attention(
        weights, tokens, causal=_causal(model, weights), averaged=averaged, origin=origin
    )


def _unsupported(
    model: nn.Module, captured: list[NDArray[np.float32]], reason: InputError
) -> UnsupportedModelError:
    """Return the error for captured weights that `Attention` rejects, in terms of the model."""
    name = type(model).__name__
    if not all(np.isfinite(weights).all() for weights in captured):
        return not_finite(model)
    lowest = min(float(weights.min()) for weights in captured)
    if lowest < 0:
        return UnsupportedModelError(
            f"{name}: expected attention weights of at least 0, got {lowest:.3g}. Attention that "
            "is no distribution is not supported"
        )
    sums = np.concatenate([weights.sum(axis=-1).ravel() for weights in captured])
    worst = float(sums[np.abs(sums - 1).argmax()])
    if abs(worst - 1) > _TOLERANCE:
        return not_normalized(name, worst)
    return UnsupportedModelError(f"the attention of {name} is inconsistent: {reason}")


def _causal(model: nn.Module, weights: NDArray[np.float32]) -> bool:
    """Return whether no position attends to a later one; for one position, `is_causal`."""
    if weights.shape[-1] == 1:
        return any(getattr(module, "is_causal", False) is True for module in model.modules())
    # One head at a time to save memory; models that are not causal stop at the first.
    return not any(np.triu(head, k=1).any() for layer in weights for head in layer)
