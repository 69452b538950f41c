"""Small models of every family whose blocks are known, with an answer; no parameter is 0 or 1."""

import functools
from collections.abc import Callable
from typing import Any

import small_models
import torch
import transformers
from small_models import VOCABULARY

from attnflow import edges
from attnflow.paper.model._model import VerbNumberConfig, VerbNumberModel

hf: Any = transformers  # its configurations say little about what they take
# Without the types of one text or several, which tests choose by parameters.
METHODS: dict[str, Any] = {
    name: getattr(edges, name) for name in (*edges.EDGES, "logit_contributions")
}
attention, effective, gradient = (METHODS[n] for n in ("attention", "effective", "gradient"))
norms, alti, value_zeroing = (METHODS[name] for name in ("norms", "alti", "value_zeroing"))
logit_contributions = METHODS["logit_contributions"]

_SMALL: dict[str, Any] = small_models._SMALL | {"num_labels": 3}
_PADDING_SECOND: dict[str, Any] = small_models._PADDING_SECOND | {"num_labels": 3}
_DECODER: dict[str, Any] = small_models._DECODER
_IMAGE: dict[str, Any] = small_models._IMAGE | {"num_labels": 3}


def _distilbert() -> Any:
    small = {"dim": 16, "n_layers": 3, "n_heads": 4, "hidden_dim": 24, "num_labels": 3}
    more = {"vocab_size": VOCABULARY, "max_position_embeddings": 64}
    return hf.DistilBertForSequenceClassification(hf.DistilBertConfig(**small, **more))


def _registers() -> Any:
    config = hf.Dinov2WithRegistersConfig(**_IMAGE, num_register_tokens=4)
    return hf.Dinov2WithRegistersForImageClassification(config)


def _verb_number() -> Any:
    small: dict[str, Any] = {"vocab_size": VOCABULARY, "n_embd": 16, "n_layer": 3, "n_head": 4}
    return VerbNumberModel(VerbNumberConfig(**small))


def _smollm3() -> Any:
    return hf.SmolLM3ForCausalLM(hf.SmolLM3Config(**_DECODER, no_rope_layer_interval=2))


# Blocks that normalise after attention; they see every position.
NORM_LAST: dict[str, Callable[[], Any]] = {
    "bert": lambda: hf.BertForSequenceClassification(
        hf.BertConfig(**_SMALL | {"num_labels": 2}, id2label={0: "singular", 1: "plural"})
    ),
    "roberta": lambda: hf.RobertaForSequenceClassification(hf.RobertaConfig(**_PADDING_SECOND)),
    "distilbert": _distilbert,
    "albert": lambda: hf.AlbertForSequenceClassification(
        hf.AlbertConfig(**_SMALL, embedding_size=8)
    ),
    "electra": lambda: hf.ElectraForSequenceClassification(
        hf.ElectraConfig(**_SMALL, embedding_size=8)
    ),
    "mpnet": lambda: hf.MPNetForSequenceClassification(hf.MPNetConfig(**_PADDING_SECOND)),
}
# Blocks that normalise before attention.
CAUSAL: dict[str, Callable[[], Any]] = {
    "gpt2": small_models._gpt2,
    "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**_DECODER, attention_bias=True)),
    "mistral": lambda: hf.MistralForCausalLM(hf.MistralConfig(**_DECODER, sliding_window=6)),
    "qwen2": lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(**_DECODER)),
    # All heads together are wider than the model, as in the published ones.
    "qwen3": lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(**_DECODER | {"head_dim": 6})),
    "smollm3": _smollm3,
}
IMAGES: dict[str, Callable[[], Any]] = {
    "vit": lambda: hf.ViTForImageClassification(hf.ViTConfig(**_IMAGE)),
    "dinov2": lambda: hf.Dinov2ForImageClassification(hf.Dinov2Config(**_IMAGE)),
    "dinov2-with-registers": _registers,
}
NORM_FIRST = CAUSAL | IMAGES | {"verb-number": _verb_number}
FAMILIES = NORM_LAST | NORM_FIRST
PAIRS: dict[str, Callable[[], Any]] = {
    family: small_models.PAIRS[family] for family in ("t5", "bart", "marian")
}
# Models whose logit is a sum over layers.
SUMS = [*NORM_FIRST]


def inputs_for(family: str, *, batch: int = 1, length: int = 9) -> dict[str, torch.Tensor]:
    """Ready inputs of the kind the family takes, in double precision."""
    if family in IMAGES:
        pixels = small_models.inputs_for("vit", batch=batch)["pixel_values"]
        return {"pixel_values": pixels.double()}
    return small_models.inputs_for(family, batch=batch, length=length)


def new_model(family: str) -> Any:
    """A model in double precision, with all parameters random, those of norms and biases too."""
    _ = torch.manual_seed(0)
    return randomized((FAMILIES | PAIRS)[family]())


def randomized(model: Any) -> Any:
    """The same model in double precision with random parameters, the same at every call."""
    seed = torch.Generator().manual_seed(1)
    model = model.double()
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=seed, dtype=torch.float64)
            scales = parameter.ndim == 1 and bool((parameter == 1).all())
            _ = parameter.copy_(1 + 0.3 * noise if scales else 0.4 * noise)
    return model.eval()


@functools.cache
def model_of(family: str) -> Any:
    """The same, shared by all tests that do not change it."""
    return new_model(family)


def one(method: Any, family: str, **settings: Any) -> Any:
    """The result of a method for the inputs of a family."""
    [found] = method(model_of(family), None, inputs_for(family), **settings)
    return found
