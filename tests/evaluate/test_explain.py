"""`explain`: one text, everything side by side."""

from typing import Any

import pytest
import torch
import transformers as hf

import attnflow as af
from attnflow import paper
from attnflow.evaluate import explain
from attnflow.models import Loaded

TEXT = "the key to the cabinets"
SMALL: dict[str, Any] = {"vocab_size": 10_000, "pad_token_id": 0}


@pytest.fixture(scope="module")
def shipped() -> Loaded:
    return paper.load()


def test_all_columns_are_of_the_same_tokens(shipped: Loaded) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT)
    assert found.tokens == ("[CLS]", "the", "key", "to", "the", "cabinets", "<?>")
    assert list(found.columns()) == ["raw", "rollout", "flow", "blank_out", "input_gradient"]
    assert {len(column) for column in found.columns().values()} == {7}
    assert (found.layer, found.query) == (6, 0)


def test_a_single_method_may_be_named_alone(shipped: Loaded) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT, methods="rollout")  # pyright: ignore[reportArgumentType]
    assert list(found.scores) == ["rollout"]
    assert not found.saturated


@pytest.mark.parametrize(("layer", "expected"), [(6, True), (2, False)])
def test_flow_at_its_ceiling_is_told(shipped: Loaded, layer: int, expected: bool) -> None:
    assert explain(shipped.model, shipped.tokenizer, TEXT, layer=layer).saturated is expected


@pytest.mark.parametrize("methods", [[], ["best"], ["raw", "best"]])
def test_methods_that_are_none_are_an_error(shipped: Loaded, methods: Any) -> None:
    with pytest.raises(af.InputError, match="raw, rollout, flow"):
        _ = explain(shipped.model, shipped.tokenizer, TEXT, methods=methods)


def test_a_causal_classifier_is_read_at_its_last_token(shipped: Loaded) -> None:
    _ = torch.manual_seed(0)
    config = hf.GPT2Config(n_embd=16, n_layer=2, n_head=2, **SMALL)
    model = hf.GPT2ForSequenceClassification(config).eval()
    found = explain(model, shipped.tokenizer, TEXT)
    assert found.query == 6
    assert found.layer == 2


def test_an_encoder_decoder_is_refused(shipped: Loaded) -> None:
    sizes: dict[str, Any] = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    sizes |= {"decoder_start_token_id": 0, **SMALL}
    config = hf.T5Config(**sizes)
    model = hf.T5ForConditionalGeneration(config).eval()
    with pytest.raises(af.UnsupportedModelError, match="reads one text and writes another"):
        _ = explain(model, shipped.tokenizer, TEXT)


def test_the_position_that_answers_can_be_named(shipped: Loaded) -> None:
    _ = torch.manual_seed(0)
    config = hf.BertConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, **SMALL)
    model = hf.BertForMaskedLM(config).eval()
    found = explain(model, shipped.tokenizer, TEXT, position=2)
    assert (found.prediction.position, found.query) == (2, 2)


def test_notebooks_show_every_token(shipped: Loaded) -> None:
    html = explain(shipped.model, shipped.tokenizer, TEXT)._repr_html_()
    assert html.count("<tr>") == 8
    assert "&lt;?&gt;" in html


def test_the_scores_are_rows_of_the_attention_that_is_kept(shipped: Loaded) -> None:
    found = explain(shipped.model, shipped.tokenizer, TEXT, layer=3)
    again = af.rollout(found.attention, layers=3, queries=0)
    assert again == found.scores["rollout"]


@pytest.mark.parametrize("methods", [("raw", "rollout", "flow"), ("raw",)])
def test_steps_are_counted_up_to_all(shipped: Loaded, methods: Any) -> None:
    told: list[tuple[int, int]] = []
    _ = explain(
        shipped.model, shipped.tokenizer, TEXT, methods=methods, progress=lambda *n: told.append(n)
    )
    before = 2 + len(methods)  # attention and the prediction among them
    steps = before + 7 + 1  # the tokens, blanked in one batch, and the gradient
    counted = [*range(1, before + 1), before, steps - 1, steps]
    assert told == [(done, steps) for done in counted]


def test_what_progress_raises_ends_the_work(shipped: Loaded) -> None:
    told: list[int] = []

    def stop(done: int, _total: int) -> None:
        told.append(done)
        if done == 2:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        _ = explain(shipped.model, shipped.tokenizer, TEXT, progress=stop)
    assert told == [1, 2]
