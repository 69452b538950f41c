"""The numbers of the paper's Tables 1, 2 and 3.

Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385
"""

from collections.abc import Mapping
from typing import TypeAlias

_Row: TypeAlias = tuple[tuple[float, float], ...]

# The paper's numbers for layers 1 to 6: mean and standard deviation of Spearman's rank correlation
# with blank-out (Table 1) and with input gradients (Table 2).
TABLE_1: Mapping[str, _Row] = {
    "raw": ((0.69, 0.27), (0.10, 0.43), (-0.11, 0.49), (-0.09, 0.52), (0.20, 0.45), (0.29, 0.39)),
    "rollout": ((0.32, 0.26), (0.38, 0.27), (0.51, 0.26), (0.62, 0.26), (0.70, 0.25), (0.71, 0.24)),
    "flow": ((0.32, 0.26), (0.44, 0.29), (0.70, 0.25), (0.70, 0.22), (0.71, 0.22), (0.70, 0.22)),
}
TABLE_2: Mapping[str, _Row] = {
    "raw": ((0.53, 0.33), (0.16, 0.38), (-0.06, 0.42), (0.00, 0.47), (0.24, 0.40), (0.46, 0.35)),
    "rollout": ((0.22, 0.31), (0.27, 0.32), (0.39, 0.32), (0.47, 0.32), (0.53, 0.32), (0.54, 0.31)),
    "flow": ((0.22, 0.31), (0.31, 0.34), (0.54, 0.32), (0.61, 0.28), (0.60, 0.28), (0.61, 0.28)),
}
# A sentiment classifier and input gradients, for the layers of TABLE_3_LAYERS.
TABLE_3_LAYERS = (1, 3, 5, 6)
TABLE_3: Mapping[str, _Row] = {
    "raw": ((0.12, 0.21), (0.09, 0.21), (0.08, 0.20), (0.09, 0.21)),
    "rollout": ((0.11, 0.19), (0.12, 0.21), (0.13, 0.21), (0.13, 0.20)),
    "flow": ((0.11, 0.19), (0.11, 0.21), (0.12, 0.22), (0.14, 0.21)),
}
