"""Seconds of the first steps of a new process, printed as JSON; start_up.py runs it."""

import json
import sys
import time

# Name, tokens and queries of each flow, of six layers. The second needs kernels, `LARGE` others.
STEPS = (
    ("flow of 32 tokens, one query", 32, [0]),
    ("flow of 32 tokens, all queries", 32, None),
    ("the same again", 32, None),
)
LARGE = ("flow of 80 tokens, one query", 80, [0])


def main() -> None:
    """Import, then compute flows."""
    steps: dict[str, float] = {}
    start = time.perf_counter()
    import attnflow as af

    steps["import attnflow"] = time.perf_counter() - start
    for name, tokens, queries in (*STEPS, *([LARGE] if "large" in sys.argv else [])):
        attention = af.random_attention(6, 1, tokens)
        start = time.perf_counter()
        _ = af.flow(attention, queries=queries, threads=1)
        steps[name] = time.perf_counter() - start
    print(json.dumps(steps))


if __name__ == "__main__":
    main()
