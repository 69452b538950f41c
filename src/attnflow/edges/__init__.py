"""What the edges of an attention graph weigh: attention, or what a layer does with it.

Each function takes a model and an input and returns an `AttentionGraph`, which `raw`, `rollout`,
`flow`, `max_flow`, plots and the page take. Needs torch, and transformers for models from Hugging
Face: the extra `models`.
"""

from attnflow.edges._alti import alti
from attnflow.edges._attention import attention
from attnflow.edges._choose import EDGES, Edges, check_edges, edge_graph
from attnflow.edges._effective import effective
from attnflow.edges._gradient import gradient
from attnflow.edges._layout import BlockLayout, check_layout
from attnflow.edges._logit_contributions import logit_contributions
from attnflow.edges._norms import norms
from attnflow.edges._value_zeroing import value_zeroing

__all__ = [
    "EDGES", "BlockLayout", "Edges", "alti", "attention", "check_edges", "check_layout",
    "edge_graph", "effective", "gradient", "logit_contributions", "norms", "value_zeroing",
]  # fmt: skip
