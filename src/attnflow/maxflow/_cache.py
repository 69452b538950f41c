"""Compiled kernels on disk: whether they are of the sources at hand. Needs no Numba."""

import hashlib
import os
import sys
from contextlib import suppress
from pathlib import Path


def discard_stale_cache(folder: Path) -> None:
    """Delete the compiled kernels of a package whose sources have changed.

    Numba compares the file of a kernel with its cached code, but not the files of kernels that it
    calls. A stamp next to the code names the sources it was compiled from.
    """
    stamp = _stamp(folder)
    if not stamp.exists():
        cache = stamp.parent
        with suppress(OSError):  # a folder that cannot be written has no cache either
            for stale in (*cache.glob("*.nb[ic]"), *cache.glob("kernels-*.stamp")):
                stale.unlink(missing_ok=True)
            cache.mkdir(parents=True, exist_ok=True)
            stamp.touch()


def is_compiled(folder: Path, kernel: str) -> bool:
    """Return whether a kernel, as "module.function", is on disk for these sources and this Python.

    Where Numba keeps kernels in the user's cache, since the package's folder cannot be written, it
    is not.
    """
    stamp, version = _stamp(folder), "{}{}".format(*sys.version_info)
    return stamp.exists() and any(stamp.parent.glob(f"{kernel}-*.py{version}*.nbc"))


def _stamp(folder: Path) -> Path:
    """Return the file that is there if compiled kernels are of the sources in a folder."""
    sources = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    digest = hashlib.blake2b(sources, digest_size=8).hexdigest()
    return _cache(folder) / f"kernels-{digest}.stamp"


def _cache(folder: Path) -> Path:
    """Return where Numba keeps the kernels of a package: in its folder, or in NUMBA_CACHE_DIR."""
    if not (chosen := os.environ.get("NUMBA_CACHE_DIR")):
        return folder / "__pycache__"
    # The name that Numba gives it, without an import of Numba.
    path = os.path.abspath(folder)  # noqa: PTH100
    digest = hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest()
    return Path(chosen) / f"{folder.name}_{digest}"
