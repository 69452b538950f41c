"""What takes the place of a token: by default and as asked for."""

from typing import Any

import numpy as np
import pytest
import torch
from answering_models import TEXT, blank_out, leave_span_out, model_of, new_model, tokenizer

import attnflow as af

DECODERS = ["gpt2", "llama", "gpt2-lm", "llama-lm", "codegen-lm", "openai-gpt"]
OTHERS = ["bert", "roberta", "bert-mlm", "t5-lm", "bart-lm"]


@pytest.mark.parametrize("family", DECODERS)
def test_a_token_of_a_decoder_is_replaced_by_no_token_unless_asked_for(family: str) -> None:
    found = blank_out(model_of(family), tokenizer(), TEXT)
    assert found.settings["replace"] == "attention_mask"
    assert found.settings["replaced_by"] == "attention mask 0"
    asked = blank_out(model_of(family), tokenizer(), TEXT, replace="pad")
    assert asked.settings["replaced_by"] == "[PAD]"


@pytest.mark.parametrize("family", OTHERS)
def test_models_that_are_no_decoders_have_the_papers_unknown_token(family: str) -> None:
    text = TEXT.replace("old", "[MASK]")
    assert blank_out(model_of(family), tokenizer(), text).settings["replaced_by"] == "[UNK]"


def test_a_decoder_with_a_blank_of_its_own_keeps_it() -> None:
    model = new_model("gpt2-lm")
    model.config.blank_token_id = 4
    assert blank_out(model, tokenizer(), TEXT).settings["replaced_by"] == "[MASK]"


@pytest.mark.parametrize("family", ["gpt2-lm", "llama", "bert"])
def test_the_mean_embedding_is_what_the_model_says_of_these_embeddings(family: str) -> None:
    model = model_of(family)
    ids = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    table = model.get_input_embeddings().weight.detach()
    found = blank_out(model, tokenizer(), TEXT, replace="mean", score="logit", signed=True)

    def logit(embeddings: torch.Tensor) -> float:
        with torch.no_grad():
            logits = model(inputs_embeds=embeddings[None]).logits
        row = logits[0, -1] if logits.ndim == 3 else logits[0]
        return row[found.settings["target"]].item()

    expected: list[float] = []
    for place in range(ids.shape[1]):
        changed = table[ids[0]].clone()
        changed[place] = table.mean(dim=0)
        expected.append(logit(table[ids[0]]) - logit(changed))
    # Classifiers of transformers search ids for the last token, which embeddings do not have.
    np.testing.assert_allclose(found.values, expected, rtol=1e-4, atol=1e-5)
    assert np.abs(expected).max() > 1e-3


