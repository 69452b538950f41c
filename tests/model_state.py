"""What a pass might change in a model, and a check that it did not."""

import contextlib
import copy
from collections.abc import Generator
from typing import Any

import torch
from torch import nn
from torch.backends import mha

HOOKS = [name for name in vars(nn.Module()) if "hooks" in name]


def state(model: nn.Module) -> dict[str, Any]:
    """All of a model that a pass might touch, but for its weights."""
    configs: list[Any] = [getattr(module, "config", None) for module in model.modules()]
    parameters = list(model.parameters())
    return {
        "implementations": [getattr(each, "_attn_implementation", None) for each in configs],
        "configs": [each.to_dict() for each in configs if hasattr(each, "to_dict")],
        "hooks": [
            {name: list(getattr(module, name).items()) for name in HOOKS}
            for module in model.modules()
        ],
        "training": [module.training for module in model.modules()],
        "attributes": [sorted(vars(module)) for module in model.modules()],
        "gradients required": [parameter.requires_grad for parameter in parameters],
        "gradients": [None if p.grad is None else p.grad.sum().item() for p in parameters],
        "fast path": mha.get_fastpath_enabled(),
        "gradients in general": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
    }


@contextlib.contextmanager
def unchanged(model: nn.Module) -> Generator[None]:
    """After what runs inside, also if it raises, the model must be exactly as it was."""
    before = copy.deepcopy(state(model))
    weights = [parameter.detach().clone() for parameter in model.parameters()]
    try:
        yield
    finally:
        assert state(model) == before
        after = list(model.parameters())
        assert len(after) == len(weights) > 0
        assert all(map(torch.equal, weights, after))
