"""Context without messages of transformers; what matters is returned or raised."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

# Otherwise transformers asks the hub to convert pickles, in a thread that outlives the call.
_NO_CONVERSION = "DISABLE_SAFETENSORS_CONVERSION"


@contextlib.contextmanager
def quiet() -> Generator[None]:
    """Switch off log messages, warnings, progress bars and conversions on the hub.

    Not for several threads at a time: these settings are global to the process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _no_messages(), _no_bars(), _no_conversion():
            yield


@contextlib.contextmanager
def _no_messages() -> Generator[None]:
    from transformers.utils import logging as messages

    hub = logging.getLogger("huggingface_hub")
    levels = messages.get_verbosity(), hub.level
    try:
        messages.set_verbosity(logging.CRITICAL)
        hub.setLevel(logging.CRITICAL)
        yield
    finally:
        messages.set_verbosity(levels[0])
        hub.setLevel(levels[1])


@contextlib.contextmanager
def _no_bars() -> Generator[None]:
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars
    from transformers.utils import logging as messages

    shown, shown_by_hub = messages.is_progress_bar_enabled(), not are_progress_bars_disabled()
    try:
        messages.disable_progress_bar()  # the hub's too
        yield
    finally:
        if shown:
            messages.enable_progress_bar()  # the hub's too
            if not shown_by_hub:
                _ = disable_progress_bars()


@contextlib.contextmanager
def _no_conversion() -> Generator[None]:
    before = os.environ.get(_NO_CONVERSION)
    try:
        os.environ[_NO_CONVERSION] = "1"
        yield
    finally:
        if before is None:
            del os.environ[_NO_CONVERSION]
        else:
            os.environ[_NO_CONVERSION] = before
