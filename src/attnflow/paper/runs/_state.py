"""`RunState`: everything that changes during a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from attnflow.paper.runs._progress import EpochLog, EpochProgress

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


class RunRecipe(Protocol):
    """The settings of a run, as far as all runs have them."""

    @property
    def seed(self) -> int: ...
    @property
    def epochs(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...


_Recipe = TypeVar("_Recipe", bound=RunRecipe)
_Model = TypeVar("_Model", bound="nn.Module")


@dataclass(slots=True, kw_only=True)
class RunState(Generic[_Recipe, _Model]):
    """What a checkpoint contains: `modules` are those with weights, `model` the trained one."""

    recipe: _Recipe
    model: _Model
    optimizer: torch.optim.AdamW
    total_steps: int
    history: list[EpochLog] = field(default_factory=list[EpochLog])
    step: int = 0
    progress: EpochProgress = field(default_factory=EpochProgress)
    rng_state: Tensor | None = None  # of torch, if the run stopped within an epoch

    @property
    def modules(self) -> dict[str, nn.Module]:
        """The modules whose parameters a checkpoint contains."""
        return {"model": self.model}
