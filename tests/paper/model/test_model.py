from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import torch
from transformers import GPT2PreTrainedModel
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

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


class _OfTransformers(GPT2PreTrainedModel):
    """The same model with the blocks of transformers."""

    def __init__(self, config: VerbNumberConfig) -> None:
        super().__init__(config)
        self.words = torch.nn.Embedding(config.vocab_size, config.n_embd, padding_idx=0)
        self.positions = torch.nn.Embedding(config.n_positions, config.n_embd)
        self.drop = torch.nn.Dropout(config.embd_pdrop)
        self.blocks = torch.nn.ModuleList(GPT2Block(config, i) for i in range(config.n_layer))
        self.norm = torch.nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.classifier = torch.nn.Linear(config.n_embd, 2)
        for block in self.blocks:
            cast("Any", block).attn.is_causal = False
        self.post_init()

    def forward(self, ids: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        hidden = self.words(ids) + self.positions(torch.arange(ids.shape[1]))
        mask = torch.zeros(len(ids), 1, ids.shape[1], ids.shape[1]).masked_fill_(
            keys[:, None, None] == 0, -1e30
        )
        for block in self.blocks:
            output = block(hidden, attention_mask=mask)
            hidden = output[0] if isinstance(output, tuple) else output  # as in older transformers
        return self.classifier(self.norm(hidden)[:, 0])


def test_blocks_and_first_weights_are_those_of_transformers() -> None:
    config = VerbNumberConfig(vocab_size=9)
    _ = torch.manual_seed(3)
    theirs = _OfTransformers(config).eval()
    _ = torch.manual_seed(3)
    ours = VerbNumberModel(config).eval()
    weights = theirs.state_dict()
    assert list(ours.state_dict()) == list(weights)
    for name, tensor in ours.state_dict().items():
        torch.testing.assert_close(tensor, weights[name])
    with torch.no_grad():
        for parameter in ours.parameters():  # also those that begin as zero and one
            _ = parameter.normal_(std=0.3)
        _ = theirs.load_state_dict(ours.state_dict())
        logits = ours(IDS, attention_mask=MASK).logits
        torch.testing.assert_close(logits, theirs(IDS, MASK), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("wrong", [{"activation_function": "relu"}, {"n_head": 7}])
def test_a_configuration_of_other_blocks_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        _ = VerbNumberModel(VerbNumberConfig(vocab_size=9, **wrong))


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
