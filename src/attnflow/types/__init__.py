"""The data types: `Attention` → `AttentionGraph` → `TokenAttention`.

`attnflow.types._attention` states the convention of axes and numbers for all of them.
"""

from attnflow._internal.words import Span
from attnflow.types._attention import Attention
from attnflow.types._columns import check_table_path, nan_to_none
from attnflow.types._encoder_decoder import EncoderDecoderAttention
from attnflow.types._fusion import EdgeSettings, Fusion
from attnflow.types._graph import AttentionGraph
from attnflow.types._importance import Importance
from attnflow.types._layer_table import LayerTable
from attnflow.types._origin import Grid, Origin
from attnflow.types._sinks import Sink, describe_sinks
from attnflow.types._synthetic import random_attention
from attnflow.types._token_attention import METHODS, Method, TokenAttention
from attnflow.types._words import position_name, read_words, word_names

__all__ = [
    "METHODS", "Attention", "AttentionGraph", "EdgeSettings", "EncoderDecoderAttention", "Fusion",
    "Grid", "Importance", "LayerTable", "Method", "Origin", "Sink", "Span", "TokenAttention",
    "check_table_path", "describe_sinks", "nan_to_none", "position_name", "random_attention",
    "read_words", "word_names",
]  # fmt: skip
