"""The data types: what goes in, what comes out, and what is between.

`Attention` → `AttentionGraph` → `TokenAttention`. The axis convention is stated in
`attnflow.types._attention`.
"""

from attnflow._internal.words import Span
from attnflow.types._attention import Attention
from attnflow.types._encoder_decoder import EncoderDecoderAttention
from attnflow.types._fusion import EdgeSettings, Fusion
from attnflow.types._graph import AttentionGraph
from attnflow.types._importance import Importance
from attnflow.types._layer_table import LayerTable
from attnflow.types._layer_table_files import check_path, known
from attnflow.types._origin import Grid, Origin
from attnflow.types._score_table import position_name
from attnflow.types._sinks import Sink, describe_sinks
from attnflow.types._synthetic import random_attention
from attnflow.types._token_attention import METHODS, Method, TokenAttention
from attnflow.types._weights import Softmaxed
from attnflow.types._words import read_words, word_names

__all__ = [
    "METHODS",
    "Attention",
    "AttentionGraph",
    "EdgeSettings",
    "EncoderDecoderAttention",
    "Fusion",
    "Grid",
    "Importance",
    "LayerTable",
    "Method",
    "Origin",
    "Sink",
    "Softmaxed",
    "Span",
    "TokenAttention",
    "check_path",
    "describe_sinks",
    "known",
    "position_name",
    "random_attention",
    "read_words",
    "word_names",
]
