"""Exact maximum flow in layered networks; knows nothing of transformers.

`MaxFlow` is public as `attnflow.MaxFlow`; the functions are for `attnflow.methods`, not for users.
Importing this package does not load Numba, nor do small flows: plain Python solves them until a
process has had about a second of work.
"""

from attnflow.maxflow._choice import COMPILING, is_compiled_on_disk, load_kernels
from attnflow.maxflow._pair import MaxFlow, solve_pair
from attnflow.maxflow._split import Objective, split_flow
from attnflow.maxflow._values import flow_values

__all__ = [
    "COMPILING", "MaxFlow", "Objective", "flow_values", "is_compiled_on_disk", "load_kernels",
    "solve_pair", "split_flow",
]  # fmt: skip
