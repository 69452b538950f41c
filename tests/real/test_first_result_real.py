"""The first result with a real model is readable: scores of a decoder, colours of an encoder."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import attnflow as af
from attnflow import models, plot

Load = Callable[[str], tuple[Any, Any]]
SENTENCE = "The author of the books that lie on the table is talented."


def test_rollout_of_a_decoder_is_spread_over_the_words(real: Load) -> None:
    model, tokenizer = real("smollm2")

    def shares(**settings: Any) -> Any:
        rollout = af.explain(model, tokenizer, SENTENCE, **settings).columns()["rollout"]
        return rollout / np.nansum(rollout)

    paper = shares(sinks="keep", receptive_field=False)
    assert paper[0] > 0.999  # it is a sink
    default, corrected = shares(), shares(sinks="keep")
    assert np.isnan(default[0])
    # Chosen: half of the words, in a sentence of twelve, have a tenth of an even share or more.
    for found in (default[1:], corrected):
        assert found.max() < 0.9
        assert np.median(found) > 0.1 / 12
    assert corrected[0] < 0.5


@pytest.mark.parametrize("method", [af.rollout, af.flow])
def test_the_heat_map_of_a_sentence_encoder_is_not_white(real: Load, method: Any) -> None:
    attention = models.attend(*real("minilm"), SENTENCE)
    ax: Any = plot.heatmap(method(attention, queries=0), ax=Figure().subplots())
    (image,) = ax.images
    others = np.asarray(image.get_array())[:, 1:]  # 0 is CLS itself, the darkest
    # Chosen, as in _internal/scale.py: an eighth of the scale can be told from white.
    assert np.median(others) > image.get_clim()[1] / 8
