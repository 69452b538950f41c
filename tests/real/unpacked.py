"""Models that take long to unpack are unpacked once, into build/real-models."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

_CACHE = Path(__file__).parents[2] / "build" / "real-models"


def unpacked(name: str, write: Callable[[Path], None], cache: Path = _CACHE) -> Path:
    """The folder `name` of the cache; if it is not there, `write` fills it.

    It gets its name when it is complete, so that a run that was stopped leaves no half a model, and
    two runs at a time do not disturb each other.
    """
    folder = cache / name
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=cache))
        try:
            write(part)
            _ = part.replace(folder)
        except OSError:
            if not folder.exists():  # else another run was faster
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder
