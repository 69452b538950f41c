"""The state of a training run in one file, which is either the last whole one or the new one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attnflow.errors import InputError
from attnflow.paper._files import replace_file

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from torch import Tensor, nn

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what AdamW keeps of a parameter
_RANDOM = "random"  # of a checkpoint in the middle of an epoch
# What every checkpoint tells.
_FACTS = {"recipe", "data", "threads", "epoch", "step", "begun", "history"}


def write_checkpoint(
    path: Path,
    model: nn.Module,
    mean: nn.Module,
    optimizer: torch.optim.Optimizer,
    random: Tensor | None,
    facts: dict[str, Any],
) -> None:
    """Write weights, their mean, the optimizer's moments and `facts` (JSON) to `path`.

    In the middle of an epoch also the state of torch's random numbers.

    The file takes the place of an earlier one when it is complete and on the disk: a full disk or
    a kill leaves the earlier one.
    """
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        tensors[f"model.{name}"] = parameter.detach()
        for moment, tensor in optimizer.state[parameter].items():
            tensors[f"{moment}.{name}"] = tensor
    for name, parameter in mean.named_parameters():
        tensors[f"mean.{name}"] = parameter.detach()
    if random is not None:
        tensors[_RANDOM] = random
    replace_file(path, save(tensors, metadata={"facts": json.dumps(facts)}))


def read_facts(path: Path) -> dict[str, Any]:
    """What a checkpoint tells about its run, without its tensors; another file is an InputError."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            facts: object = json.loads((file.metadata() or {}).get("facts", "null"))
    except (OSError, SafetensorError, ValueError) as reason:
        raise InputError(
            f"{path} cannot be read as a checkpoint: {reason}. Choose another folder"
        ) from reason
    if not isinstance(facts, dict) or not facts.keys() >= _FACTS:
        raise InputError(f"{path} is not a checkpoint of this training; choose another folder")
    return facts


def read_checkpoint(
    path: Path, model: nn.Module, mean: nn.Module, optimizer: torch.optim.Optimizer
) -> Tensor | None:
    """Put what `write_checkpoint` wrote back in place, and return the state of random numbers.

    A file of a model with other tensors or sizes is an InputError, and nothing is changed.
    """
    import torch
    from safetensors.torch import load

    tensors = load(path.read_bytes())
    random = tensors.pop(_RANDOM, None)
    check_tensors(path, model, {name: tuple(each.shape) for name, each in tensors.items()})
    with torch.no_grad():
        for part, module in (("model", model), ("mean", mean)):
            for name, parameter in module.named_parameters():
                _ = parameter.copy_(tensors[f"{part}.{name}"])
    for name, parameter in model.named_parameters():
        optimizer.state[parameter] = {m: tensors[f"{m}.{name}"] for m in _MOMENTS}
    return random


def check_tensors(path: Path, model: nn.Module, shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse a file whose tensors are not those of a run of `model`."""
    wanted: dict[str, tuple[int, ...]] = {}
    for name, parameter in model.named_parameters():
        for part in ("model", "mean", "exp_avg", "exp_avg_sq"):
            wanted[f"{part}.{name}"] = tuple(parameter.shape)
        wanted[f"step.{name}"] = ()
    for name, shape in wanted.items():
        if shapes.get(name) != shape:
            found = f"of shape {shapes[name]}" if name in shapes else "missing"
            raise InputError(
                f"{path} is of another architecture: {name} is {found} there, and of shape {shape} "
                "here. Choose another folder"
            )
    if more := sorted(shapes.keys() - wanted.keys()):
        raise InputError(
            f"{path} is of another architecture: {more[0]} is there, and this model has no such "
            "weights. Choose another folder"
        )
