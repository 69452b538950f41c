"""What a pass might change in a model."""

from typing import Any

import torch
from torch import nn
from torch.backends import mha

HOOKS = [name for name in vars(nn.Module()) if "hooks" in name]


def state(model: nn.Module) -> dict[str, Any]:
    """All of a model that a pass might touch, but for its weights."""
    configs: list[Any] = [getattr(module, "config", None) for module in model.modules()]
    return {
        "implementations": [getattr(each, "_attn_implementation", None) for each in configs],
        "configs": [each.to_dict() for each in configs if hasattr(each, "to_dict")],
        "hooks": [
            {name: list(getattr(module, name).items()) for name in HOOKS}
            for module in model.modules()
        ],
        "training": [module.training for module in model.modules()],
        "attributes": [sorted(vars(module)) for module in model.modules()],
        "gradients": [parameter.requires_grad for parameter in model.parameters()],
        "fast path": mha.get_fastpath_enabled(),
        "gradients in general": torch.is_grad_enabled(),
    }
