"""The figures of the paper hold the scores of the model for the paper's sentences."""

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

import attnflow as af
from attnflow import models, paper
from attnflow.importance import Prediction
from attnflow.paper import _drawings
from attnflow.paper._drawings import EXAMPLES


@pytest.fixture(scope="module")
def shipped() -> models.Loaded:
    return paper.load()


def _attention(shipped: models.Loaded, example: int) -> Any:
    return models.attend(shipped.model, shipped.tokenizer, EXAMPLES[example].text)


def _panels(drawing: paper.Drawing) -> list[Any]:
    return [ax for ax in drawing.figure.axes if ax.get_title()]


def test_figure_1_shows_the_first_example_in_three_ways(shipped: models.Loaded) -> None:
    drawing = paper.figure_1(shipped.model, shipped.tokenizer)
    panels = _panels(drawing)
    assert len(panels) == 3
    tokens = ["[CLS]", "the", "key", "to", "the", "cabinets", "<?>"]
    for ax in panels:
        assert [label.get_text() for label in ax.get_xticklabels()] == tokens
    raw = af.raw(_attention(shipped, 0)).scores
    ends = {tuple(line.ravel().tolist()) for line in panels[0].collections[0].get_segments()}
    layer, i, j = np.unravel_index(raw.argmax(), raw.shape)
    assert (float(i), layer + 1.0, float(j), float(layer)) in ends
    assert drawing.told[0].startswith("The key to the cabinets <?>: singular 0.9")


def test_figure_2_is_raw_attention_of_cls(shipped: models.Loaded) -> None:
    drawing = paper.figure_2(shipped.model, shipped.tokenizer)
    assert len(_panels(drawing)) == 3
    for place, ax in enumerate(_panels(drawing)):
        wanted = af.raw(_attention(shipped, place)).scores[:, 0]
        assert np.array_equal(ax.images[0].get_array(), wanted)
        assert ax.get_title().startswith(f"{EXAMPLES[place].text} <?>\n")
    assert len(drawing.told) == 3


def test_figure_3_is_rollout_above_flow(shipped: models.Loaded) -> None:
    drawing = paper.figure_3(shipped.model, shipped.tokenizer)
    panels = _panels(drawing)
    assert len(panels) == 6
    for place in range(3):
        a = _attention(shipped, place)
        above, below = panels[place], panels[3 + place]
        assert np.allclose(above.images[0].get_array(), af.rollout(a).scores[:, 0])
        flow = af.flow(a, queries=0).normalized()
        assert np.allclose(below.images[0].get_array(), flow.scores[:, 0])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("singular", ["", "", "; the paper's model was wrong"]),
        ("plural", ["; the paper's model was correct", "; the paper's model was correct", ""]),
    ],
)
def test_where_the_papers_model_answered_otherwise_is_told(
    shipped: models.Loaded, monkeypatch: pytest.MonkeyPatch, answer: str, told: list[str]
) -> None:
    # All three verbs should be singular; the paper's model missed the third.
    same = Prediction(answer, {answer: 0.75})
    monkeypatch.setattr(_drawings, "predict", lambda *_: same)
    right = {"singular": "correct", "plural": "wrong"}[answer]
    assert list(paper.figure_2(shipped.model, shipped.tokenizer).told) == [
        f"{example.text} <?>: {answer} 0.75, {right}{more}"
        for example, more in zip(EXAMPLES, told, strict=True)
    ]


def test_figures_are_not_kept_by_pyplot(shipped: models.Loaded) -> None:
    before = plt.get_fignums()
    _ = paper.figure_1(shipped.model, shipped.tokenizer)
    assert plt.get_fignums() == before
