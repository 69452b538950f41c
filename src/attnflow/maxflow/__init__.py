"""Exact maximum flow in layered networks; knows nothing of transformers.

Importing this package does not load Numba; the first solve of three layers or more does.
"""

from attnflow.maxflow._pair import MaxFlow, solve_pair
from attnflow.maxflow._values import flow_values

__all__ = ["MaxFlow", "flow_values", "solve_pair"]
