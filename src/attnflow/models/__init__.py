"""Attention of torch models for an input, and rollout during the forward pass for long inputs.

Needs torch, and transformers for models from Hugging Face: the extra `models`.
"""

from attnflow.models._attend import attend
from attnflow.models.inputs import count_tokens, token_limit
from attnflow.models.loading import Loaded, load
from attnflow.models.segments import rollout_segments

# For `attnflow.importance`, not for users.
from attnflow.models._attend import attend_inputs as attend_inputs  # isort: skip

__all__ = ["Loaded", "attend", "count_tokens", "load", "rollout_segments", "token_limit"]
