"""How much each position of a transformer takes from each input token.

Attention rollout and attention flow, as in "Quantifying Attention Flow in Transformers"
(Abnar & Zuidema, 2020, https://doi.org/10.18653/v1/2020.acl-main.385).
"""

from attnflow.attention import Attention
from attnflow.encoder_decoder import EncoderDecoderAttention
from attnflow.errors import (
    AttnflowError,
    InputError,
    MissingDependencyError,
    SolverError,
    UnsupportedModelError,
)
from attnflow.graph import AttentionGraph
from attnflow.maxflow import MaxFlow
from attnflow.methods import flow, max_flow, raw, rollout
from attnflow.origin import Grid, Origin
from attnflow.sinks import Sink
from attnflow.token_attention import TokenAttention

__version__ = "0.1.0"

__all__ = [
    "Attention",
    "AttentionGraph",
    "AttnflowError",
    "EncoderDecoderAttention",
    "Grid",
    "InputError",
    "MaxFlow",
    "MissingDependencyError",
    "Origin",
    "Sink",
    "SolverError",
    "TokenAttention",
    "UnsupportedModelError",
    "__version__",
    "flow",
    "max_flow",
    "raw",
    "rollout",
]
