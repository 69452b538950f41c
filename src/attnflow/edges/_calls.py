"""What is read from a captured attention of one sequence, and from the arguments of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnflow.errors import UnsupportedModelError
from attnflow.models.capture import Call, check_sums
from attnflow.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import Tensor, nn


def check_one(model: nn.Module, call: Call) -> None:
    """Reject attention that does not have one sequence in its batch."""
    if call.size[0] != 1:
        raise UnsupportedModelError(
            f"{type(model).__name__}: expected attention of one sequence, got {call.size[0]} in "
            f"{call.name or 'an attention'}. Models that fold windows or frames into the batch, or "
            "have the batch on the second axis, are not supported here"
        )


def reject_pairs(model: nn.Module, inputs: Inputs) -> None:
    """Reject inputs of an encoder-decoder, for functions that read the parts of a block."""
    if inputs.targets is not None:
        raise UnsupportedModelError(
            f"{type(model).__name__} is an encoder-decoder. Use attnflow.edges.attention, "
            "effective or gradient without a layout, or pass its encoder alone"
        )


def weights_of(model: nn.Module, call: Call) -> Tensor:
    """Return the weights (batch, head, query, key) of one sequence; their rows sum to one."""
    check_one(model, call)
    weights = call.weights()
    check_sums(call, weights)
    return weights


def values_of(model: nn.Module, call: Call) -> Tensor:
    """Return the values (head or group of heads, key, width) of a call with one sequence."""
    values = getattr(call, "value", None)
    if values is None:
        raise no_values(model)
    return wide(values if values.ndim == 4 else values[None, None])[0]


def no_values(model: nn.Module) -> UnsupportedModelError:
    """Return the error for a model whose values are not in the captured attention."""
    return UnsupportedModelError(
        f"{type(model).__name__} does not pass its values to transformers' attention "
        "interface. Name its value projection, a nn.Linear: "
        "layout=BlockLayout(…, value='attn.v_proj')"
    )


def first_tensor(args: Any, kwargs: dict[str, Any]) -> Tensor:
    """Return the first tensor of the arguments or outputs of a module: the hidden states."""
    import torch

    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor):
            return value
        if isinstance(value, tuple) and value and isinstance(value[0], torch.Tensor):
            return value[0]
    raise UnsupportedModelError("a block was called without hidden states")


def wide(tensor: Tensor) -> Tensor:
    """Return a tensor in float32 or wider, detached."""
    tensor = tensor.detach()
    return tensor if tensor.element_size() >= 4 else tensor.float()
