"""`logit_contributions`: which input tokens made a logit, through contributions of all layers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from attnflow.edges._alti import contributions, distances, memory_of_alti
from attnflow.edges._blocks import Block
from attnflow.edges._calls import first_tensor
from attnflow.edges._capture import capture_blocks
from attnflow.edges._consistency import tolerance_for
from attnflow.edges._inputs import BlockSettings, one_or_all
from attnflow.edges._layer_norm import Norm
from attnflow.edges._layout import BlockLayout, blocks_of, layout_of, layout_settings
from attnflow.edges._target import TargetSettings, check_single, target_logit, target_scorer
from attnflow.errors import UnsupportedModelError
from attnflow.models.capture import Sizes
from attnflow.models.inputs import (
    Inputs,
    ModelInput,
    Several,
    Single,
    WithTokenizer,
    name_example,
    takes_pipeline,
)
from attnflow.models.scoring import OneTarget, Scorer, evaluation, read_logits
from attnflow.types import Importance

if TYPE_CHECKING:
    from torch import Tensor, nn


class LogitSettings(TargetSettings, BlockSettings, total=False):
    """Settings of `logit_contributions`, for its overloads."""


@overload
def logit_contributions(
    model: nn.Module, tokenizer: Any, text: Single, **settings: Unpack[LogitSettings]
) -> Importance: ...
@overload
def logit_contributions(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[LogitSettings]
) -> list[Importance]: ...
@overload
def logit_contributions(
    model: WithTokenizer, text: Single, **settings: Unpack[LogitSettings]
) -> Importance: ...
@overload
def logit_contributions(
    model: WithTokenizer, text: Several, **settings: Unpack[LogitSettings]
) -> list[Importance]: ...
@takes_pipeline
def logit_contributions(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    target: OneTarget = None,
    against: OneTarget = None,
    position: int | None = None,
    layout: BlockLayout | None = None,
    truncate: bool = False,
) -> Importance | list[Importance]:
    """Return how much each input token adds to a logit, or to the difference of two.

    The last norm, with its real deviation, and the head are linear, so the logit is the sum of what
    the input and every block add to the residual stream at the positions that the head reads: one,
    or several, as for DINOv2, whose head reads CLS and the mean of the patches. What attention adds
    from position j of layer l is divided among the input tokens by the rollout of `alti` up to that
    layer: `value_k = Σ_l Σ_j Δ[l, j] M[l − 1][j, k]`, and the embedding of a position that is read
    counts for its token.

    Parameters
    ----------
    model
        A model whose blocks normalise first, with a last norm and a linear head on top: GPT-2,
        Llama and similar decoders, ViT, DINOv2, the verb-number model.
    tokenizer, text, layout, truncate
        As for `norms`.
    target, against, position
        As for `gradient`.

    Returns
    -------
    Importance with signed values. Its settings record `input_score`, the logit or the difference,
    `feed_forward`, what the feed-forward part of each layer adds, and `bias`, what all biases add.
    Values, feed-forward parts and biases sum to the score.

    Notes
    -----
    What a feed-forward part adds comes from tokens too, but not in a linear way, so that it belongs
    to none of them. It may be larger than all values together. Takes two passes and the time of
    `alti`.
    Ferrando et al. (2023), https://doi.org/10.18653/v1/2023.acl-long.301

    Examples
    --------
    >>> from attnflow import edges, paper
    >>> shipped = paper.load()
    >>> text = "the key to the cabinets"
    >>> found = edges.logit_contributions(shipped.model, shipped.tokenizer, text)
    >>> rest = sum(found.settings["feed_forward"]) + found.settings["bias"]
    >>> bool(np.isclose(found.values.sum() + rest, found.settings["input_score"]))
    True
    """
    check_single(target, against)

    def compute(model: nn.Module, inputs: Inputs) -> Importance:
        chosen = layout_of(model, layout)
        norm = _final_norm(model, chosen)
        scorer = target_scorer(model, tokenizer, inputs, target, against, position)
        head = _read_head(model, scorer, norm)
        added = functools.partial(_added, head=head)
        values, settings = _contributions(model, capture_blocks(model, inputs, chosen, added), head)
        (tokens,), origin = name_example(model, inputs, 0, values.shape)
        settings |= layout_settings(layout)
        return Importance(values, tokens, "logit_contributions", settings, origin)

    return one_or_all(
        compute, model, tokenizer, text, truncate=truncate, name="logit_contributions",
        estimate=_memory,
    )  # fmt: skip


def _memory(sizes: Sizes) -> float:
    """Return bytes at the peak: of `alti`, or what autograd keeps of the pass that is explained."""
    return max(memory_of_alti(sizes), 16 * len(sizes.calls) * sizes.states)


def _final_norm(model: nn.Module, layout: BlockLayout) -> nn.Module:
    """Return the norm after the last block, looked up in the modules that contain the blocks."""
    if layout.norm_first and layout.final_norm:
        modules = dict(model.named_modules())
        path = next(iter(blocks_of(model, layout)))
        while path:
            path = path.rpartition(".")[0]
            found = modules.get(f"{path}.{layout.final_norm}" if path else layout.final_norm)
            if found is not None:
                return found
        raise UnsupportedModelError(
            f"{type(model).__name__}: no module that contains the blocks has a last norm "
            f"final_norm={layout.final_norm!r}. Correct it by the names that "
            "model.named_modules() prints"
        )
    raise UnsupportedModelError(
        f"{type(model).__name__}: logit_contributions needs blocks that normalise first and a last "
        "norm, since only then a logit is a sum over layers. Use attnflow.edges.alti, norms or "
        "gradient, or name the norm: layout=BlockLayout(…, norm_first=True, final_norm='norm')"
    )


@dataclass(frozen=True, slots=True)
class _Head:
    """The last norm and the head as one linear function of the residual stream."""

    # The score is the sum of products of these with the stream at `positions`, plus the bias.
    directions: Tensor  # (read, width)
    bias: float
    positions: Tensor  # (read): those that the head reads
    settings: dict[str, Any]  # target and score


def _read_head(model: nn.Module, scorer: Scorer, norm: nn.Module) -> _Head:
    """Return the function, from the gradient of the score by the output of the last norm."""
    import torch

    streams: list[Tensor] = []
    leaves: list[Tensor] = []

    def make_leaf(_module: nn.Module, args: Any, kwargs: Any, output: Tensor) -> Tensor:
        streams.append(first_tensor(args, kwargs).detach().clone())
        if getattr(output, "shape", None) != streams[-1].shape:
            raise _no_norm(model, type(norm).__name__)
        leaves.append(output.detach().clone().requires_grad_())
        return leaves[-1]

    def set_zero(_module: nn.Module, _args: Any, _kwargs: Any, output: Tensor) -> Tensor:
        return torch.zeros_like(output)

    with evaluation(model, gradients=True):
        score, settings = _score(scorer, norm, make_leaf)
        slope = None
        if score.requires_grad:
            (slope,) = torch.autograd.grad(score, leaves[-1], allow_unused=True)
    if slope is None:
        raise UnsupportedModelError(
            f"the logit of {type(model).__name__} has no gradient by the output of its last norm: "
            "its head is quantised or detaches it. Load the model without quantisation"
        )
    fixed = dataclasses.replace(
        scorer, targets=(settings["target"],), against=settings.get("other")
    )
    with evaluation(model, gradients=False):
        constant = float(_score(fixed, norm, set_zero)[0])
    read = slope[0].any(dim=-1)
    # For a score that depends on no position, the last one, whose weight is zero too.
    read[-1] |= ~read.any()
    positions = read.nonzero().flatten()
    weight, stream, output = (
        tensor.detach()[0, positions].double() for tensor in (slope, streams[-1], leaves[-1])
    )
    tolerance = tolerance_for(model).result
    last = Norm.of(norm, stream, output)
    if not last.fits(stream, output, tolerance):
        raise _no_norm(model, last.name)
    parts = weight * output
    size = float(parts.abs().sum()) + abs(constant)
    if abs(float(parts.sum()) + constant - settings["input_score"]) > tolerance * size:
        raise _no_sum(model, "its head is not linear")
    directions = last.linear_part_transposed(weight) / last.deviation(stream)[:, None]
    bias = constant + float((weight @ last.offset(weight)).sum())
    return _Head(directions, bias, positions, settings)


def _no_norm(model: nn.Module, name: str) -> UnsupportedModelError:
    return _no_sum(model, f"its last norm, {name}, is not LayerNorm or RMSNorm")


def _no_sum(model: nn.Module, reason: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"the logit of {type(model).__name__} is no sum over its layers: {reason}. Use "
        "attnflow.edges.alti, norms or gradient"
    )


def _score(
    scorer: Scorer, norm: nn.Module, hook: Callable[..., Tensor]
) -> tuple[Tensor, dict[str, Any]]:
    """Return the score of a pass in which `hook` changes the output of the last norm."""
    handle = norm.register_forward_hook(hook, with_kwargs=True)
    try:
        logits = read_logits(scorer.model, scorer.inputs[0].fields, scorer.inputs)
    finally:
        handle.remove()
    return target_logit(scorer, logits)


class _Added(NamedTuple):
    """What a block adds to the score, and what `alti` needs to follow it to the input."""

    distances: NDArray[np.float64]  # (query, key)
    attention: NDArray[np.float64]  # (key)
    feed_forward: float
    bias: float
    before: NDArray[np.float64]  # (read), of the stream below the block


def _added(block: Block, head: _Head) -> _Added:
    import torch

    read, directions = head.positions, head.directions
    # Of a head's value j for the position p that is read: (head, j, p).
    per_head = block.values.double() @ (block.projection.double() @ directions.T)
    attention = torch.einsum("hpj,hjp->j", block.weights[:, read].double(), per_head)
    fed = (block.output - block.total)[read].double()
    return _Added(
        distances(block),
        attention.cpu().numpy(),
        float((directions * fed).sum()),
        float((directions @ block.bias.double()).sum()),
        (directions * block.residual[read].double()).sum(dim=-1).cpu().numpy(),
    )


def _contributions(
    model: nn.Module, blocks: list[_Added], head: _Head
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return the contributions of tokens, checked to sum to the score with the rest; settings."""
    layers, clipped = contributions([block.distances for block in blocks])
    composed = np.eye(len(layers[0]))  # from the stream below a block to input tokens
    values = np.zeros(len(composed))
    values[head.positions.cpu().numpy()] = blocks[0].before
    for block, layer in zip(blocks, layers, strict=True):
        values += block.attention @ composed
        composed = layer @ composed
    feed_forward = [block.feed_forward for block in blocks]
    bias = head.bias + sum(block.bias for block in blocks)
    score = head.settings["input_score"]
    error = values.sum() + sum(feed_forward) + bias - score
    size = np.abs(values).sum() + np.abs(feed_forward).sum() + abs(bias)
    if abs(error) > tolerance_for(model).result * size:
        raise UnsupportedModelError(
            f"the parts of the logit of {type(model).__name__} sum to {score + error:.4g}, "
            f"expected {score:.4g}: its blocks add something else to the residual stream"
        )
    settings: dict[str, Any] = {
        "feed_forward": feed_forward,
        "bias": bias,
        "clipped": clipped,
        "signed": True,
    }
    return values, {**head.settings, **settings}
