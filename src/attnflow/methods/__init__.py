"""How layers compose: an attention graph in, token attention out, one file a method."""

from attnflow.methods._flow import flow
from attnflow.methods._max_flow import max_flow
from attnflow.methods._raw import raw
from attnflow.methods._rollout import rollout

__all__ = ["flow", "max_flow", "raw", "rollout"]
