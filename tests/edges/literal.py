"""Slow, literal versions of the formulas for a model, from weights that are read here."""

import contextlib
import functools
import itertools
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Parts:
    """The class of a family's blocks, and where these keep their parts."""

    block: str
    value: str  # in GPT-2, one projection for queries, keys and values
    output: str
    before: str = ""  # the norm before attention
    after: str = ""  # the norm after attention and residual connection
    scale: str = ""


# What the attention function below does in the pass that runs: the probabilities of each call, and
# what is added to them.
_found: list[torch.Tensor] = []
_added: list[torch.Tensor] = []


def _note(probabilities: torch.Tensor) -> torch.Tensor:
    _found.append(probabilities)
    return probabilities + _added[len(_found) - 1] if _added else probabilities


def _own_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    position_bias: torch.Tensor | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    del module
    group = query.shape[1] // key.shape[1]
    key, value = (each.repeat_interleave(group, dim=1) for each in (key, value))
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    for term in (attention_mask, position_bias):
        scores = scores if term is None else scores + term
    return (_note(scores.softmax(dim=-1)) @ value).transpose(1, 2), None


AttentionInterface.register("edges_reference", _own_attention)
AttentionMaskInterface.register("edges_reference", eager_mask)


def use_own_attention(model: Any) -> Any:
    """The model, whose attention is now the function above."""
    if type(model).__name__.startswith("MPNet"):  # it does not use the interface
        for name, module in model.named_modules():
            if name.endswith("attention.attn.dropout"):
                _ = module.register_forward_hook(lambda _module, _args, output: _note(output))
    elif hasattr(model, "use_attention"):  # nor does the verb-number model
        model.use_attention(lambda *given: _own_attention(*given)[0].transpose(1, 2))
    else:
        model.set_attn_implementation("edges_reference")
    return model


def run(
    model: Any, inputs: dict[str, torch.Tensor], added: list[torch.Tensor] | None = None
) -> tuple[list[torch.Tensor], Any]:
    """The attention probabilities of each call in a pass, and the output of the model.

    `added` is added to the probabilities of each call.
    """
    _added[:] = added or []
    _found.clear()
    output = model(**inputs)
    found = list(_found)
    _added.clear()
    _found.clear()
    return found, output


@dataclass(frozen=True)
class Layer:
    """A block in one pass, as arrays."""

    A: Floats  # (head, query, key)
    V: Floats  # (position, head, width of a head)
    W: Floats  # (head, width of a head, width)
    b: Floats  # (width)
    x: Floats  # (position, width)
    out: Floats  # (position, width), of the block
    norm: Any  # the norm after the sum, or None

    @functools.cached_property
    def T(self) -> Floats:  # noqa: N802 (the formula's name)
        """The vector that position i takes from position j: (i, j, width)."""
        found = np.zeros((*self.A.shape[1:], len(self.b)))
        for h, i, j in np.ndindex(self.A.shape):
            found[i, j] += self.A[h, i, j] * (self.V[j, h] @ self.W[h])
        return found

    @functools.cached_property
    def v(self) -> Floats:
        """The same with the residual connection."""
        found = self.T.copy()
        for i, x in enumerate(self.x):
            found[i, i] += x
        return found

    @functools.cached_property
    def y(self) -> Floats:
        """The sum of attention and residual connection: (position, width)."""
        return self.v.sum(axis=1) + self.b

    def after_norm(self, vector: Floats, i: int) -> Floats:
        """A part of y_i after the linear part of the norm and its real deviation."""
        if self.norm is None:
            return vector
        epsilon = np.finfo(np.float64).eps if self.norm.eps is None else self.norm.eps
        if type(self.norm).__name__ in ("RMSNorm", "PlainRoot"):
            deviation = np.sqrt((self.y[i] ** 2).mean() + epsilon)
            return array(self.norm.weight) * vector / deviation
        deviation = np.sqrt(self.y[i].var() + epsilon)
        return array(self.norm.weight) * (vector - vector.mean()) / deviation


def array(tensor: torch.Tensor) -> Floats:
    return tensor.detach().double().numpy()


def blocks_of(model: Any, parts: Parts) -> list[Any]:
    """The different blocks of a model; ALBERT has one, which runs several times."""
    return [module for module in model.modules() if type(module).__name__ == parts.block]


