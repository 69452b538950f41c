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
from attnflow.maxflow import MaxFlow
from attnflow.methods import flow, max_flow, raw, rollout
from attnflow.types import (
    Attention,
    AttentionGraph,
    EncoderDecoderAttention,
    Grid,
    Importance,
    Origin,
    Sink,
    TokenAttention,
    random_attention,
)

if TYPE_CHECKING:
    from attnflow import evaluate, importance, models, paper, plot, view
    from attnflow.evaluate import Explanation, explain
    from attnflow.models import attend, load


__all__ = [
    "Attention",
    "AttentionGraph",
    "AttnflowError",
    "EncoderDecoderAttention",
    "Explanation",
    "Grid",
    "Importance",
    "InputError",
    "MaxFlow",
    "MissingDependencyError",
    "Origin",
    "Sink",
    "SolverError",
    "TokenAttention",
    "UnsupportedModelError",
    "__version__",
    "attend",
    "evaluate",
    "explain",
    "flow",
    "importance",
    "load",
    "max_flow",
    "models",
    "paper",
    "plot",
    "random_attention",
    "raw",
    "rollout",
    "view",
]

# Imported when first used, because they need optional packages (PEP 562).
_LAZY_PACKAGES = frozenset({"evaluate", "importance", "models", "paper", "plot", "view"})
_LAZY_NAMES = {
    "Explanation": "evaluate",
    "attend": "models",
    "explain": "evaluate",
    "load": "models",
}


def __getattr__(name: str) -> Any:
    package = name if name in _LAZY_PACKAGES else _LAZY_NAMES.get(name)
    if package is None:
        raise AttributeError(f"module 'attnflow' has no attribute {name!r}")
    module = importlib.import_module(f"attnflow.{package}")
    globals()[name] = found = module if package == name else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
