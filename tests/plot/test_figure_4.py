"""Figure 4 of the paper: above each row stands what the model read."""

from typing import Any

import pytest

from attnflow import models, paper


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
