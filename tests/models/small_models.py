"""Small models with random weights, one for each family, built without any download."""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
import transformers
from numpy.typing import NDArray

import attnflow as af
from attnflow import models

hf: Any = transformers  # its configurations say little about what they take
# One result for one text, a list for a list of texts and for tensors. A test knows which.
attend: Any = models.attend
rollout_segments: Any = models.rollout_segments

VOCABULARY = 400
_SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
# As RoBERTa and its kin have it, where positions are counted from the one after it.
_PADDING_SECOND: dict[str, Any] = _SMALL | {"pad_token_id": 1}
_DECODER: dict[str, Any] = _SMALL | {
    "num_key_value_heads": 2,
    "head_dim": 4,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_PAIR: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "d_model": 16,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
}
_IMAGE: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "image_size": 32,
    "patch_size": 8,
}


def _distilbert() -> Any:
    small = {"dim": 16, "n_layers": 3, "n_heads": 4, "hidden_dim": 24}
    more = {"vocab_size": VOCABULARY, "max_position_embeddings": 64}
    return hf.DistilBertModel(hf.DistilBertConfig(**small, **more))


def _deberta(model: str, config: str) -> Any:
    more = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
    with warnings.catch_warnings():
        # The files of both in transformers 5.22 call torch.jit.script, which torch 2.13 deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        return getattr(hf, model)(getattr(hf, config)(**_SMALL, **more))


def _gpt2() -> Any:
    small = {"n_embd": 16, "n_layer": 3, "n_head": 4, "n_positions": 64}
    ids = {"bos_token_id": 1, "eos_token_id": 2}
    return hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=VOCABULARY, **small, **ids))


def _gemma2() -> Any:  # sliding windows in every other layer, and soft caps
    more = {"sliding_window": 4, "attn_logit_softcapping": 5.0, "query_pre_attn_scalar": 4}
    return hf.Gemma2ForCausalLM(hf.Gemma2Config(**_DECODER, **more))


def _gemma3() -> Any:
    more = {"sliding_window": 4, "query_pre_attn_scalar": 4}
    return hf.Gemma3ForCausalLM(hf.Gemma3TextConfig(**_DECODER, **more))


def _clip_text() -> Any:
    ids = {"bos_token_id": 1, "eos_token_id": 2}
    return hf.CLIPTextModel(hf.CLIPTextConfig(**_SMALL, **ids))


def _t5() -> Any:
    small = {"d_model": 16, "d_kv": 4, "d_ff": 24, "num_heads": 4}
    layers = {"num_layers": 3, "num_decoder_layers": 2}
    ids = {"pad_token_id": 0, "decoder_start_token_id": 0}
    return hf.T5ForConditionalGeneration(
        hf.T5Config(vocab_size=VOCABULARY, **small, **layers, **ids)
    )


def _whisper() -> Any:
    small = {"num_mel_bins": 8, "max_source_positions": 30, "max_target_positions": 20}
    return hf.WhisperForConditionalGeneration(hf.WhisperConfig(**_PAIR, **small))


def _registers() -> Any:
    config = hf.Dinov2WithRegistersConfig(**_IMAGE, num_register_tokens=4)
    return hf.Dinov2WithRegistersModel(config)


