"""Small models with an answer, built without any download, and a tokenizer for all of them."""

import functools
from collections.abc import Callable
from typing import Any

import tokenizers
import torch
import transformers
from tokenizers import models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn

from attnflow import importance

hf: Any = transformers  # its configurations say little about what they take
# Without the types of one text or several, which tests choose by parameters.
blank_out: Any = importance.blank_out
input_gradient: Any = importance.input_gradient
integrated_gradients: Any = importance.integrated_gradients
leave_span_out: Any = importance.leave_span_out
predict: Any = importance.predict
predict_among: Any = importance.predict_among
METHODS: dict[str, Any] = {
    "blank_out": blank_out,
    # The same for all families; which one the default takes is tested apart.
    "input_gradient": functools.partial(input_gradient, reduce="norm"),
    "integrated_gradients": integrated_gradients,
    "leave_span_out": leave_span_out,
}

_SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_PIECES = ["the", "key", "##s", "to", "cabinet", "is", "are", "old", "man", ".", "##x", "a", "on"]
VOCABULARY = len(_SPECIAL) + len(_PIECES)
TEXT = "the keys to the old cabinet"
TEXTS = [TEXT, "the man is old.", "a key", "keys are on the man"]


@functools.cache
def tokenizer() -> Any:
    """WordPiece as BERT's, with [CLS] and [SEP] around a text."""
    ids = {name: number for number, name in enumerate([*_SPECIAL.values(), *_PIECES])}
    inner: Any = tokenizers.Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))  # noqa: S106 (no password)
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = {f"{name}_token": token for name, token in _SPECIAL.items()}
    return hf.PreTrainedTokenizerFast(tokenizer_object=inner, **named)


_SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 32,
    "pad_token_id": 0,
}
_GPT2: dict[str, Any] = {
    "vocab_size": VOCABULARY, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32,
    "bos_token_id": 2, "eos_token_id": 3,
}  # fmt: skip
_PAIR: dict[str, Any] = {
    "vocab_size": VOCABULARY, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24, "max_position_embeddings": 32, "pad_token_id": 0, "bos_token_id": 2,
    "eos_token_id": 3, "decoder_start_token_id": 3, "forced_eos_token_id": None,
}  # fmt: skip


def _t5() -> Any:
    small = {"d_model": 16, "d_kv": 4, "d_ff": 24, "num_heads": 4, "num_layers": 2}
    ids = {"pad_token_id": 0, "decoder_start_token_id": 0}
    return hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=VOCABULARY, **small, **ids))


def _distilbert() -> Any:
    small = {"dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 24}
    more = {"vocab_size": VOCABULARY, "max_position_embeddings": 32, "num_labels": 4}
    return hf.DistilBertForSequenceClassification(hf.DistilBertConfig(**small, **more))


def _llama(**more: Any) -> Any:
    return hf.LlamaConfig(**_SMALL | more, num_key_value_heads=2, bos_token_id=2, eos_token_id=3)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "bert": lambda: hf.BertForSequenceClassification(
        hf.BertConfig(**_SMALL, id2label={0: "singular", 1: "plural"})
    ),
    "bert-of-three": lambda: hf.BertForSequenceClassification(
        hf.BertConfig(**_SMALL, num_labels=3)
    ),
    "distilbert": _distilbert,
    "roberta": lambda: hf.RobertaForSequenceClassification(hf.RobertaConfig(**_SMALL)),
    "albert": lambda: hf.AlbertForSequenceClassification(
        hf.AlbertConfig(**_SMALL, embedding_size=8)
    ),
    "gpt2": lambda: hf.GPT2ForSequenceClassification(hf.GPT2Config(**_GPT2, pad_token_id=0)),
    # Knows no padding, and takes one text at a time.
    "llama": lambda: hf.LlamaForSequenceClassification(_llama(pad_token_id=None)),
}
WRITERS: dict[str, Callable[[], Any]] = {
    "gpt2-lm": lambda: hf.GPT2LMHeadModel(hf.GPT2Config(**_GPT2)),
    "llama-lm": lambda: hf.LlamaForCausalLM(_llama()),
    "t5-lm": _t5,
    "bart-lm": lambda: hf.BartForConditionalGeneration(hf.BartConfig(**_PAIR)),
}
MASKED: dict[str, Callable[[], Any]] = {
    "bert-mlm": lambda: hf.BertForMaskedLM(hf.BertConfig(**_SMALL)),
}
FAMILIES = CLASSIFIERS | WRITERS | MASKED
# Decoders with other positions or without the attributes of most; for single tests.
OTHER_DECODERS: dict[str, Callable[[], Any]] = {
    # Counts positions in the attention mask.
    "opt-lm": lambda: hf.OPTForCausalLM(
        hf.OPTConfig(**_SMALL, ffn_dim=24, word_embed_proj_dim=16, bos_token_id=2, eos_token_id=3)
    ),
    # ALiBi biases count the mask.
    "falcon-alibi-lm": lambda: hf.FalconForCausalLM(
        hf.FalconConfig(**_SMALL, alibi=True, bos_token_id=2, eos_token_id=3)
    ),
    "bloom-lm": lambda: hf.BloomForCausalLM(
        hf.BloomConfig(
            vocab_size=VOCABULARY,
            hidden_size=16,
            n_layer=2,
            n_head=4,
            bos_token_id=2,
            eos_token_id=3,
            pad_token_id=0,
        )
    ),
    # Without the attribute is_causal, as BLOOM.
    "codegen-lm": lambda: hf.CodeGenForCausalLM(hf.CodeGenConfig(**_GPT2, rotary_dim=4)),
    "openai-gpt": lambda: hf.OpenAIGPTForSequenceClassification(
        hf.OpenAIGPTConfig(**_GPT2, pad_token_id=0)
    ),
}


def text_for(family: str) -> str:
    return TEXT.replace("old", "[MASK]") if family in MASKED else TEXT


def new_model(family: str) -> Any:
    """A model in double precision, so that rounding hides no mistake."""
    _ = torch.manual_seed(0)
    model = (FAMILIES | OTHER_DECODERS)[family]()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2 and "embed" not in name and family != "t5-lm":
                _ = parameter.mul_(10)  # answers far from chance
    return model.double().eval()


@functools.cache
def model_of(family: str) -> Any:
    """The same, shared by all tests that do not change it."""
    return new_model(family)


class Linear(nn.Module):
    """Logits (z0, 2 · z1), where z is the sum of embeddings, that at position i times i + 1."""

    def __init__(self) -> None:
        super().__init__()
        table = [[0.0, 0.0], [0.3, 0.0], [0.0, 0.2], [-0.1, 0.1]]
        self.table = nn.Embedding.from_pretrained(torch.tensor(table, dtype=torch.float64))

    def forward(self, ids: Tensor) -> Tensor:
        at = torch.arange(1.0, ids.shape[1] + 1, dtype=torch.float64)
        z = (self.table(ids) * at[None, :, None]).sum(dim=1)
        return z * torch.tensor([1.0, 2.0], dtype=torch.float64)
