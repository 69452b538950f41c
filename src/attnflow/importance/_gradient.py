"""The gradient of a score by embeddings, without a trace in the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnflow.errors import UnsupportedModelError

if TYPE_CHECKING:
    from torch import Tensor, nn


class Leaf:
    """Embeddings that a gradient is wanted of; put into a pass as the change of its embeddings.

    Without `points` they are those that the model looks up.
    """

    def __init__(self, points: Tensor | None = None) -> None:
        self._points = points
        self._leaf: Tensor | None = None

    def __call__(self, embeddings: Tensor) -> Tensor:
        points = embeddings if self._points is None else self._points
        self._leaf = points.detach().clone().requires_grad_()
        return self._leaf

    @property
    def embeddings(self) -> Tensor:
        """The embeddings of the pass, which must have been run."""
        assert self._leaf is not None  # noqa: S101 (a pass that looked none up is an error before)
        return self._leaf


def gradient(model: nn.Module, scores: Tensor, leaf: Leaf) -> Tensor:
    """The derivatives (row, position, width) of each row's score by the row's embeddings.

    Nothing is added to the `.grad` of weights: only the way to the embeddings is gone back.
    """
    import torch

    found = None
    if scores.requires_grad:
        (found,) = torch.autograd.grad(scores.sum(), leaf.embeddings, allow_unused=True)
    if found is None:
        raise UnsupportedModelError(
            f"the answer of {type(model).__name__} has no gradient with respect to its embeddings; "
            "a model that detaches them or runs without gradients can be asked by blank_out"
        )
    return found.detach()
