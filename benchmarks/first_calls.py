"""Seconds of steps of a new process, in order, printed as JSON; start_up.py runs it."""

import json
import sys
import time
from typing import NamedTuple


class Flow(NamedTuple):
    """A flow on random attention."""

    layers: int
    tokens: int
    queries: list[int] | None = None
    receptive_field: bool = False


# One query of a sentence needs no kernels.
SENTENCE = "flow of 32 tokens, one query"
_THIRTY = Flow(30, 32, [31])
DEEP = {
    "the same, 12 layers": Flow(12, 32, [31]),
    "the same, 30 layers": _THIRTY,
    "the same, 30 layers, receptive field corrected": _THIRTY._replace(receptive_field=True),
}
# The second needs kernels, `LARGE` others.
LARGER, LARGE = "flow of 32 tokens, 12 layers, all queries", "flow of 80 tokens, one query"
STEPS = {
    SENTENCE: Flow(6, 32, [31]),
    LARGER: Flow(12, 32),
    "the same again": Flow(12, 32),
    LARGE: Flow(6, 80, [0]),
}


def main() -> None:
    """Import, then compute the flows that the command names."""
    steps: dict[str, float] = {}
    start = time.perf_counter()
    import attnflow as af

    steps["import attnflow"] = time.perf_counter() - start
    for name in sys.argv[1:]:
        layers, tokens, queries, corrected = (STEPS | DEEP)[name]
        attention = af.random_attention(layers, 1, tokens, causal=corrected)
        start = time.perf_counter()
        _ = af.flow(attention, queries=queries, receptive_field=corrected, threads=1)
        steps[name] = time.perf_counter() - start
    print(json.dumps(steps))


if __name__ == "__main__":
    main()
