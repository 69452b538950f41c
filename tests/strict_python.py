"""The command of a new Python process in which a warning is an error."""

import sys

# NumPy warns where NPY_DISABLE_CPU_FEATURES, which `make test-machines` sets, names features that
# this version does not choose between.
STRICT_PYTHON = (
    sys.executable,
    *("-W", "error"),
    *("-W", "ignore:During parsing environment variable:ImportWarning"),
)
