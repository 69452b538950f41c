"""One forward pass in which every block is captured: weights, values, residual stream and norms.

What position i takes from position j is the vector `T[i, j] = Σ_h A[h, i, j] v[h, j] W_O[h]`, where
v[h, j] is the value of head h. The sum of attention and residual connection is
`y[i] = Σ_j T[i, j] + b_O + x[i]`. A pass checks that the captured y is this sum, so that a wrong
layout is an error and not a wrong result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from attnflow.edges._layer_norm import is_standard, linear_part
from attnflow.edges._layout import BlockLayout, blocks_of
from attnflow.errors import UnsupportedModelError
from attnflow.models.capture import Call, capture_attention, evaluation_mode, not_finite
from attnflow.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import Tensor, nn

# Elements of the vectors of a chunk of queries. Chosen: 8 MB of float32, which stays in the cache
# of most processors.
_MAX_ELEMENTS = 2**21


class Tolerance(NamedTuple):
    """Largest differences that are rounding, in relation to the size of a result and of its terms.

    Chosen: rounding in float32 gives 1e-6 or less, in bfloat16 2⁻⁸ a step.
    """

    result: float
    terms: float


def tolerance_for(model: nn.Module) -> Tolerance:
    """Return the tolerance for the precision of a model."""
    half = any(p.element_size() < 4 for p in model.parameters() if p.is_floating_point())
    return Tolerance(2.0**-4, 2.0**-6) if half else Tolerance(1e-3, 1e-5)


class Execution(NamedTuple):
    """A call of a block. `hidden` is a copy of its hidden states, which blocks may overwrite."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    hidden: Tensor  # (1, position, width)


