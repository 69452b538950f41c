"""Attention rollout of segments of an input, computed during the forward pass."""

from attnflow.models.segments._rollout_segments import rollout_segments

__all__ = ["rollout_segments"]
