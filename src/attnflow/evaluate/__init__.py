"""How well token attention agrees with what the answer of a model depends on.

Ranks need scipy: `pip install "attnflow[models]"`.
"""

from attnflow.evaluate._agreement import agreement, hits
from attnflow.evaluate._layer_table import LayerTable
from attnflow.evaluate._spearman import spearman
from attnflow.evaluate._table_files import check_path, known

__all__ = ["LayerTable", "agreement", "check_path", "hits", "known", "spearman"]
