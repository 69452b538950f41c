"""What tests of plain modules have in common: an input, seeded weights, and what is expected."""

from typing import Any

import numpy as np
import torch
from small_models import attend, rollout_segments

import attnflow as af

LENGTH = 7
X = torch.randn(3, LENGTH, 16, generator=torch.Generator().manual_seed(1)) * 2


def seeded(make: Any, **settings: Any) -> Any:
    """A module in evaluation whose weights do not depend on what ran before."""
    _ = torch.manual_seed(0)
    return make(**settings).eval()


def assert_found(found: Any, expected: torch.Tensor) -> None:
    """One result for each example of `expected` (layer, example, head, query, key)."""
    assert len(found) == expected.shape[1]
    for example, attention in enumerate(found):
        weights = expected[:, example].numpy()
        np.testing.assert_allclose(attention.weights, weights, rtol=0, atol=1e-6)
        assert attention.tokens == tuple(map(str, range(expected.shape[-1])))


def assert_rolls_out(model: Any, inputs: Any) -> None:
    """Rollout in the pass is the rollout of what is attended to, heads averaged or not."""
    attention = attend(model, None, inputs)
    averaged = attend(model, None, inputs, heads="mean")
    rolled = rollout_segments(model, None, inputs)
    assert len(rolled) > 0
    for a, m, r in zip(attention, averaged, rolled, strict=True):
        np.testing.assert_allclose(r.scores, af.rollout(a).scores, rtol=0, atol=1e-5)
        np.testing.assert_allclose(r.scores, af.rollout(m).scores, rtol=0, atol=1e-5)
