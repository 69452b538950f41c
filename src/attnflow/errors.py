"""Every error raised on purpose.

A message says what came, what is needed, and what to do. Each class is also the standard type a
caller would expect, so `except ValueError` works for those who do not know this package.
"""


class AttnflowError(Exception):
    """The root of all errors this package raises on purpose.

    >>> issubclass(InputError, AttnflowError) and issubclass(InputError, ValueError)
    True
    """


class InputError(AttnflowError, ValueError):
    """What was passed in cannot be used as it is: an array, a setting, a file."""


class UnsupportedModelError(AttnflowError, ValueError):
    """The model is of a kind whose attention this package does not know how to read."""


class MissingDependencyError(AttnflowError, ImportError):
    """An optional package is needed here and is not installed; the message says what to install."""


class SolverError(AttnflowError, RuntimeError):
    """A value could not be certified, so it is not given."""
