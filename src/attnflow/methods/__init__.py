"""Methods that turn an attention graph into token attention: raw, rollout and flow.

`scores_of_position` is for `attnflow.evaluate`, `saturated_queries` and `uniform_graph` are for
`attnflow.view`, not for users.
"""

from attnflow.methods._flow import flow, saturated_queries
from attnflow.methods._flow_split import flow_split
from attnflow.methods._max_flow import max_flow
from attnflow.methods._of_position import scores_of_position
from attnflow.methods._raw import raw
from attnflow.methods._receptive_field import uniform_graph
from attnflow.methods._rollout import rollout

__all__ = [
    "flow",
    "flow_split",
    "max_flow",
    "raw",
    "rollout",
    "saturated_queries",
    "scores_of_position",
    "uniform_graph",
]
