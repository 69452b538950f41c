"""Models in: a torch model and its input give attention, or rollout itself for long inputs.

Needs torch, and transformers for models from Hugging Face: `pip install "attnflow[models]"`.
"""

from attnflow.models._attend import attend
from attnflow.models._count import count_tokens, token_limit
from attnflow.models._load import Loaded, load
from attnflow.models._rollout import rollout

__all__ = ["Loaded", "attend", "count_tokens", "load", "rollout", "token_limit"]
