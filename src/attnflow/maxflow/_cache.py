"""Compiled kernels on disk: whether they are of the sources at hand. Needs no Numba."""

import hashlib
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
            cache.mkdir(exist_ok=True)
            stamp.touch()


def is_compiled(folder: Path, kernel: str) -> bool:
    """Return whether a kernel, as "module.function", is on disk for these sources and this Python.

    Where Numba keeps kernels elsewhere, for want of a folder that can be written, it is not.
    """
    stamp, version = _stamp(folder), "{}{}".format(*sys.version_info)
    return stamp.exists() and any(stamp.parent.glob(f"{kernel}-*.py{version}*.nbc"))


def _stamp(folder: Path) -> Path:
    """Return the file that is there if compiled kernels are of the sources in a folder."""
    sources = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    digest = hashlib.blake2b(sources, digest_size=8).hexdigest()
    return folder / "__pycache__" / f"kernels-{digest}.stamp"
