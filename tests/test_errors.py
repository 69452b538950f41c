import pytest

import attnflow as af
from attnflow.errors import NoPredictionError


@pytest.mark.parametrize(
    ("error", "standard"),
    [
        (af.InputError, ValueError),
        (af.UnsupportedModelError, ValueError),
        (NoPredictionError, af.UnsupportedModelError),
        (af.MissingDependencyError, ImportError),
        (af.SolverError, RuntimeError),
    ],
)
def test_every_error_is_ours_and_a_standard_type_at_once(
    error: type[Exception], standard: type[Exception]
):
    assert issubclass(error, af.AttnflowError)
    assert issubclass(error, standard)
