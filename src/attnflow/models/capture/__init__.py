"""Capture of the attention of one forward pass by hooks.

This is the interface of `attnflow.models` for the other packages of attnflow, not for users.
"""

from attnflow.models._model import evaluation_mode, explain_failure, force_eager
from attnflow.models.capture._calls import (
    ROLES,
    Call,
    Collector,
    Role,
    check_sums,
    not_finite,
    not_normalized,
)
from attnflow.models.capture._capture import capture_attention, uses_interface
from attnflow.models.capture._hooks_modules import hook_modules
from attnflow.models.capture._hooks_transformers import hook_transformers
from attnflow.models.capture._memory import Estimate, Sizes, check_memory, sizes_of

__all__ = [
    "ROLES", "Call", "Collector", "Estimate", "Role", "Sizes", "capture_attention", "check_memory",
    "check_sums", "evaluation_mode", "explain_failure", "force_eager", "hook_modules",
    "hook_transformers", "not_finite", "not_normalized", "sizes_of", "uses_interface",
]  # fmt: skip
