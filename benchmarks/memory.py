"""How much memory a process holds, and held at its peak."""

import resource
import sys
from collections.abc import Callable
from pathlib import Path

# Linux counts the memory of the parent into `ru_maxrss` of a new process; /proc does not. Where
# there is no /proc the peak before stands for the memory before, and a peak that is not passed
# shows as zero.
_STATUS = Path("/proc/self/status")


def _status_mb(field: str) -> float:
    for line in _STATUS.read_text(encoding="utf-8").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"{_STATUS} has no {field}")


def peak_mb() -> float:
    """MB at the peak of this process, or since `forget_peak`."""
    if _STATUS.exists():
        return _status_mb("VmHWM:")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def resident_mb() -> float:
    """MB that this process holds now."""
    return _status_mb("VmRSS:") if _STATUS.exists() else peak_mb()


def forget_peak() -> None:
    """Let the peak begin anew at what is resident now, where the system can."""
    forget = Path("/proc/self/clear_refs")
    if forget.exists():
        _ = forget.write_text("5", encoding="utf-8")


def extra_mb(run: Callable[[], object]) -> float:
    """MB that a call takes more at its peak than before it, its result included."""
    forget_peak()
    before = resident_mb()
    _ = run()
    return peak_mb() - before
