"""A model whose embedding layer is applied twice, as the paper's code for Table 3 does it."""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

from attnflow.errors import UnsupportedModelError

if TYPE_CHECKING:
    from torch import nn


def embedded_twice(model: nn.Module) -> nn.Module:
    """Return a copy of a model that passes the output of its embedding layer in as `inputs_embeds`.

    That output takes the place of the embeddings of words, by which gradients are taken.
    """
    from torch import nn

    layer = getattr(getattr(model, "base_model", None), "embeddings", None)
    if not isinstance(layer, nn.Module) or not {"input_ids", "inputs_embeds"} <= _names(layer):
        raise UnsupportedModelError(
            f"{type(model).__name__} has no embedding layer that takes inputs_embeds, as BERT, "
            "RoBERTa and DistilBERT have, so that the settings of the paper's code have no meaning"
        )

    class EmbeddedTwice(nn.Module):
        def __init__(self, embeddings: nn.Module) -> None:
            super().__init__()
            # The name under which models look for the embeddings of ids.
            self.word_embeddings = embeddings

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(self.word_embeddings.forward).bind(*args, **kwargs)
            given = {**bound.arguments, "inputs_embeds": None}
            once = self.word_embeddings(given.pop("input_ids"), **given)
            return self.word_embeddings(None, **{**given, "inputs_embeds": once})

    changed: Any = copy.deepcopy(model)
    changed.base_model.embeddings = EmbeddedTwice(changed.base_model.embeddings)
    return changed


def _names(layer: nn.Module) -> set[str]:
    return set(inspect.signature(layer.forward).parameters)
