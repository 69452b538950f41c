"""One forward pass in which every block is captured: weights, values, residual stream and norms.

What position i takes from position j is the vector `T[i, j] = Σ_h A[h, i, j] f[j, h]`, where
`f[j, h] = v[j, h] W_O[h]` is the value of head h after the output projection. The sum of attention
and residual connection is `y[i] = Σ_j T[i, j] + b_O + x[i]`. A pass checks that the captured y is
this sum, so that a wrong layout is an error and not a wrong result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnflow.edges._layout import BlockLayout, blocks_of
from attnflow.errors import UnsupportedModelError
from attnflow.models.capture import Call, capture_attention, not_finite
from attnflow.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import Tensor, nn

# Largest difference of y from the sum of its parts, in the largest |y|. Chosen: rounding in float32
# gives about 1e-6, in bfloat16 2⁻⁸ a step.
_TOLERANCE, _TOLERANCE_IN_HALF = 1e-3, 2.0**-4


@dataclass(slots=True)
class Block:
    """A block in one pass over one input. Tensors are float32 or float64, without a batch axis."""

    weights: Tensor  # A (head, query, key)
    values: Tensor  # f (key, head, width): values after the output projection
    residual: Tensor  # x (position, width): the input of the block
    total: Tensor  # y (position, width): attention plus residual connection
    output: Tensor  # (position, width): the output of the block
    bias: Tensor  # b_O (width)
    norm: nn.Module | None  # normalises y; None if y goes on as it is

    def vectors(self, rows: slice) -> Tensor:
        """Return `T[i, j] + [i = j] x[i]` of some queries i: (key, query, width)."""
        import torch

        # A product for each key: (key, query, head) times (key, head, width).
        found = torch.bmm(self.weights[:, rows].permute(2, 1, 0), self.values)
        places = torch.arange(len(self.residual), device=found.device)[rows]
        found[places, places - places[:1]] += self.residual[rows]
        return found


@dataclass(slots=True)
class _Records:
    """What the hooks saw, in the order of the layers."""

    weights: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)  # (head or group of heads, key, width)
    residual: list[Tensor] = field(default_factory=list)
    total: list[Tensor] = field(default_factory=list)
    output: list[Tensor] = field(default_factory=list)
    modules: list[nn.Module] = field(default_factory=list)

    def keep_last(self, count: int) -> None:
        """Drop the records of a pass that captured no attention, before the one that did."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name)[-count:])


def capture_blocks(
    model: nn.Module, inputs: Inputs, layout: BlockLayout
) -> tuple[list[Block], Any]:
    """Run the model on a batch of one; return its blocks in order, and its output."""
    found = _Records()

    def receive(call: Call) -> None:
        if call.role == "cross" or call.size[0] != 1:
            raise encoder_decoder(model, call)
        found.weights.append(_wide(call.weights())[0])
        if not layout.value:
            found.values.append(_wide(values_of(call, model))[0])

    with _hooks(model, layout, found):
        output = capture_attention(model, inputs.forward, receive)
    found.keep_last(len(found.weights))
    counts = {len(found.weights), len(found.values), len(found.total), len(found.output)}
    if len(counts) > 1:
        raise UnsupportedModelError(
            f"{type(model).__name__}: captured {len(found.weights)} attentions, "
            f"{len(found.values)} values, {len(found.total)} norms and {len(found.output)} blocks. "
            "Some layers do not have the parts of the layout"
        )
    blocks = [_block(model, layout, found, number) for number in range(len(found.weights))]
    return blocks, output


def encoder_decoder(model: nn.Module, call: Call) -> UnsupportedModelError:
    """Return the error for attention that is not that of one sequence."""
    return UnsupportedModelError(
        f"{type(model).__name__}: expected self-attention of one sequence, got "
        f"{call.name or 'an attention'} with role {call.role!r}. Encoder-decoders are supported by "
        "attnflow.edges.attention, effective and gradient"
    )