@dataclass(slots=True)
class Block:
    """A block in one pass over one input. Tensors are float32 or float64, without a batch axis."""

    execution: Execution
    weights: Tensor  # A (head, query, key)
    values: Tensor  # v (head, key, width of a head)
    projection: Tensor  # W_O (head, width of a head, width)
    bias: Tensor  # b_O (width)
    residual: Tensor  # x (position, width): the input of the block
    total: Tensor  # y (position, width): attention plus residual connection
    output: Tensor  # (position, width): the output of the block
    norm: nn.Module | None  # normalises y; None if y goes on as it is

    def projected(self) -> Tensor:
        """Return the values after the output projection (key, head, width)."""
        return (self.values @ self.projection).transpose(0, 1).contiguous()

    def vectors(self) -> Generator[tuple[slice, Tensor]]:
        """Yield queries i, a few at a time, and `T[i, j] + [i = j] x[i]` (key, query, width)."""
        import torch

        projected = self.projected()
        count, width = self.residual.shape
        step = max(1, _MAX_ELEMENTS // (count * width))
        for start in range(0, count, step):
            rows = slice(start, start + step)
            # A product for each key: (key, query, head) times (key, head, width).
            found = torch.bmm(self.weights[:, rows].permute(2, 1, 0), projected)
            places = torch.arange(count, device=found.device)[rows]
            found[places, places - start] += self.residual[rows]
            yield rows, found

    def sees(self) -> Tensor:
        """Return whether a position takes anything from another (query, key)."""
        import torch

        own = torch.eye(len(self.residual), dtype=torch.bool, device=self.weights.device)
        return (self.weights != 0).any(dim=0) | own


@dataclass(slots=True)
class _Records:
    """What the hooks saw, in the order of the layers."""

    weights: list[Tensor] = field(default_factory=list)  # (head, query, key)
    values: list[Tensor] = field(default_factory=list)  # (head or group of heads, key, width)
    executions: list[Execution] = field(default_factory=list)
    attention_inputs: list[Tensor] = field(default_factory=list)
    norm_inputs: list[Tensor] = field(default_factory=list)
    norm_outputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)

    def keep_last(self, count: int) -> None:
        """Drop the records of a pass that captured no attention, before the one that did."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name)[-count:])

    def counts(self) -> dict[str, int]:
        """Return how many of each there are."""
        return {name: len(getattr(self, name)) for name in self.__slots__}


def capture_blocks(model: nn.Module, inputs: Inputs, layout: BlockLayout) -> list[Block]:
    """Run the model on a batch of one and return its blocks in order."""
    found = _Records()

    def receive(call: Call) -> None:
        if call.role == "cross":
            raise UnsupportedModelError(
                f"{type(model).__name__} is an encoder-decoder. Use attnflow.edges.attention, "
                "effective or gradient, or pass its encoder alone"
            )
        check_one(model, call)
        found.weights.append(wide(call.weights())[0])
        if not layout.value:
            found.values.append(values_of(call, model))

    with evaluation_mode(model), _hooks(model, layout, found):  # locked: hooks see one pass
        _ = capture_attention(model, inputs.forward, receive)
    found.keep_last(len(found.weights))
    if len(set(found.counts().values())) > 1:
        counts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in found.counts().items())
        raise UnsupportedModelError(
            f"{type(model).__name__}: expected as many of each part of the layout as layers, got "
            f"{counts}. Some layers do not have these parts, or do not call them"
        )
    return [_block(model, layout, found, number) for number in range(len(found.weights))]


def check_one(model: nn.Module, call: Call) -> None:
    """Reject attention that does not have one sequence in its batch."""
    if call.size[0] != 1:
        raise UnsupportedModelError(
            f"{type(model).__name__}: expected attention of one sequence, got {call.size[0]} in "
            f"{call.name or 'an attention'}. Models that fold windows or frames into the batch, or "
            "have the batch on the second axis, are not supported here"
        )


def values_of(call: Call, model: nn.Module) -> Tensor:
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


@contextlib.contextmanager
def _hooks(model: nn.Module, layout: BlockLayout, found: _Records) -> Generator[None]:
    """Record the calls of every block, and of its attention, norm and value projection."""

    def enter(module: nn.Module, args: Any, kwargs: Any) -> None:
        hidden = first_tensor(args, kwargs).detach().clone()
        found.executions.append(Execution(module, args, kwargs, hidden))

    def leave(_module: nn.Module, _args: Any, output: Any) -> None:
        found.outputs.append(_copy(first_tensor((output,), {})))

    def enter_attention(_module: nn.Module, args: Any, kwargs: Any) -> None:
        found.attention_inputs.append(_copy(first_tensor(args, kwargs)))

    def enter_norm(_module: nn.Module, args: Any, kwargs: Any) -> None:
        found.norm_inputs.append(_copy(first_tensor(args, kwargs)))

    def leave_norm(_module: nn.Module, _args: Any, output: Tensor) -> None:
        found.norm_outputs.append(_copy(output))

    def project(_module: nn.Module, _args: Any, output: Tensor) -> None:
        found.values.append(_copy(output))

    with contextlib.ExitStack() as undo:
        for block in blocks_of(model, layout).values():
            attention, norm = map(block.get_submodule, (layout.attention, layout.norm))
            for handle in (
                block.register_forward_pre_hook(enter, with_kwargs=True),
                block.register_forward_hook(leave),
                attention.register_forward_pre_hook(enter_attention, with_kwargs=True),
                norm.register_forward_pre_hook(enter_norm, with_kwargs=True),
                norm.register_forward_hook(leave_norm),
            ):
                _ = undo.callback(handle.remove)
            if layout.value:
                handle = block.get_submodule(layout.value).register_forward_hook(project)
                _ = undo.callback(handle.remove)
        yield


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
    """Return a block of the pass; an error if it is not as the layout describes."""
    inner = found.attention_inputs[number], found.norm_outputs[number]
    try:
        block = _assembled(layout, found, number)
        problem = _problem(model, block, *inner)
        if not problem:
            return block
    except (AttributeError, RuntimeError) as reason:  # parts of other shapes, or of other kinds
        problem = f"{type(reason).__name__}: {reason}"
    raise UnsupportedModelError(
        f"layer {number + 1} of {type(model).__name__} is not as the layout describes: {problem}"
    )


def _assembled(layout: BlockLayout, found: _Records, number: int) -> Block:
    execution, weights = found.executions[number], found.weights[number]
    projection, bias = _output_projection(execution.module, layout, len(weights))
    values = found.values[number]
    if layout.value:  # (key, heads · width), with fewer heads if they are grouped
        values = values.unflatten(-1, (-1, projection.shape[1])).transpose(0, 1)
    return Block(
        execution,
        weights,
        values.repeat_interleave(len(weights) // len(values), dim=0).to(projection),
        projection,
        bias,
        wide(execution.hidden)[0],
        found.norm_inputs[number],
        found.outputs[number],
        None if layout.norm_first else execution.module.get_submodule(layout.norm),
    )


def _output_projection(module: nn.Module, layout: BlockLayout, heads: int) -> tuple[Tensor, Tensor]:
    """Return the output projection (head, width of a head, width), and its bias (width)."""
    projection: Any = module.get_submodule(layout.output)
    weight = wide(projection.weight)
    if type(projection).__name__ != "Conv1D":  # whose weight is (input, output)
        weight = weight.T
    bias = getattr(projection, "bias", None)
    added = weight.new_zeros(weight.shape[1]) if bias is None else wide(bias)
    if layout.scale:
        path, _, name = layout.scale.rpartition(".")
        scale = wide(getattr(module.get_submodule(path), name))
        weight, added = weight * scale, added * scale
    return weight.unflatten(0, (heads, -1)), added


def _problem(model: nn.Module, block: Block, attended: Tensor, normalized: Tensor) -> str:
    """Return what is wrong with a block, empty if nothing is.

    `attended` is the input of its attention, `normalized` the output of its norm.
    """
    import torch

    tolerance, first = tolerance_for(model), block.norm is None
    if bool(torch.equal(attended, block.residual)) is first:
        found = "the input of the block" if first else "not the input of the block"
        return f"norm_first={first}, and the input of its attention is {found}"
    taken = torch.einsum("hjd,hdw->jw", block.weights @ block.values, block.projection) + block.bias
    error = (taken + block.residual - block.total).abs()
    if not bool(torch.isfinite(error).all()):
        raise not_finite(model)
    # Against what attention adds: the residual stream of large models is much larger.
    size = taken.abs().amax(dim=-1, keepdim=True)
    if bool((error > tolerance.result * size + tolerance.terms * block.total.abs()).any()):
        return (
            "the input of its norm is not the sum of attention and residual connection, but "
            f"differs by {float((error / size).max()):.2g} of what attention adds"
        )
    if block.norm is not None:
        standard = is_standard(block.norm, block.total, normalized, tolerance.result)
        return "" if standard else f"{type(block.norm).__name__} is not LayerNorm or RMSNorm"
    return ""


def after_norm(block: Block) -> Block:
    """Return the block with vectors after the linear part of its norm.

    `γ ⊙ (v − mean v)` for LayerNorm, `γ ⊙ v` for RMSNorm; v itself if y goes on as it is. The
    bias of the norm and its division by the deviation are left out.
    """
    norm = block.norm
    if norm is None:
        return block
    return replace(
        block,
        projection=linear_part(norm, block.projection),
        residual=linear_part(norm, block.residual),
        total=linear_part(norm, block.total),
    )


def wide(tensor: Tensor) -> Tensor:
    """Return a tensor in float32 or wider, detached."""
    tensor = tensor.detach()
    return tensor if tensor.element_size() >= 4 else tensor.float()


def _copy(tensor: Tensor) -> Tensor:
    """Return a copy of the first example, since a model may overwrite its tensors."""
    return wide(tensor)[0].clone()
