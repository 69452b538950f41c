from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from attnflow import flow, rollout
from attnflow.models import attend, rollout_segments
from attnflow.paper import Splits
from attnflow.paper.data import NOUNS
from attnflow.paper.model import VerbNumberConfig, VerbNumberModel, Vocabulary, tokenizer

IDS = torch.tensor([[2, 4, 5, 6, 3], [2, 4, 3, 0, 0]])
MASK = (IDS != 0).long()


def _vocabulary(splits: Splits) -> Vocabulary:
    return Vocabulary.from_texts([*(prefix.words for prefix in splits.train), *NOUNS])


@pytest.fixture(scope="module")
def model() -> VerbNumberModel:
    _ = torch.manual_seed(0)
    return VerbNumberModel(VerbNumberConfig(vocab_size=9)).eval()


def test_the_sizes_are_the_papers(model: VerbNumberModel) -> None:
    config = model.config
    assert (config.n_layer, config.n_head, config.n_embd) == (6, 8, 128)
    assert config.id2label == {0: "singular", 1: "plural"}


def test_every_token_attends_to_every_token_but_padding(model: VerbNumberModel) -> None:
    found: Any = attend(model, None, {"input_ids": IDS, "attention_mask": MASK})
    assert [a.weights.shape for a in found] == [(6, 8, 5, 5), (6, 8, 3, 3)]
    assert all((a.weights > 0).all() and not a.causal for a in found)


def test_padding_changes_nothing(model: VerbNumberModel) -> None:
    padded = model(IDS, attention_mask=MASK).logits[1]
    alone = model(IDS[1:, :3]).logits[0]
    assert torch.allclose(padded, alone, atol=1e-6)


def test_the_answer_depends_on_every_token(model: VerbNumberModel) -> None:
    embedded = model.get_input_embeddings()(IDS[:1]).detach().requires_grad_()
    model(inputs_embeds=embedded).logits[0, 1].backward()
    assert embedded.grad is not None
    assert (embedded.grad.abs().sum(-1) > 0).all()


def test_embeddings_may_take_the_place_of_ids(model: VerbNumberModel) -> None:
    embedded = model.get_input_embeddings()(IDS)
    by_embeddings = model(inputs_embeds=embedded, attention_mask=MASK).logits
    torch.testing.assert_close(by_embeddings, model(IDS, attention_mask=MASK).logits)
    with pytest.raises(ValueError, match="not both"):
        _ = model(IDS, inputs_embeds=embedded)


def test_texts_go_through_it_like_through_any_model(
    small_splits: Callable[[int], Splits],
) -> None:
    vocabulary = _vocabulary(small_splits(50)).with_unknown()
    _ = torch.manual_seed(0)
    model = VerbNumberModel(VerbNumberConfig(vocab_size=len(vocabulary))).eval()
    texts = ["The key to the cabinets", "The Florp"]
    tokenize = tokenizer(vocabulary, max_length=64)
    both: Any = attend(model, tokenize, texts)
    assert both[0].tokens == ("[CLS]", "the", "key", "to", "the", "cabinets", "<?>")
    assert both[1].tokens == ("[CLS]", "the", "[UNK]", "<?>")
    assert both[1].origin is not None
    assert both[1].origin.spans == (None, (0, 3), (4, 9), None)
    for text, attention in zip(texts, both, strict=True):
        alone: Any = attend(model, tokenize, text)
        # float32 of another batch
        np.testing.assert_allclose(attention.weights, alone.weights, atol=1e-6)
        scores = rollout(attention).scores
        during: Any = rollout_segments(model, tokenize, text)
        np.testing.assert_allclose(during.scores, scores, atol=1e-5)
        assert flow(attention).scores.shape == scores.shape


def test_a_text_that_is_too_long_is_refused_and_may_be_cut(
    small_splits: Callable[[int], Splits],
) -> None:
    vocabulary = _vocabulary(small_splits(50))
    model = VerbNumberModel(VerbNumberConfig(vocab_size=len(vocabulary))).eval()
    tokenize = tokenizer(vocabulary, max_length=64)
    with pytest.raises(ValueError, match=r"at most 64 tokens, .* got 72"):
        _ = attend(model, tokenize, "key " * 70)
    assert attend(model, tokenize, "key " * 70, truncate=True).tokens[-1] == "<?>"
