"""How much each position of a transformer takes from each input token.

Attention rollout and attention flow, as in "Quantifying Attention Flow in Transformers"
(Abnar & Zuidema, 2020, https://doi.org/10.18653/v1/2020.acl-main.385).
"""

import importlib
from typing import TYPE_CHECKING, Any

from attnflow._internal.version import __version__
from attnflow.errors import (
    AttnflowError,
    InputError,
    MissingDependencyError,
    SolverError,
    UnsupportedModelError,
)

if TYPE_CHECKING:
    from attnflow import edges, evaluate, importance, models, paper, plot, view
    from attnflow.evaluate import Explanation, explain
    from attnflow.maxflow import MaxFlow
    from attnflow.methods import flow, flow_split, max_flow, raw, rollout
    from attnflow.models import attend, load
    from attnflow.types import (
        Attention,
        AttentionGraph,
        EncoderDecoderAttention,
        FlowSplit,
        Grid,
        Importance,
        Origin,
        Sink,
        TokenAttention,
        random_attention,
    )


__all__ = [
    "Attention", "AttentionGraph", "AttnflowError", "EncoderDecoderAttention", "Explanation",
    "FlowSplit", "Grid", "Importance", "InputError", "MaxFlow", "MissingDependencyError", "Origin",
    "Sink", "SolverError", "TokenAttention", "UnsupportedModelError", "__version__", "attend",
    "edges", "evaluate", "explain", "flow", "flow_split", "importance", "load", "max_flow",
    "models", "paper", "plot", "random_attention", "raw", "rollout", "view",
]  # fmt: skip

# Imported when first used (PEP 562): some need optional packages, and the command handles Ctrl-C
# before NumPy is imported.
_LAZY = {
    "edges": "",
    "evaluate": "Explanation explain",
    "importance": "",
    "maxflow": "MaxFlow",
    "methods": "flow flow_split max_flow raw rollout",
    "models": "attend load",
    "paper": "",
    "plot": "",
    "types": "Attention AttentionGraph EncoderDecoderAttention FlowSplit Grid Importance Origin "
    "Sink TokenAttention random_attention",
    "view": "",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"attnflow.{name}")
    for package, names in _LAZY.items():
        if name in names.split():
            value = getattr(importlib.import_module(f"attnflow.{package}"), name)
            return globals().setdefault(name, value)
    raise AttributeError(f"module 'attnflow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
