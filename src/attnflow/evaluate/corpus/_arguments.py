"""Checks of the arguments of a run, before anything is read or loaded."""

import os
from typing import cast

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.evaluate._plan import EvaluationPlan
from attnflow.evaluate.corpus._worker import Load
from attnflow.models import Loaded

_EXPECTED = (
    "model: expected the folder or id of a model, or a function without arguments that returns a "
    "models.Loaded"
)
_FIX = "For a model in memory pass lambda: attnflow.models.Loaded(model, tokenizer)"


def check_arguments(
    model: object, plan: object, workers: object, on_progress: object, *, fail_fast: object
) -> None:
    """Raise an InputError about an argument of `run` that has another type."""
    # Modules and pipelines can be called too, but do not return a model.
    loads = callable(model) and not hasattr(model, "state_dict") and not hasattr(model, "model")
    if not loads and not isinstance(model, str | os.PathLike):
        raise InputError(f"{_EXPECTED}, got {type(model).__name__}. {_FIX}")
    if not isinstance(plan, EvaluationPlan | None):
        raise InputError(
            f"plan: expected an EvaluationPlan, as in EvaluationPlan(methods=['raw']), got {plan!r}"
        )
    if workers is not None:
        _ = checks.as_int(workers, "workers", least=1)
    _ = checks.as_bool(fail_fast, "fail_fast")
    if not callable(on_progress):
        raise InputError(
            f"on_progress: expected a function of a RunProgress, got {on_progress!r}. Leave it out "
            "for none"
        )


def load_checked(load: Load) -> Loaded:
    """Return what a function loads; an InputError unless it is a model with its tokenizer."""
    loaded = load()
    if not isinstance(cast("object", loaded), Loaded):
        raise InputError(f"{_EXPECTED}, got one that returns {type(loaded).__name__}. {_FIX}")
    return loaded
