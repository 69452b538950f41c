"""Figure 4 of the paper: above each row stands what the model read."""

from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow import models, paper
from sink_models import put_in_sinks


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("small_bert", [reference.text for reference in paper.FIGURE_4]),
        (
            "small_gpt",
            [
                "The author talked to Sara about (corrected for the receptive field)",
                "Mary convinced John of (corrected for the receptive field)",
            ],
        ),
    ],
)
def test_the_title_is_what_the_model_read(
    request: pytest.FixtureRequest, kind: str, read: list[str]
) -> None:
    loaded: models.Loaded = request.getfixturevalue(kind)
    figure: Any = paper.figure_4(loaded.model, loaded.tokenizer).figure
    assert [part.get_suptitle() for part in figure.subfigs] == read


def test_sinks_are_taken_out_but_no_candidate(
    small_gpt: models.Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_sinks(monkeypatch, "attnflow.paper.results._pronouns", 0)
    model, tokenizer = small_gpt.model, small_gpt.tokenizer
    figure: Any = paper.figure_4(model, tokenizer)
    titles = [part.get_suptitle() for part in figure.figure.subfigs]
    corrected = "corrected for the receptive field"
    # The first word of the second sentence is a candidate.
    assert titles == [
        f"The author talked to Sara about (without The, {corrected})",
        f"Mary convinced John of (Mary is an attention sink, {corrected})",
    ]
    assert figure.predictions[0].startswith(f"{titles[0]}: his")
    assert figure.without == ("The",)
    kept: Any = paper.figure_4(model, tokenizer, sinks="keep")
    assert kept.without == ()
    assert "(without" not in kept.figure.subfigs[0].get_suptitle()
    first = paper.FIGURE_4[0]
    assert paper.resolve(model, tokenizer, first).without == ()
    removed = paper.resolve(model, tokenizer, first, sinks="remove")
    assert removed.without == ("The",)
    assert all((scores.scores[..., 0] == 0).all() for scores in removed.scores)


def test_the_correction_for_the_receptive_field_can_be_left_out(small_gpt: models.Loaded) -> None:
    model, tokenizer = small_gpt.model, small_gpt.tokenizer
    plain: Any = paper.figure_4(model, tokenizer, receptive_field=False)
    assert plain.figure.subfigs[0].get_suptitle() == "The author talked to Sara about"
    assert not plain.receptive_field
    assert paper.figure_4(model, tokenizer).receptive_field
    first = paper.FIGURE_4[0]
    attention: Any = models.attend(model, tokenizer, "The author talked to Sara about")
    for setting in (None, True, False):
        found = paper.resolve(model, tokenizer, first, receptive_field=setting)
        assert found.receptive_field is (setting is not False)
        for scores, method in zip(found.scores[1:], (af.rollout, af.flow), strict=True):
            query = attention.n_tokens - 1
            expected = method(attention, queries=query, receptive_field=found.receptive_field)
            assert np.allclose(scores.scores, expected.to_words().scores)


def test_a_masked_model_has_no_receptive_field_to_correct_for(small_bert: models.Loaded) -> None:
    with pytest.raises(af.InputError, match="causal"):
        _ = paper.figure_4(small_bert.model, small_bert.tokenizer, receptive_field=True)
