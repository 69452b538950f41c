"""Table 3 against a literal computation: each setting of the paper's code alone, and all."""

import copy
from dataclasses import fields
from typing import Any, cast

import numpy as np
import pytest
import torch
import transformers
from scipy.stats import spearmanr

from attnflow import InputError, UnsupportedModelError
from attnflow.errors import NoPredictionError
from attnflow.importance import input_gradient
from attnflow.models import Loaded, attend
from attnflow.paper import (
    TABLE_3_AS_PUBLISHED,
    Table3Settings,
    table_3,
    table_3_ablation,
)
from attnflow.paper.results import _table_3
from attnflow.paper.results._embedded_twice import embedded_twice
from close_results import assert_close
from flow_peers import igraph_in_floats
from sentiment_models import reviews

TEXTS = [text for text, _ in reviews(3, 7)]
NAMES = [field.name for field in fields(Table3Settings)]
ALONE = {name: Table3Settings(**{name: True}) for name in NAMES}
SETTINGS = {"default": Table3Settings(), **ALONE, "as published": TABLE_3_AS_PUBLISHED}
hf: Any = transformers


@pytest.fixture(scope="module", params=["small_sentiment", "small_distilbert"])
def without_norm(request: pytest.FixtureRequest) -> Loaded:
    """A classifier without LayerNorm in its embeddings: the sum of a gradient is not zero."""
    loaded: Loaded = request.getfixturevalue(request.param)
    model: Any = copy.deepcopy(loaded.model)
    model.base_model.embeddings.LayerNorm = torch.nn.Identity()
    return Loaded(model, loaded.tokenizer)


def _literal(loaded: Loaded, text: str, settings: Table3Settings) -> Any:
    """(method, layer): what the settings say, with the model's own passes and plain loops."""
    model: Any = copy.deepcopy(loaded.model)
    model.set_attn_implementation("eager")
    ids = loaded.tokenizer(text, return_tensors="pt")["input_ids"]
    layer = model.base_model.embeddings
    embeddings = (layer if settings.embedded_twice else layer.word_embeddings)(ids)
    embeddings = embeddings.detach().requires_grad_()
    output = model(inputs_embeds=embeddings, output_attentions=True)
    predicted = int(output.logits.argmax())
    probabilities = output.logits[0].softmax(-1)
    score = probabilities[predicted] - probabilities[1 - predicted]
    if settings.positive_logit:
        score = output.logits[0, -1]
    slopes = torch.autograd.grad(score, embeddings)[0][0].double().numpy()
    importance = np.sqrt((slopes**2).sum(1))
    if settings.gradient_sum:
        importance = np.abs(slopes.sum(1))
    raw = torch.stack(output.attentions)[:, 0].mean(1).detach().double().numpy()
    return [
        [_correlation(_scores(matrix, settings), importance, settings) for matrix in matrices]
        for matrices in _matrices(raw)
    ]


def _matrices(raw: Any) -> list[list[Any]]:
    """Raw attention, rollout and flow: a matrix (query, token) for layers 1, 3, 5 and 6."""
    mixed = (raw + np.eye(raw.shape[-1])) / 2
    rolled = [mixed[0]]
    for matrix in mixed[1:]:
        rolled.append(matrix @ rolled[-1])
    value, size = igraph_in_floats(list(mixed)), range(raw.shape[-1])
    chosen = (1, 3, 5, 6)
    flows = [np.array([[value((l, i), (0, j)) for j in size] for i in size]) for l in chosen]
    return [[raw[l - 1] for l in chosen], [rolled[l - 1] for l in chosen], flows]


def _scores(matrix: Any, settings: Table3Settings) -> Any:
    if settings.max_over_queries:
        return (matrix / matrix.sum(axis=1, keepdims=True)).max(axis=0)
    return matrix[0]


def _correlation(scores: Any, importance: Any, settings: Table3Settings) -> float:
    scores = np.round(scores, 9)  # equal flows differ in their last bits
    if not settings.dense_ranks:
        return float(cast("Any", spearmanr(scores, importance))[0])
    ranks = [np.unique(values, return_inverse=True)[1] + 1 for values in (scores, importance)]
    count = len(scores)
    return 1 - 6 * ((ranks[0] - ranks[1]) ** 2).sum() / (count * (count**2 - 1))


# ---- each setting -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
def test_a_table_is_what_its_settings_say(without_norm: Loaded, name: str) -> None:
    table = table_3(without_norm.model, without_norm.tokenizer, TEXTS, SETTINGS[name])
    assert table.values.shape == (3, 3, 4)
    assert (table.rows, table.layers) == (("raw", "rollout", "flow"), (1, 3, 5, 6))
    for number, text in enumerate(TEXTS):
        expected = _literal(without_norm, text, SETTINGS[name])
        assert table.values[number] == pytest.approx(np.array(expected), abs=1e-6)


def test_every_setting_changes_the_table(without_norm: Loaded) -> None:
    both = without_norm.model, without_norm.tokenizer
    default = table_3(*both, TEXTS).values
    assert len(ALONE) == 5
    # Ranks without ties are the same dense or not: only rows with ties differ.
    for name, settings in ALONE.items():
        changed = table_3(*both, TEXTS, settings).values
        assert (name == "dense_ranks") or not np.allclose(default, changed)


def test_dense_ranks_differ_where_scores_have_ties(small_sentiment: Loaded) -> None:
    model: Any = copy.deepcopy(small_sentiment.model)
    for parameter in model.base_model.encoder.parameters():
        _ = torch.nn.init.zeros_(parameter)  # attention is uniform: all scores are ties
    both = model, small_sentiment.tokenizer
    assert np.isnan(table_3(*both, TEXTS).values[:, 0]).all()
    dense = table_3(*both, TEXTS, ALONE["dense_ranks"]).values[:, 0]
    assert np.isfinite(dense).all()


