"""Models in: a torch model and its input give attention, or rollout itself for long inputs.

Needs torch, and transformers for models from Hugging Face: `pip install "attnflow[models]"`.
"""

from attnflow.models._attend import attend
from attnflow.models._load import Loaded, load
from attnflow.models._rollout import rollout

__all__ = ["Loaded", "attend", "load", "rollout"]
