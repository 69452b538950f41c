"""`log_probabilities_without`: log-probabilities of the target without groups of tokens.

This is for the other packages of attnflow, not for users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnflow.importance._ablation import blank_for, score_changes
from attnflow.importance._settings import Replace
from attnflow.models.inputs import TextInput
from attnflow.models.scoring import Scorer, SingleInput, Target

if TYPE_CHECKING:
    from torch import nn


def log_probabilities_without(
    model: nn.Module,
    tokenizer: Any,
    text: TextInput,
    groups: Callable[[int, SingleInput], Sequence[tuple[int, ...]]],
    *,
    target: Target = None,
    replace: Replace | None = None,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
) -> list[tuple[NDArray[np.float64], dict[str, Any]]]:
    """Return `log p(t)` of each input and of its variants, and settings.

    `groups` returns the groups of positions of an input, among its tokens; each group is replaced
    by the blank in one variant. The first value is that of the unchanged input.
    """
    scorer = Scorer.of(
        model,
        tokenizer,
        text,
        "log_probability",
        target,
        position=position,
        truncate=truncate,
    )
    blank = blank_for(scorer, replace)
    places = [
        [tuple(item.kept[place] for place in group) for group in groups(index, item)]
        for index, item in enumerate(scorer.inputs)
    ]
    changes = score_changes(
        scorer, places, blank, batch_size=batch_size, signed=True, progress=None
    )
    return [
        (found.score - np.concatenate([[0.0], change]), {**found.settings, **blank.settings})
        for change, found in changes
    ]
