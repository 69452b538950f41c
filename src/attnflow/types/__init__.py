"""The data types: `Attention` → `AttentionGraph` → `TokenAttention`.

`attnflow.types._attention` states the convention of axes and numbers for all of them.
`EdgeSettings` is for the other packages of attnflow, not for users.
"""

from attnflow._internal.sinks import Sink
from attnflow._internal.words import Span
from attnflow.types._attention import Attention
from attnflow.types._encoder_decoder import EncoderDecoderAttention
from attnflow.types._flow_split import FlowSplit
from attnflow.types._fusion import EdgeSettings, Fusion
from attnflow.types._graph import AttentionGraph
from attnflow.types._importance import Importance
from attnflow.types._layer_table import LayerTable
from attnflow.types._origin import Grid, Origin
from attnflow.types._synthetic import random_attention
from attnflow.types._token_attention import METHODS, Method, TokenAttention

__all__ = [
    "METHODS", "Attention", "AttentionGraph", "EdgeSettings", "EncoderDecoderAttention",
    "FlowSplit", "Fusion", "Grid", "Importance", "LayerTable", "Method", "Origin", "Sink", "Span",
    "TokenAttention", "random_attention",
]  # fmt: skip
