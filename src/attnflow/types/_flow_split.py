"""FlowSplit: how one maximum flow is divided among the tokens."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnflow._internal import checks
from attnflow._internal.html_table import value_table
from attnflow._internal.records import Record
from attnflow._internal.settings import Settings, freeze_settings
from attnflow.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class FlowSplit(Record):
    """How one maximum flow to all tokens is divided among them; see `attnflow.flow_split`.

    It has no query if all positions of a layer are the source together, so it is no TokenAttention.

    Parameters
    ----------
    value
        The maximum flow.
    values
        What arrives at each token, stored as read-only float64.
    tokens
        Names of the tokens.
    flows
        One matrix per layer, shaped as the layers of the graph: what runs over each edge.
    settings
        How the flow was computed: layer, query (None for all positions), `onto`, `objective`, and
        `mu` of a log barrier; with the attention, enough to compute it again.
    """

    value: float
    values: NDArray[np.float64]
    tokens: tuple[str, ...]
    flows: tuple[NDArray[np.float64], ...]
    settings: Settings

    def __init__(
        self,
        value: float,
        values: ArrayLike,
        tokens: Iterable[str],
        flows: Iterable[NDArray[np.float64]],
        settings: Settings | None = None,
    ) -> None:
        array = checks.as_floats(values, "values").astype(np.float64, copy=False)
        if array.ndim != 1 or not array.size:
            raise InputError(f"values: expected one number per token, got shape {array.shape}")
        self._set(
            value=float(value),
            values=checks.as_read_only(array),
            tokens=checks.as_tokens(tokens, len(array)),
            flows=tuple(map(checks.as_read_only, flows)),
            settings=freeze_settings(settings),
        )

    def __repr__(self) -> str:
        objective = self.settings.get("objective")
        return f"FlowSplit({objective!r}, value={self.value:.6g}, tokens={len(self.tokens)})"

    def _repr_html_(self) -> str:
        """Return the first values as HTML."""
        return value_table(repr(self), self.tokens, self.values)
