"""How much the answer of a model depends on each token, asked of the model itself.

Needs torch, and transformers for models from Hugging Face: `pip install "attnflow[models]"`.
"""

from attnflow.importance._blank_out import blank_out
from attnflow.importance._input_gradient import input_gradient
from attnflow.importance._integrated_gradients import integrated_gradients
from attnflow.importance._leave_span_out import leave_span_out
from attnflow.importance._predict import predict
from attnflow.importance._predict_among import predict_among
from attnflow.importance._prediction import Prediction
from attnflow.types import Importance

__all__ = [
    "Importance",
    "Prediction",
    "blank_out",
    "input_gradient",
    "integrated_gradients",
    "leave_span_out",
    "predict",
    "predict_among",
]
