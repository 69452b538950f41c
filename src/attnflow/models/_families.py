"""Properties of model families, as data. Most families need no entry."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Properties that are neither in the config nor visible in a forward pass."""

    prefix: tuple[str, ...] = ()  # names of the special positions before the patches of an image
    registers: str = ""  # config field with the number of register tokens that follow them
    # Whether position ids start at pad_token_id + 1, as in RoBERTa, so that the first position
    # embeddings are unused.
    counts_after_padding: bool = False
    any_length: bool = False  # unlimited, although the config has max_position_embeddings
    frame_seconds: float = 0.0  # time per position of the encoder, for models of audio


_COUNTS_AFTER_PADDING = Family(counts_after_padding=True)
_CLASS_TOKEN = Family(prefix=("[CLS]",))
_RELATIVE = Family(any_length=True)

# By `config.model_type`. Source: transformers 5.22.
FAMILIES = {
    "altclip_text_model": _COUNTS_AFTER_PADDING,
    "bridgetower_text_model": _COUNTS_AFTER_PADDING,
    "camembert": _COUNTS_AFTER_PADDING,
    "clap_text_model": _COUNTS_AFTER_PADDING,
    "data2vec-text": _COUNTS_AFTER_PADDING,
    "esm": _COUNTS_AFTER_PADDING,
    "ibert": _COUNTS_AFTER_PADDING,
    "layoutlmv3": _COUNTS_AFTER_PADDING,
    "lilt": _COUNTS_AFTER_PADDING,
    "longformer": _COUNTS_AFTER_PADDING,
    "luke": _COUNTS_AFTER_PADDING,
    "markuplm": _COUNTS_AFTER_PADDING,
    "mpnet": _COUNTS_AFTER_PADDING,
    "roberta": _COUNTS_AFTER_PADDING,
    "roberta-prelayernorm": _COUNTS_AFTER_PADDING,
    "xlm-roberta": _COUNTS_AFTER_PADDING,
    "xlm-roberta-xl": _COUNTS_AFTER_PADDING,
    "xmod": _COUNTS_AFTER_PADDING,
    "mt5": _RELATIVE,
    "t5": _RELATIVE,
    "whisper": Family(frame_seconds=0.02),  # two steps of 10 ms, Radford et al. (2022)
    "clip_vision_model": _CLASS_TOKEN,
    "deit": Family(prefix=("[CLS]", "[DIST]")),
    "dinov2": _CLASS_TOKEN,
    "dinov2_with_registers": Family(prefix=("[CLS]",), registers="num_register_tokens"),
    "dinov3_vit": Family(prefix=("[CLS]",), registers="num_register_tokens"),
    "vit": _CLASS_TOKEN,
    "vit_mae": _CLASS_TOKEN,
}

# Decoders whose attention has no attribute is_causal, as `config.model_type` names them.
DECODERS = frozenset({"bloom", "codegen", "gpt_neox_japanese", "mpt", "openai-gpt", "xglm"})

# Names of cross-attention modules in transformers 5.22 and PyTorch.
CROSS_NAMES = frozenset(
    {
        "EncDecAttention",  # T5 and derived models
        "cross_attention",  # NLLB-MoE, SeamlessM4T, Dia
        "cross_attn",  # ProphetNet, T5Gemma
        "crossattention",  # BERT and derived models, GPT-2
        "encoder_attn",  # BART and derived models
        "encoder_decoder_attention",  # Pix2Struct
        "multihead_attn",  # nn.TransformerDecoderLayer
        "x_attn",  # Kosmos-2
    }
)
# Names of the dropout of attention weights in timm and code derived from it, Bloom and GPT-J.
DROPOUT_NAMES = frozenset({"attn_drop", "attn_dropout", "attention_dropout"})
