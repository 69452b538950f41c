"""Small language models that know the words of Figure 4 of the paper, and few others."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from attnflow.models import Loaded

WORDS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "author", "talk", "##ed", "to",
    "sar", "##a", "about", "book", "his", "her", "mary", "convinced", "john", "of", "love",
    "saw", "at", "house",
]  # fmt: skip


@pytest.fixture(scope="session")
def small_bert() -> "Loaded":
    """A masked language model of three layers."""
    return _bert(initializer_range=0.02)


@pytest.fixture(scope="session")
def small_gpt() -> "Loaded":
    """A decoder of three layers."""
    return _gpt(initializer_range=0.02)


@pytest.fixture(scope="session")
def varied_bert() -> "Loaded":
    """A masked language model with large weights, so that its pronouns depend on other words."""
    return _bert(initializer_range=0.5)


@pytest.fixture(scope="session")
def varied_gpt() -> "Loaded":
    """A decoder with large weights, so that its pronouns depend on other words."""
    return _gpt(initializer_range=0.5)


def _bert(initializer_range: float) -> "Loaded":
    import torch
    import transformers as hf

    from attnflow.models import Loaded

    _ = torch.manual_seed(0)
    small: dict[str, Any] = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    small["initializer_range"] = initializer_range
    config = hf.BertConfig(vocab_size=len(WORDS), num_hidden_layers=3, **small)
    return Loaded(hf.BertForMaskedLM(config).eval(), word_piece(WORDS, masks=True))


def _gpt(initializer_range: float) -> "Loaded":
    import torch
    import transformers as hf

    from attnflow.models import Loaded

    _ = torch.manual_seed(0)
    small: dict[str, Any] = {"n_layer": 3, "n_head": 2, "n_embd": 16, "n_positions": 32}
    small["initializer_range"] = initializer_range
    ids: dict[str, Any] = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
    config = hf.GPT2Config(vocab_size=len(WORDS), **small, **ids)
    return Loaded(hf.GPT2LMHeadModel(config).eval(), word_piece(WORDS, masks=False))


def word_piece(words: list[str], *, masks: bool) -> Any:
    """WordPiece; of a model that masks words, with [CLS] and [SEP] around a text.

    The first five words are those of `WORDS`.
    """
    import tokenizers
    import transformers as hf
    from tokenizers import models as pieces
    from tokenizers import normalizers, pre_tokenizers, processors

    ids = {word: number for number, word in enumerate(words)}
    inner: Any = tokenizers.Tokenizer(pieces.WordPiece(ids, unk_token="[UNK]"))  # noqa: S106 (none)
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    named = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
    if masks:
        inner.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        named |= {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return hf.PreTrainedTokenizerFast(tokenizer_object=inner, **named)
