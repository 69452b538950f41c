"""What a model of transformers itself says its attention is: the oracle for captured attention."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def own_attentions(model: Any, inputs: Mapping[str, Any]) -> dict[str, NDArray[np.float32]]:
    """Weights (layer, head, query, key) of a batch of one, by eager attention.

    The key is "self", or "encoder", "decoder" and "cross" for an encoder-decoder. A copy of the
    model is run, so that the model itself is not touched.
    """
    import torch

    eager = copy.deepcopy(model)
    eager.set_attn_implementation("eager")
    with torch.no_grad():
        found = eager(**inputs, output_attentions=True)
    if not getattr(model.config, "is_encoder_decoder", False):
        return {"self": _stacked(found.attentions)}
    return {
        "encoder": _stacked(found.encoder_attentions),
        "decoder": _stacked(found.decoder_attentions),
        "cross": _stacked(found.cross_attentions),
    }


def _stacked(layers: Iterable[Any]) -> NDArray[np.float32]:
    each = [weights.numpy() for weights in layers]
    assert len(each) > 0
    assert all(len(weights) == 1 for weights in each), "expected a batch of one"
    return np.concatenate(each)