@pytest.mark.parametrize("family", ["gpt2-lm", "llama-lm", "bert"])
def test_a_masked_token_is_one_that_no_position_attends_to(family: str) -> None:
    model = model_of(family)
    ids = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    settings: Any = {"replace": "attention_mask", "score": "logit", "signed": True}
    found = blank_out(model, tokenizer(), TEXT, **settings)
    masks = torch.cat([torch.ones_like(ids), 1 - torch.eye(ids.shape[1], dtype=torch.long)])
    with torch.no_grad():
        logits = model(ids.repeat(len(masks), 1), attention_mask=masks).logits
    rows = logits[:, -1] if logits.ndim == 3 else logits
    values = rows[:, found.settings["target"]]
    np.testing.assert_allclose(found.values, values[0] - values[1:], rtol=1e-4, atol=1e-5)
    assert np.abs(found.values).max() > 1e-3
    # Padding stays masked.
    padded = tokenizer()([TEXT, f"{TEXT} {TEXT}"], padding=True, return_tensors="pt")
    [first, _] = blank_out(model, tokenizer(), padded, target=found.settings["target"], **settings)
    np.testing.assert_allclose(first.values, found.values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", ["opt-lm", "gpt2-lm"])
def test_tokens_after_a_masked_one_keep_their_positions(family: str) -> None:
    model = model_of(family)
    ids = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    found = blank_out(model, tokenizer(), TEXT, score="logit", signed=True)
    assert found.settings["replace"] == "attention_mask"
    masks = torch.cat([torch.ones_like(ids), 1 - torch.eye(ids.shape[1], dtype=torch.long)])
    places = torch.arange(ids.shape[1]).repeat(len(masks), 1)
    with torch.no_grad():
        logits = model(ids.repeat(len(masks), 1), attention_mask=masks, position_ids=places).logits
    values = logits[:, -1, found.settings["target"]]
    np.testing.assert_allclose(found.values, values[0] - values[1:], rtol=1e-4, atol=1e-5)
    assert np.abs(found.values).max() > 1e-3


def test_positions_that_depend_on_ids_stay_as_they_are() -> None:
    model = model_of("roberta")
    ids = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    settings: Any = {"replace": "attention_mask", "score": "logit", "signed": True}
    found = blank_out(model, tokenizer(), TEXT, **settings)
    masks = torch.cat([torch.ones_like(ids), 1 - torch.eye(ids.shape[1], dtype=torch.long)])
    with torch.no_grad():
        logits = model(ids.repeat(len(masks), 1), attention_mask=masks).logits
    values = logits[:, found.settings["target"]]
    np.testing.assert_allclose(found.values, values[0] - values[1:], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", ["falcon-alibi-lm", "bloom-lm"])
def test_a_decoder_whose_biases_count_the_mask_has_the_mean_embedding(family: str) -> None:
    found = blank_out(model_of(family), tokenizer(), TEXT)
    assert found.settings["replaced_by"] == "the mean embedding"


def test_a_model_that_takes_no_mask_has_the_mean_embedding() -> None:
    class Causal(torch.nn.Module):
        is_causal = True

        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(5, 2)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.table(ids).sum(dim=1)

    ids = torch.tensor([[1, 2]])
    [found] = blank_out(Causal(), None, ids)
    assert found.settings["replaced_by"] == "the mean embedding"
    with pytest.raises(af.InputError, match="needs a model that takes an attention_mask"):
        _ = blank_out(Causal(), None, ids, replace="attention_mask")


def test_all_tokens_of_a_span_are_replaced() -> None:
    model, text = model_of("gpt2-lm"), "the keys"
    spans = leave_span_out(model, tokenizer(), text, [(0, 3), (0, 8)])
    assert spans.settings["replaced_by"] == "attention mask 0"
    one = blank_out(model, tokenizer(), text)
    assert spans.values[0] == pytest.approx(one.values[1], abs=1e-9)
    assert spans.values[1] != pytest.approx(one.values[1], abs=1e-6)


class Scaled(torch.nn.Embedding):
    """A table that scales its rows, as that of Gemma does."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 (as torch names it)
        return 3 * super().forward(input)


def test_the_mean_is_of_the_embeddings_that_the_table_gives() -> None:
    class Sums(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = Scaled(4, 1)
            with torch.no_grad():
                _ = self.table.weight.copy_(torch.tensor([[1.0], [2.0], [3.0], [6.0]]))

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.table(ids).sum(dim=1)

    ids, settings = torch.tensor([[0, 3]]), {"score": "logit", "signed": True}
    [found] = blank_out(Sums(), None, ids, replace="mean", **settings)
    assert found.values.tolist() == pytest.approx([3 * (1 - 3), 3 * (6 - 3)])


def test_a_model_without_a_table_has_no_mean() -> None:
    class Counts(torch.nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.one_hot(ids, 4).float().sum(dim=1)

    ids: Any = torch.tensor([[1, 2]])
    with pytest.raises(af.UnsupportedModelError, match=r"no nn\.Embedding that looks up"):
        _ = blank_out(Counts(), None, ids, replace="mean")