def values_of(call: Call, model: nn.Module) -> Tensor:
    """Return the values (batch, head or group of heads, key, width) of a call."""
    values = getattr(call, "value", None)
    if values is None:
        raise UnsupportedModelError(
            f"{type(model).__name__} does not pass its values to transformers' attention "
            "interface. Name its value projection: layout=BlockLayout(…, value='attn.v_proj')"
        )
    return values


@contextlib.contextmanager
def _hooks(model: nn.Module, layout: BlockLayout, found: _Records) -> Generator[None]:
    """Record the input and the output of every block, the input of its norm, and its values."""
    handles: list[Any] = []

    def enter(module: nn.Module, args: Any, kwargs: Any) -> None:
        found.modules.append(module)
        found.residual.append(_wide(first_tensor(args, kwargs))[0])

    def leave(_module: nn.Module, _args: Any, output: Any) -> None:
        found.output.append(_wide(first_tensor((output,), {}))[0])

    def normalize(_module: nn.Module, args: Any, kwargs: Any) -> None:
        found.total.append(_wide(first_tensor(args, kwargs))[0])

    try:
        for block in blocks_of(model, layout).values():
            handles.append(block.register_forward_pre_hook(enter, with_kwargs=True))
            handles.append(block.register_forward_hook(leave))
            norm = block.get_submodule(layout.norm)
            handles.append(norm.register_forward_pre_hook(normalize, with_kwargs=True))
        with project_hooks(model, layout, found.values):
            yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def project_hooks(
    model: nn.Module, layout: BlockLayout | None, values: list[Tensor]
) -> Generator[None]:
    """Append the output of each value projection (key, heads · width) to `values`."""
    handles: list[Any] = []

    def project(_module: nn.Module, _args: Any, output: Tensor) -> None:
        values.append(_wide(output)[0])

    try:
        if layout is not None and layout.value:
            for block in blocks_of(model, layout).values():
                value = block.get_submodule(layout.value)
                handles.append(value.register_forward_hook(project))
        yield
    finally:
        for handle in handles:
            handle.remove()


def split_heads(values: Tensor, heads: int) -> Tensor:
    """Return the output of a value projection (key, heads · width) as (head, key, width)."""
    return values.view(len(values), heads, -1).transpose(0, 1)


def first_tensor(args: Any, kwargs: dict[str, Any]) -> Tensor:
    """Return the first tensor of the arguments or outputs of a module: the hidden states."""
    import torch

    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor):
            return value
        if isinstance(value, tuple) and value and isinstance(value[0], torch.Tensor):
            return value[0]
    raise UnsupportedModelError("a block was called without hidden states")


def _block(model: nn.Module, layout: BlockLayout, found: _Records, number: int) -> Block:
    module, weights = found.modules[number], found.weights[number]
    values, bias = project_values(found.values[number], weights.shape[0], module, layout)
    total = found.total[number]
    block = Block(
        weights,
        values,
        found.residual[number],
        total,
        found.output[number],
        bias,
        None if layout.norm_first else module.get_submodule(layout.norm),
    )
    _check_sum(model, block, number)
    return block


