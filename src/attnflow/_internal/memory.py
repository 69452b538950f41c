"""How much memory this process can still get."""

import contextlib
import os
import sys
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


def available_bytes() -> int | None:
    """Return how many bytes this process can still get; None if the system does not say.

    The smallest of: available memory and free swap space (on other systems than Linux, all memory
    of the machine); what the limit of a container leaves; what the limit of the address space
    (`ulimit -v`) leaves.
    """
    known = [_of_system(), _of_container(), _of_address_space()]
    return min((value for value in known if value is not None), default=None)


def _of_system() -> int | None:
    sizes = _numbers(_PROC / "meminfo", scale=1024)  # "MemAvailable:   21413060 kB"
    if "MemAvailable" in sizes:
        return sizes["MemAvailable"] + sizes.get("SwapFree", 0)
    with contextlib.suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        return pages * size if pages > 0 and size > 0 else None
    return None


def _of_container() -> int | None:
    """Return what the control group of a container leaves; files that are cached do not count."""
    with contextlib.suppress(OSError, ValueError):
        limit = int((_CGROUP / "memory.max").read_text())  # "max" without a limit
        used = int((_CGROUP / "memory.current").read_text())
        cached = _numbers(_CGROUP / "memory.stat").get("file", 0)  # "file 155648"
        return max(0, limit - used + cached)
    return None


def _of_address_space() -> int | None:
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 (not on Windows)

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int((_PROC / "self" / "statm").read_text().split()[0])
        return max(0, limit - pages * resource.getpagesize())
    return limit


def _numbers(file: Path, *, scale: int = 1) -> dict[str, int]:
    """Return the numbers of a file with a name and a number in each line, empty without it."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            name, number, *_ = line.replace(":", " ").split()
            found[name] = scale * int(number)
    return found
