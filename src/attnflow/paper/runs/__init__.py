"""Training runs: their folder, checkpoint, epochs and progress, whatever the model is."""

from attnflow.paper.runs._checkpoint import digest, read_checkpoint, restore, write_checkpoint
from attnflow.paper.runs._epochs import new_optimizer, run_epochs, run_steps
from attnflow.paper.runs._folder import CARD, CHECKPOINT, check_folder, locked_folder
from attnflow.paper.runs._process import torch_threads
from attnflow.paper.runs._progress import EpochLog, StepLog
from attnflow.paper.runs._state import RunState

__all__ = [
    "CARD", "CHECKPOINT", "EpochLog", "RunState", "StepLog", "check_folder", "digest",
    "locked_folder", "new_optimizer", "read_checkpoint", "restore", "run_epochs",
    "run_steps", "torch_threads", "write_checkpoint",
]  # fmt: skip
