"""`gradient`: attention times the gradient of a score by it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Unpack, overload

from attnflow._internal import checks
from attnflow.edges._calls import check_one
from attnflow.edges._graph import RoleMatrix, graph_of_roles
from attnflow.edges._inputs import one_or_all
from attnflow.edges._target import TargetSettings, check_single, target_logit, target_scorer
from attnflow.errors import UnsupportedModelError
from attnflow.models.capture import Call, Role, Sizes, capture_attention
from attnflow.models.inputs import (
    Inputs,
    ModelInput,
    Several,
    Single,
    WithTokenizer,
    takes_pipeline,
)
from attnflow.models.scoring import OneTarget, evaluation, read_output, recordable
from attnflow.types import AttentionGraph

if TYPE_CHECKING:
    from torch import Tensor, nn


# Factors of the score of a float16 model; the first is used that lets no derivative overflow.
# Chosen: powers of two, which change no digit, from half the largest number of float16.
_FACTORS = (2.0**15, 2.0**10, 2.0**5, 1.0)


class GradientSettings(TargetSettings, total=False):
    """Settings of `gradient`, for its overloads."""

    times_attention: bool
    identity: bool
    truncate: bool


@overload
def gradient(
    model: nn.Module, tokenizer: Any, text: Single, **settings: Unpack[GradientSettings]
) -> AttentionGraph: ...
@overload
def gradient(
    model: nn.Module, tokenizer: Any, text: Several, **settings: Unpack[GradientSettings]
) -> list[AttentionGraph]: ...
@overload
def gradient(
    model: WithTokenizer, text: Single, **settings: Unpack[GradientSettings]
) -> AttentionGraph: ...
@overload
def gradient(
    model: WithTokenizer, text: Several, **settings: Unpack[GradientSettings]
) -> list[AttentionGraph]: ...
@takes_pipeline
def gradient(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    target: OneTarget = None,
    against: OneTarget = None,
    position: int | None = None,
    times_attention: bool = True,
    identity: bool = True,
    truncate: bool = False,
) -> AttentionGraph | list[AttentionGraph]:
    """Return the graph of attention times the gradient of a score by it, identity added.

    `I + mean over h of (∇A_h ⊙ A_h)₊` for each layer, where ∇A_h is the derivative of the score by
    the attention of head h. It keeps attention that raises the score, so that the graph explains
    one answer, unlike attention itself. Rollout of this graph is the relevance of Chefer et al.

    Parameters
    ----------
    model
        A model with logits: a classifier of texts or images, a masked or causal language model, or
        an encoder-decoder, whose graph has source and target positions. It does not change.
    tokenizer, text, truncate
        As for `attnflow.attend`: one text gives a graph, several texts or tensors a list.
    target
        The class or token whose logit is the score, by name or number; by default the prediction.
    against
        Another class or token: the score is the logit of `target` minus that of `against`.
    position
        The position whose output is read, as for `attnflow.importance.blank_out`.
    times_attention
        False leaves attention out: `I + mean over h of (∇A_h)₊`.
    identity
        False leaves the identity out, as generalized attention flow does; see
        `attnflow.flow_split`.

    Notes
    -----
    One forward and one backward pass, with the memory of training; for float16 up to four backward
    passes, with the score scaled so that small derivatives do not become zero. Rows do not sum to
    one. The settings record `clipped`, the share of the negative part in the absolute sum over all
    heads.
    For an encoder-decoder, layers compose as in any graph; the rules of Chefer et al. for
    cross-attention divide by the sums of rows in between.
    Chefer et al. (2021), https://doi.org/10.1109/ICCV48922.2021.00045; gradients alone:
    Azarkhalili & Libbrecht (2025), https://doi.org/10.48550/arXiv.2502.15765

    Examples
    --------
    >>> from attnflow import edges, paper
    >>> shipped = paper.load()
    >>> g = edges.gradient(shipped.model, shipped.tokenizer, "the key to the cabinets")
    >>> g, g.settings["target_name"]
    (AttentionGraph(layers=6, nodes=7), 'singular')
    """
    check_single(target, against)
    times_attention = checks.as_bool(times_attention, "times_attention")
    identity = checks.as_bool(identity, "identity")

    def compute(model: nn.Module, inputs: Inputs) -> AttentionGraph:
        scorer = target_scorer(model, tokenizer, inputs, target, against, position)
        calls: list[tuple[Role, Tensor]] = []

        def receive(call: Call) -> None:
            check_one(model, call)
            calls.append((call.role, call.weights()))

        with evaluation(model, gradients=True), _all_gradients(model):
            fields = recordable(scorer.inputs[0].fields)
            output = capture_attention(model, fields, receive, gradients=True)
            logits = read_output(model, output, fields, scorer.inputs)
            score, settings = target_logit(scorer, logits)
            slopes, scale = _slopes(model, score, [weights for _, weights in calls])
        found: list[RoleMatrix] = []
        total = negative = 0.0
        for (role, weights), slope in zip(calls, slopes, strict=True):
            part = slope[0].double() / scale  # one layer at a time, to save memory
            if times_attention:
                part = part * weights[0].detach()
            total += float(part.abs().sum())
            negative -= float(part.clamp(max=0).sum())
            found.append(RoleMatrix(role, part.clamp(min=0).mean(dim=0).cpu().numpy()))
        return graph_of_roles(
            model, inputs, found, weight=1.0, identity=float(identity),
            edges="gradient", times_attention=times_attention,
            residual="identity" if identity else 0.0,
            clipped=negative / total if total else 0.0, **settings,
        )  # fmt: skip

    return one_or_all(
        compute, model, tokenizer, text, truncate=truncate, name="gradient", estimate=_memory
    )


def _memory(sizes: Sizes) -> float:
    """Return bytes at the peak: what autograd keeps of every layer, and the derivatives."""
    kept = 3.5 * sizes.all_weights + 16 * len(sizes.calls) * sizes.states
    return kept + 2 * sizes.graph


@contextlib.contextmanager
def _all_gradients(model: nn.Module) -> Generator[None]:
    """Let autograd record a pass of a model whose parameters are frozen; restores them."""
    frozen = [p for p in model.parameters() if p.is_floating_point() and not p.requires_grad]
    try:
        for parameter in frozen:
            parameter.requires_grad = True
        yield
    finally:
        for parameter in frozen:
            parameter.requires_grad = False


def _slopes(model: nn.Module, score: Tensor, weights: list[Tensor]) -> tuple[list[Tensor], float]:
    """Return the derivatives of the score by the attention of each layer, times a factor, and it.

    The factor is 1 but for float16, in which small derivatives would be zero.
    """
    import torch

    if not score.requires_grad or not all(own.requires_grad for own in weights):
        raise _no_gradient(model, "some layers")
    # nn.MultiheadAttention returns a view of the weights that it uses.
    used = [_viewed(own) for own in weights]
    narrow = any(own.dtype == torch.float16 for own in weights)
    for factor in _FACTORS if narrow else (1.0,):
        found: tuple[Any, ...] = torch.autograd.grad(
            score,
            [*weights, *used],
            grad_outputs=torch.full_like(score, factor),
            allow_unused=True,
            retain_graph=factor > 1,
        )
        slopes: list[Tensor] = []
        for number, own in enumerate(weights):
            known = [s for s in (found[number], found[len(weights) + number]) if s is not None]
            if not known:
                raise _no_gradient(model, f"layer {number + 1}")
            slopes.append(known[0].view(own.shape))
        if factor == 1 or all(slope.isfinite().all() for slope in slopes):
            return slopes, factor
    raise AssertionError  # the last factor is 1


def _viewed(tensor: Any) -> Tensor:
    """Return the tensor that this one shows in another shape, itself if there is none."""
    base = tensor._base if tensor._is_view() else None  # noqa: SLF001 (have no public name)
    if base is None or base.numel() != tensor.numel():
        return tensor
    return base if base.is_contiguous() and tensor.is_contiguous() else tensor


def _no_gradient(model: nn.Module, where: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"the score of {type(model).__name__} has no gradient by the attention of {where}: the "
        "model detaches it, is quantised, or computes its output from other weights. Use "
        "attnflow.edges.attention or effective"
    )
