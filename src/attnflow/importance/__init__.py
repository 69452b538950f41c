"""How much the output of a model depends on each token of its input.

Needs torch, and transformers for models from Hugging Face: the extra `models`.
"""

from attnflow.importance._blank_out import blank_out
from attnflow.importance._input_gradient import input_gradient
from attnflow.importance._integrated_gradients import integrated_gradients
from attnflow.importance._leave_span_out import leave_span_out
from attnflow.importance._predict import predict, predict_among
from attnflow.importance._prediction import Prediction
from attnflow.types import Importance

# For `attnflow.evaluate`, not for users.
from attnflow.importance._recorded import (  # isort: skip
    RecordedPass as RecordedPass,
    attend_recorded as attend_recorded,
)
from attnflow.importance._with_prediction import (  # isort: skip
    importance_with_prediction as importance_with_prediction,
)
from attnflow.importance._without_tokens import (  # isort: skip
    log_probabilities_without as log_probabilities_without,
)

__all__ = [
    "Importance", "Prediction", "blank_out", "input_gradient",
    "integrated_gradients", "leave_span_out", "predict", "predict_among",
]  # fmt: skip
