"""Waiting for a condition, where a test would else have to know how long something takes."""

import time
from collections.abc import Callable

# Chosen: far longer than anything that tests wait for takes, also on a busy machine.
SECONDS = 60


def until(true: Callable[[], bool], *, what: str = "a condition") -> None:
    """Return as soon as a condition is true; fail if it is not within a minute."""
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, f"waited {SECONDS} seconds for {what}"
        time.sleep(0.005)
