"""`attend_recorded`: attention from a forward pass of which the gradient can be taken too.

This is for the other packages of attnflow, not for users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attnflow.importance._embeddings import Leaf, changed_embeddings
from attnflow.models import attend_inputs
from attnflow.models.inputs import Inputs
from attnflow.models.scoring import evaluation, split_batch

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True)
class RecordedPass:
    """A forward pass over one text that autograd has recorded."""

    attention: Any  # as `attend` returns it
    output: Any  # of the model
    fields: Mapping[str, Any]  # the arguments of the pass
    leaf: Leaf  # the embeddings of the pass


def attend_recorded(model: nn.Module, inputs: Inputs) -> RecordedPass:
    """Return the attention of a model for one prepared text, with the pass that it is from.

    Takes the memory of training, and computes attention without fused kernels. The model must be
    one that needs a single pass to capture attention, as every plain module does.
    """
    [(fields, main, _)] = split_batch(inputs)
    leaf = Leaf()
    with (
        evaluation(model, gradients=True),
        changed_embeddings(model, fields, main, leaf) as changed,
    ):
        found, output = attend_inputs(model, replace(inputs, forward=changed), gradients=True)
    return RecordedPass(found, output, changed, leaf)
