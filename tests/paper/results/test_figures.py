"""The figures of the paper hold the scores of the model for the paper's sentences."""

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import attnflow as af
from attnflow import models, paper
from attnflow import plot as typed_plot
from attnflow.importance import Prediction
from attnflow.paper.results import _figures
from attnflow.paper.results._figures import SENTENCES

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot


@pytest.fixture(scope="module")
def shipped() -> models.Loaded:
    return paper.load()


def _attention(shipped: models.Loaded, index: int) -> Any:
    return models.attend(shipped.model, shipped.tokenizer, SENTENCES[index].text)


def _panels(figure: paper.PaperFigure) -> list[Any]:
    return [ax for ax in figure.figure.axes if ax.get_title()]


def test_figure_1_shows_the_first_sentence_by_three_methods(shipped: models.Loaded) -> None:
    figure = paper.figure_1(shipped.model, shipped.tokenizer)
    panels = _panels(figure)
    assert len(panels) == 3
    tokens = ["[CLS]", "the", "key", "to", "the", "cabinets", "<?>"]
    for ax in panels:
        assert [label.get_text() for label in ax.get_xticklabels()] == tokens
    raw = af.raw(_attention(shipped, 0)).scores
    ends = {tuple(line.ravel().tolist()) for line in panels[0].collections[0].get_segments()}
    layer, i, j = np.unravel_index(raw.argmax(), raw.shape)
    assert (float(i), layer + 1.0, float(j), float(layer)) in ends
    assert figure.predictions[0].startswith("The key to the cabinets <?>: singular 0.9")


def test_figure_1_has_a_scale_of_widths_in_each_layer(shipped: models.Loaded) -> None:
    methods = (af.raw, af.rollout, af.flow)
    attention = _attention(shipped, 0)
    panels = _panels(paper.figure_1(shipped.model, shipped.tokenizer))
    for ax, method in zip(panels, methods, strict=True):
        drawn = ax.collections[0]
        by_layer, one = (
            plot.graph(method(attention), scale=scale, ax=Figure().subplots()).collections[0]
            for scale in ("layer", "figure")
        )
        lines = [np.array(each.get_segments()) for each in (drawn, by_layer, one)]
        assert np.array_equal(lines[0], lines[1])
        assert not np.array_equal(lines[0], lines[2])


def test_figure_2_is_raw_attention_of_cls(shipped: models.Loaded) -> None:
    figure = paper.figure_2(shipped.model, shipped.tokenizer)
    panels = _panels(figure)
    assert len(panels) == 3
    for place, ax in enumerate(panels):
        expected = af.raw(_attention(shipped, place)).scores[:, 0]
        np.testing.assert_allclose(ax.images[0].get_array(), expected, rtol=0, atol=1e-6)
        assert ax.get_title().startswith(f"{SENTENCES[place].text} <?>\n")
    assert len(figure.predictions) == 3


def test_figure_3_is_rollout_above_flow(shipped: models.Loaded) -> None:
    figure = paper.figure_3(shipped.model, shipped.tokenizer)
    panels = _panels(figure)
    assert len(panels) == 6
    for place in range(3):
        a = _attention(shipped, place)
        above, below = panels[place], panels[3 + place]
        assert np.allclose(above.images[0].get_array(), af.rollout(a).scores[:, 0])
        flow = af.flow(a, queries=0).normalized()
        assert np.allclose(below.images[0].get_array(), flow.scores[:, 0])


def test_colours_of_figure_3_tell_the_words_with_the_largest_scores_apart(
    shipped: models.Loaded,
) -> None:
    panels = _panels(paper.figure_3(shipped.model, shipped.tokenizer))
    assert len(panels) == 6
    for ax in panels:
        (image,) = ax.images
        others = np.asarray(image.get_array())[:, 1:]  # 0 is CLS itself
        assert image.get_clim()[1] == pytest.approx(others.max())


@pytest.mark.parametrize(
    ("number", "differences"),
    [
        ("singular", ["", "", "; the paper's model was wrong"]),
        ("plural", ["; the paper's model was correct", "; the paper's model was correct", ""]),
    ],
)
def test_a_prediction_unlike_that_of_the_papers_model_is_reported(
    shipped: models.Loaded, monkeypatch: pytest.MonkeyPatch, number: str, differences: list[str]
) -> None:
    # All three verbs should be singular; the paper's model missed the third.
    same = Prediction(number, {number: 0.75})
    monkeypatch.setattr(_figures, "predict", lambda *_: same)
    right = {"singular": "correct", "plural": "wrong"}[number]
    assert list(paper.figure_2(shipped.model, shipped.tokenizer).predictions) == [
        f"{sentence.text} <?>: {number} 0.75, {right}{more}"
        for sentence, more in zip(SENTENCES, differences, strict=True)
    ]


def test_figures_are_not_kept_by_pyplot(shipped: models.Loaded) -> None:
    before = plt.get_fignums()
    _ = paper.figure_1(shipped.model, shipped.tokenizer)
    assert plt.get_fignums() == before
