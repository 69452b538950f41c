"""Exact maximum flow in layered networks; knows nothing of transformers.

`MaxFlow` is public as `attnflow.MaxFlow`; the functions are for `attnflow.methods`, not for users.
Importing this package does not load Numba; the first solve of three layers or more does.
"""

from attnflow.maxflow._pair import MaxFlow, solve_pair
from attnflow.maxflow._split import Objective, split_flow
from attnflow.maxflow._values import flow_values

__all__ = ["MaxFlow", "Objective", "flow_values", "solve_pair", "split_flow"]
