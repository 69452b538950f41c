"""Evaluation over a corpus: in parts that are files, so that a run resumes; local or on Ray.

Needs pyarrow: the extra `parquet`.
"""

from attnflow.evaluate.corpus._run import PART_SIZE, EngineName, RunProgress, RunResult, run
from attnflow.evaluate.corpus._summary import CellSummary, Summary

__all__ = [
    "PART_SIZE", "CellSummary", "EngineName", "RunProgress", "RunResult", "Summary", "run",
]  # fmt: skip
