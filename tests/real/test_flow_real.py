"""Flow of real attention says when it is flat."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import attnflow as af
from attnflow.models import attend

Load = Callable[[str], tuple[Any, Any]]

WORDS = (
    "the old author who wrote the long letter to his sister about the war in the north never "
    "received an answer from her or from anyone"
)


def test_flow_from_cls_of_minilm_is_flat_and_from_words_it_is_not(real: Load):
    a = attend(*real("minilm"), WORDS)
    t = af.flow(a, layers=6)
    words = t.row(6, 0)[1:-1]
    assert len(words) == 26
    assert _ratio(words) < 1.05  # nearly the same score, which says nothing about the words
    assert t.flat[0].tolist() == [True, *[False] * 27]
    assert t.saturated == (False,)
    assert _ratio(np.delete(t.row(6, 3), 3)) > 1.15


def _ratio(scores: NDArray[np.float64]) -> float:
    return float(scores.max() / scores.min())