def test_the_sum_is_rounding_where_embeddings_are_normalised(small_sentiment: Loaded) -> None:
    for model in (small_sentiment.model, embedded_twice(small_sentiment.model)):
        words = small_sentiment.tokenizer
        sums = input_gradient(model, words, TEXTS, reduce="raw_sum", score="logit", target=1)
        norms = input_gradient(model, words, TEXTS, reduce="norm", score="logit", target=1)
        assert len(sums) == 3
        for own, norm in zip(sums, norms, strict=True):
            assert own.values.max() < 1e-4 * norm.values.max()


# ---- embedded twice -----------------------------------------------------------------------------

_SIZES: dict[str, Any] = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 24,
    "pad_token_id": 0,
    "initializer_range": 0.4,
}


@pytest.mark.parametrize("family", ["Bert", "Roberta", "Albert", "Electra", "MPNet"])
def test_embedded_twice_is_the_output_of_the_embedding_layer_passed_in_again(family: str) -> None:
    _ = torch.manual_seed(0)
    sizes = _SIZES | ({"embedding_size": 16} if family in ("Albert", "Electra") else {})
    config = getattr(hf, f"{family}Config")(**sizes)
    model = getattr(hf, f"{family}ForSequenceClassification")(config).eval()
    before = copy.deepcopy(model.state_dict())
    ids = torch.tensor([[2, 7, 9, 11, 3]])
    twice = embedded_twice(model)
    model.set_attn_implementation("eager")
    embeddings = model.base_model.embeddings(ids).detach().requires_grad_()
    output = model(inputs_embeds=embeddings, output_attentions=True)
    (slopes,) = torch.autograd.grad(output.logits[0, 1], embeddings)
    found = input_gradient(twice, None, ids, target=1, score="logit", reduce="norm")
    assert_close(found[0].values, slopes[0].norm(dim=-1).double().numpy())
    weights = torch.stack(output.attentions)[:, 0].detach().numpy()
    assert_close(cast("Any", attend(twice, None, ids))[0].weights, weights)
    # Another input than the model's own, and the model itself is as it was.
    assert not torch.allclose(output.logits, model(ids).logits, atol=1e-3)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_a_model_without_an_embedding_layer_cannot_be_embedded_twice(small_gpt: Loaded) -> None:
    with pytest.raises(UnsupportedModelError, match="GPT2LMHeadModel has no embedding layer"):
        _ = embedded_twice(small_gpt.model)


# ---- one setting at a time ----------------------------------------------------------------------


def test_the_ablation_has_each_setting_alone_and_all_but_each(small_sentiment: Loaded) -> None:
    both = small_sentiment.model, small_sentiment.tokenizer
    calls: list[tuple[int, int]] = []
    found = table_3_ablation(
        *both, TEXTS[:2], TEXTS[2:], progress=lambda *numbers: calls.append(numbers)
    )
    assert [*found] == ["none", "texts", *NAMES]
    assert calls[-1] == (21, 21)
    assert calls == sorted(calls)
    expected = {
        "none": (TEXTS[:2], Table3Settings(), TEXTS[2:], TABLE_3_AS_PUBLISHED),
        "texts": (TEXTS[2:], Table3Settings(), TEXTS[:2], TABLE_3_AS_PUBLISHED),
    }
    for name, (texts, settings, others, all_settings) in expected.items():
        alone, but = found[name]
        assert (alone.texts, but.texts) == (tuple(texts), tuple(others))
        assert_close(alone.values, table_3(*both, texts, settings).values)
        assert but.settings["plan"] == table_3(*both, others, all_settings).settings["plan"]
    norm = Table3Settings(
        max_over_queries=True, positive_logit=True, embedded_twice=True, dense_ranks=True
    )
    assert_close(found["gradient_sum"][1].values, table_3(*both, TEXTS[2:], norm).values)
    assert found["embedded_twice"][0].settings["embedded_twice"] is True
    assert found["embedded_twice"][1].settings["embedded_twice"] is False


# ---- wrong models -------------------------------------------------------------------------------


def test_a_model_that_is_no_classifier_of_two_classes_is_an_error(small_sentiment: Loaded) -> None:
    sizes = _SIZES | {"vocab_size": 21, "num_hidden_layers": 6}
    three = hf.BertForSequenceClassification(hf.BertConfig(**sizes, num_labels=3)).eval()
    with pytest.raises(InputError, match="BertForSequenceClassification has 3 classes"):
        _ = table_3(three, small_sentiment.tokenizer, TEXTS)


def test_a_model_without_a_head_is_an_error_before_any_attention_is_computed(
    small_sentiment: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_table_3, "measure", lambda *_, **__: pytest.fail("too late"))
    sizes = _SIZES | {"vocab_size": 21, "num_hidden_layers": 6}
    with pytest.raises(NoPredictionError, match="expected an output with logits"):
        _ = table_3(hf.BertModel(hf.BertConfig(**sizes)), small_sentiment.tokenizer, TEXTS)


def test_a_model_of_fewer_layers_is_an_error(small_sentiment: Loaded) -> None:
    model = hf.BertForSequenceClassification(hf.BertConfig(**_SIZES)).eval()
    with pytest.raises(
        InputError, match=r"Table 3 has layers 1, 3, 5, 6, and BertForSeq.* has 2 layers"
    ):
        _ = table_3(model, small_sentiment.tokenizer, TEXTS)
