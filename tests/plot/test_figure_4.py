"""Figure 4 of the paper: above each row stands what the model read."""

from typing import Any

import pytest

from attnflow import models, paper
from sink_models import put_in_sinks


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("small_bert", [reference.text for reference in paper.FIGURE_4]),
        ("small_gpt", ["The author talked to Sara about", "Mary convinced John of"]),
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
    # The first word of the second sentence is a candidate.
    assert titles == ["The author talked to Sara about (without The)", "Mary convinced John of"]
    assert figure.predictions[0].startswith("The author talked to Sara about (without The): his")
    kept: Any = paper.figure_4(model, tokenizer, sinks="keep")
    assert "(without" not in kept.figure.subfigs[0].get_suptitle()
    first = paper.FIGURE_4[0]
    assert paper.resolve(model, tokenizer, first).without == ()
    removed = paper.resolve(model, tokenizer, first, sinks="remove")
    assert removed.without == ("The",)
    assert all((scores.scores[..., 0] == 0).all() for scores in removed.scores)
