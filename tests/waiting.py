"""Waiting for a condition, where a test would otherwise have to know how long something takes."""

import time
from collections.abc import Callable

# Chosen: far longer than anything that tests wait for takes, also on a busy machine.
SECONDS = 60


def until(true: Callable[[], bool], *, what: str = "a condition", every: float = 0.01) -> None:
    """Return as soon as a condition is true; it is checked every `every` seconds.

    A condition that is not true within a minute is a failure.
    """
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, f"waited {SECONDS} seconds for {what}"
        time.sleep(every)