@contextlib.contextmanager
def block_calls(
    model: Any, parts: Parts
) -> Generator[list[tuple[Any, torch.Tensor, torch.Tensor]]]:
    """A list that fills with the block, its input and its output, for each call of a block."""
    calls: list[tuple[Any, torch.Tensor, torch.Tensor]] = []

    def leave(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        hidden = args[0] if args else kwargs["hidden_states"]
        after = output[0] if isinstance(output, tuple) else output
        calls.append((module, hidden[0], after[0]))

    blocks = blocks_of(model, parts)
    handles = [block.register_forward_hook(leave, with_kwargs=True) for block in blocks]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def layers_of(model: Any, parts: Parts, inputs: dict[str, torch.Tensor]) -> list[Layer]:
    """The blocks in a pass."""
    with torch.no_grad(), block_calls(model, parts) as calls:
        attentions, _ = run(model, inputs)
        found: list[Layer] = []
        assert len(calls) == len(attentions) > 0
        for (block, x, out), (A,) in zip(calls, attentions, strict=True):
            value, output = (block.get_submodule(name) for name in (parts.value, parts.output))
            read = block.get_submodule(parts.before)(x) if parts.before else x
            scale = block.get_parameter(parts.scale) if parts.scale else torch.tensor(1.0)
            W = scale * (output.weight if type(output).__name__ == "Conv1D" else output.weight.T)
            heads, width = len(A), len(W) // len(A)
            values = value(read)
            if type(value).__name__ == "Conv1D":
                values = values[:, -x.shape[1] :]
            values = values.unflatten(-1, (-1, width))
            values = values.repeat_interleave(heads // values.shape[1], dim=1)
            b = scale * (torch.zeros(W.shape[1]) if output.bias is None else output.bias)
            norm: Any = block.get_submodule(parts.after) if parts.after else None
            parts_of_sum = array(A), array(values), array(W.unflatten(0, (heads, width))), array(b)
            found.append(Layer(*parts_of_sum, array(x), array(out), norm))
    return found


def rows_to_one(matrix: NDArray[Any]) -> Floats:
    return np.array([row / row.sum() for row in matrix])


def norms(layer: Layer) -> Floats:
    """‖γ ⊙ (v_ij − mean v_ij) / deviation of y_i‖, or ‖v_ij‖, rows to one."""
    n = range(len(layer.x))
    lengths = [[np.linalg.norm(layer.after_norm(layer.v[i, j], i)) for j in n] for i in n]
    return rows_to_one(np.array(lengths))


def alti(layer: Layer) -> tuple[Floats, Floats]:
    """‖y_i‖₁ − ‖y_i − v_ij‖₁, and the same without negative entries, rows to one."""
    found = np.zeros_like(layer.A[0])
    for i, j in np.ndindex(found.shape):
        y, v = layer.after_norm(layer.y[i], i), layer.after_norm(layer.v[i, j], i)
        found[i, j] = np.abs(y).sum() - np.abs(y - v).sum()
    return found, rows_to_one(np.maximum(found, 0))


def effective(layer: Layer, visible: NDArray[np.bool_] | None = None) -> Floats:
    """A U Uᵀ of each head, by the SVD of the vectors T^h that a query sees: (head, query, key).

    By default a query sees the keys that some head attends to.
    """
    found = np.zeros_like(layer.A)
    heads, n, _ = found.shape
    for h, i in itertools.product(range(heads), range(n)):
        seen = layer.A[:, i].any(axis=0) if visible is None else visible[i]
        U, s, _ = np.linalg.svd(layer.V[seen, h] @ layer.W[h], full_matrices=False)
        basis = U[:, s > 1e-9 * s.max()]
        found[h, i, seen] = layer.A[h, i, seen] @ basis @ basis.T
    return found


def value_zeroing(
    model: Any, parts: Parts, inputs: dict[str, torch.Tensor], number: int, layer: Layer
) -> Floats:
    """1 − cos of the output of one layer with and without each value, rows to one.

    `layer` is that layer in the pass with all values.
    """
    before = layer.out
    found = np.zeros((len(before), len(before)))
    calls = 0

    def zero(_module: Any, _args: Any, output: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        if calls != (number + 1 if shared else 1):
            return output
        changed = output.clone()
        width = output.shape[-1] // 3 if parts.value.endswith("c_attn") else output.shape[-1]
        changed[0, j, -width:] = 0
        return changed

    blocks = blocks_of(model, parts)
    shared = len(blocks) == 1
    value = blocks[0 if shared else number].get_submodule(parts.value)
    for j in range(len(before)):
        calls = 0
        handle = value.register_forward_hook(zero)
        with torch.no_grad(), block_calls(model, parts) as found_calls:
            _ = run(model, inputs)
        handle.remove()
        after = array(found_calls[number][2])
        for i, (a, b) in enumerate(zip(before, after, strict=True)):
            found[i, j] = 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    found[~(layer.A != 0).any(axis=0)] = 0  # rounding of the cosine
    return rows_to_one(found)


def gradients(
    model: Any, inputs: dict[str, torch.Tensor], target: int, against: int | None = None
) -> list[tuple[Floats, Floats]]:
    """Attention probabilities of each call and the derivative of a logit by them."""
    with torch.no_grad():
        attentions, _ = run(model, inputs)
    zeros = [torch.zeros_like(each, requires_grad=True) for each in attentions]
    _, output = run(model, inputs, zeros)
    _ = score(output, target, against).backward(inputs=zeros)
    return [
        (array(A[0]), array(zero.grad[0]))  # pyright: ignore[reportOptionalSubscript] (backward sets it)
        for A, zero in zip(attentions, zeros, strict=True)
    ]


def score(output: Any, target: int, against: int | None = None) -> torch.Tensor:
    """The logit that is read: the only one, or that of the last position."""
    logits = output.logits[0] if output.logits.ndim == 2 else output.logits[0, -1]
    return logits[target] - (0 if against is None else logits[against])