TEXT: dict[str, Callable[[], Any]] = {
    "bert": lambda: hf.BertModel(hf.BertConfig(**_SMALL)),
    "distilbert": _distilbert,
    "roberta": lambda: hf.RobertaModel(hf.RobertaConfig(**_PADDING_SECOND)),
    "albert": lambda: hf.AlbertModel(hf.AlbertConfig(**_SMALL, embedding_size=8)),
    "electra": lambda: hf.ElectraModel(hf.ElectraConfig(**_SMALL, embedding_size=8)),
    "mpnet": lambda: hf.MPNetModel(hf.MPNetConfig(**_PADDING_SECOND)),
    "deberta": lambda: _deberta("DebertaModel", "DebertaConfig"),
    "deberta-v2": lambda: _deberta("DebertaV2Model", "DebertaV2Config"),
    "clip-text": _clip_text,
}
DECODERS: dict[str, Callable[[], Any]] = {
    "gpt2": _gpt2,
    "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**_DECODER)),
    "qwen2": lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(**_DECODER)),
    "qwen3": lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(**_DECODER)),
    "mistral": lambda: hf.MistralForCausalLM(hf.MistralConfig(**_DECODER, sliding_window=4)),
    "gemma": lambda: hf.GemmaForCausalLM(hf.GemmaConfig(**_DECODER)),
    "gemma2": _gemma2,
    "gemma3": _gemma3,
}
PAIRS: dict[str, Callable[[], Any]] = {
    "t5": _t5,
    "bart": lambda: hf.BartForConditionalGeneration(hf.BartConfig(**_PAIR)),
    "marian": lambda: hf.MarianMTModel(hf.MarianConfig(**_PAIR)),
    "whisper": _whisper,
}
IMAGES: dict[str, Callable[[], Any]] = {
    "vit": lambda: hf.ViTModel(hf.ViTConfig(**_IMAGE)),
    "deit": lambda: hf.DeiTModel(hf.DeiTConfig(**_IMAGE)),
    "dinov2": lambda: hf.Dinov2Model(hf.Dinov2Config(**_IMAGE)),
    "dinov2-with-registers": _registers,
    "clip-vision": lambda: hf.CLIPVisionModel(hf.CLIPVisionConfig(**_IMAGE)),
}
FAMILIES = TEXT | DECODERS | PAIRS | IMAGES
# What reads a text with a tokenizer: all but images and sound.
READERS = [*TEXT, *DECODERS, "t5", "bart", "marian"]


def inputs_for(family: str, *, batch: int = 1, length: int = 9) -> dict[str, torch.Tensor]:
    """Ready inputs of the kind the family takes, the same at every call."""
    seed = torch.Generator().manual_seed(7)
    if family in IMAGES:
        return {"pixel_values": torch.randn(batch, 3, 32, 32, generator=seed)}
    written = torch.randint(3, VOCABULARY, (batch, 5), generator=seed)
    if family == "whisper":
        sound = torch.randn(batch, 8, 60, generator=seed)
        return {"input_features": sound, "decoder_input_ids": written}
    fields = {"input_ids": torch.randint(3, VOCABULARY, (batch, length), generator=seed)}
    return fields | ({"decoder_input_ids": written} if family in PAIRS else {})


def new_model(
    family: str, implementation: str | None = None, *, positions: int | None = None
) -> Any:
    """A model of the family with weights that do not depend on what ran before.

    It takes as many `positions` as asked for, else 64, or any number if there is no limit.
    """
    _ = torch.manual_seed(0)
    model = FAMILIES[family]()
    if positions is not None:
        model.config.max_position_embeddings = positions
        model = type(model)(model.config)
    # Weights large enough that attention is far from uniform, so that a wrong mask would show. T5
    # does not divide by the width, so its attention is sharp as it is.
    factor = 2 if family == "t5" else 10
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2 and "embed" not in name:
                _ = parameter.mul_(factor)
    if implementation is not None:
        model.set_attn_implementation(implementation)
    return model.eval()


@functools.cache
def small_model(family: str, implementation: str | None = None) -> Any:
    """The same, shared by all tests that do not change it: attnflow leaves it as it was."""
    return new_model(family, implementation)


def own_attention(model: Any, inputs: dict[str, torch.Tensor]) -> Any:
    """What the model itself returns for `output_attentions`; for eager models only."""
    with torch.no_grad():
        return model(**inputs, output_attentions=True)


def attend_one(*given: Any, **settings: Any) -> Any:
    """The attention for tensors with a batch of one."""
    [found] = attend(*given, **settings)
    return found


def rollout_one(*given: Any, **settings: Any) -> Any:
    """Rollout in the pass for tensors with a batch of one."""
    [found] = rollout_segments(*given, **settings)
    return found


def parts(attention: Any) -> list[NDArray[Any]]:
    """The weights of an Attention, or the three of an EncoderDecoderAttention."""
    if isinstance(attention, af.EncoderDecoderAttention):
        return [attention.encoder, attention.decoder, attention.cross]
    return [attention.weights]
