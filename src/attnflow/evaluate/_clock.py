"""Clock: how long each part of a computation takes."""

import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager


class Clock:
    """The seconds spent in each part of a computation.

    Threads may measure at the same time if their parts have different names.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def measure(self, part: str) -> Generator[None]:
        """Add the time of what runs inside to a part, also if it fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] += time.perf_counter() - start
