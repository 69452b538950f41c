"""The exceptions of this package.

A message says what was expected, what was received, and how to fix it. Each class is also a
standard exception, so that `except ValueError` works.
"""


class AttnflowError(Exception):
    """Base class of the exceptions of this package.

    >>> issubclass(InputError, AttnflowError) and issubclass(InputError, ValueError)
    True
    """


class InputError(AttnflowError, ValueError):
    """An argument or a file is invalid."""


class UnsupportedModelError(AttnflowError, ValueError):
    """The attention of this kind of model cannot be captured."""


class NoPredictionError(UnsupportedModelError):
    """The output of this model has no logits, as that of an encoder without a head."""


class NoGradientError(UnsupportedModelError):
    """The output of this model has no gradient by its embeddings, as that of a quantised one."""


class MissingDependencyError(AttnflowError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class SolverError(AttnflowError, RuntimeError):
    """The maximum flow could not be certified."""