def project_values(
    values: Tensor, heads: int, module: nn.Module, layout: BlockLayout
) -> tuple[Tensor, Tensor]:
    """Return values after the output projection (key, head, width), and its bias (width).

    `values` are (group of heads, key, width), or (key, heads · width) of a value projection.
    """
    projection: Any = module.get_submodule(layout.output)
    weight = _wide(projection.weight)
    if type(projection).__name__ != "Conv1D":  # whose weight is (input, output)
        weight = weight.T
    if layout.value:
        # Grouped heads have fewer values than heads.
        values = split_heads(values, values.shape[1] * heads // weight.shape[0])
    values = values.repeat_interleave(heads // values.shape[0], dim=0).to(weight)
    per_head = weight.view(heads, -1, weight.shape[1])
    projected = (values @ per_head).transpose(0, 1)
    bias = getattr(projection, "bias", None)
    offset = weight.new_zeros(weight.shape[1]) if bias is None else _wide(bias)
    if layout.scale:
        scale = _wide(_parameter(module, layout.scale))
        return projected * scale, offset * scale
    return projected.contiguous(), offset


def _check_sum(model: nn.Module, block: Block, number: int) -> None:
    """Reject a block whose sum of attention and residual is not the captured one."""
    import torch

    attended = torch.einsum("hij,jhw->iw", block.weights, block.values)
    error = (attended + block.bias + block.residual - block.total).abs().max()
    largest = block.total.abs().max()
    if not bool(torch.isfinite(error)):
        raise not_finite(model)
    if error > (_TOLERANCE_IN_HALF if _is_half(model) else _TOLERANCE) * largest:
        raise UnsupportedModelError(
            f"layer {number + 1} of {type(model).__name__}: the input of its norm is not the sum "
            f"of attention and residual connection: it differs by {float(error / largest):.2g} of "
            "its largest value. Its blocks are built in another way than the layout describes"
        )


def after_norm(block: Block) -> Block:
    """Return the block with vectors after the linear part of its norm.

    `γ ⊙ (v − mean v)` for LayerNorm, `γ ⊙ v` for RMSNorm; v itself if y goes on as it is. The
    bias of the norm and its division by the deviation are left out.
    """
    norm: Any = block.norm
    if norm is None:
        return block

    def linear(vectors: Tensor) -> Tensor:
        centered = vectors - vectors.mean(dim=-1, keepdim=True) if _centers(norm) else vectors
        weight = getattr(norm, "weight", None)
        return centered if weight is None else centered * _wide(weight)

    return replace(
        block,
        values=linear(block.values),
        residual=linear(block.residual),
        total=linear(block.total),
    )


def deviation(block: Block) -> NDArray[np.float64]:
    """Return what the norm divides y by, for each position; one if y goes on as it is."""
    if block.norm is None:
        return np.ones(len(block.total))
    return norm_deviation(block.norm, block.total).double().cpu().numpy()


def norm_deviation(norm: nn.Module, inputs: Tensor) -> Tensor:
    """Return `sqrt(variance + ε)` of each row, about zero for RMSNorm."""
    names = ("eps", "variance_epsilon")  # of PyTorch and of transformers
    epsilon = next((value for name in names if (value := getattr(norm, name, None))), 0.0)
    if _centers(norm):
        inputs = inputs - inputs.mean(dim=-1, keepdim=True)
    return (inputs.square().mean(dim=-1) + epsilon).sqrt()


def norm_transpose(norm: nn.Module, vector: Tensor) -> Tensor:
    """Return the transpose of what a norm does before its division, applied to a vector."""
    return vector - vector.mean() if _centers(norm) else vector


def _centers(norm: nn.Module) -> bool:
    """Return whether a norm subtracts the mean, as LayerNorm does and RMSNorm does not."""
    return "rms" not in type(norm).__name__.lower()


def chunks(block: Block) -> Generator[slice]:
    """Yield slices of queries so that `vectors` of each takes little memory."""
    keys, _, width = block.values.shape
    step = max(1, _MAX_ELEMENTS // (keys * width))
    for start in range(0, len(block.residual), step):
        yield slice(start, start + step)


# Elements of the vectors of a chunk of queries. Chosen: 8 MB of float32, which stays in the cache
# of most processors.
_MAX_ELEMENTS = 2**21


def _parameter(module: nn.Module, name: str) -> Tensor:
    path, _, last = name.rpartition(".")
    return getattr(module.get_submodule(path) if path else module, last)


def _is_half(model: nn.Module) -> bool:
    return any(p.element_size() < 4 for p in model.parameters() if p.is_floating_point())


def _wide(tensor: Tensor) -> Tensor:
    """Return a tensor in float32 or wider, detached."""
    tensor = tensor.detach()
    return tensor if tensor.element_size() >= 4 else tensor.float()
