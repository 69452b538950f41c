"""Context without messages of transformers; what matters is returned or raised."""

import contextlib
import logging
import os
import warnings
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
        from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars
        from transformers.utils import logging as messages

        hub = logging.getLogger("huggingface_hub")
        verbosity, level = messages.get_verbosity(), hub.level
        shown, shown_by_hub = messages.is_progress_bar_enabled(), not are_progress_bars_disabled()
        conversion = os.environ.get(_NO_CONVERSION)
        try:
            messages.set_verbosity(logging.CRITICAL)
            hub.setLevel(logging.CRITICAL)
            messages.disable_progress_bar()  # the hub's too
            os.environ[_NO_CONVERSION] = "1"
            yield
        finally:
            _ = os.environ.pop(_NO_CONVERSION, None)
            if conversion is not None:
                os.environ[_NO_CONVERSION] = conversion
            if shown:
                messages.enable_progress_bar()  # the hub's too
                if not shown_by_hub:
                    _ = disable_progress_bars()
            hub.setLevel(level)
            messages.set_verbosity(verbosity)
