"""Pictures are drawn without a screen, and no figure outlives its test."""

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

from attnflow.types import Attention, random_attention

mpl.use("Agg")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Settings of matplotlib are as they were after every test."""
    before: dict[Any, Any] = dict(mpl.rcParams)
    yield
    plt.close("all")
    assert dict(mpl.rcParams) == before


@pytest.fixture
def attention() -> Attention:
    """Five tokens, three layers."""
    return random_attention(3, 2, 5, seed=3, tokens=["[CLS]", "the", "key", "is", "here"])
