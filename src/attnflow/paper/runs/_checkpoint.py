"""The checkpoint: the state of a training run in one file, with a digest of its content."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

from attnflow._internal.files import parse_json
from attnflow._internal.run_folder import replace_file
from attnflow.errors import InputError
from attnflow.paper.runs._progress import EpochLog, EpochProgress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from attnflow.paper.runs._state import RunState

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # the state of AdamW for a parameter
_RNG = "rng_state"
_INFO: dict[str, type] = {
    "recipe": dict, "data": str, "threads": int, "step": int, "progress": dict, "history": list,
}  # fmt: skip
_RESTART = "Choose another folder, or delete the file to train from the start"

_Record = TypeVar("_Record", EpochLog, EpochProgress)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The content of a checkpoint; `data` is a digest of what the run is trained on."""

    path: Path
    recipe: dict[str, Any]
    data: str
    threads: int
    step: int
    progress: EpochProgress
    history: list[EpochLog]
    tensors: dict[str, Tensor]

    def check(self, recipe: Mapping[str, Any], data: str, threads: int, *, other: str) -> None:
        """Raise an InputError if the run had other settings, data or threads.

        `other` is what a run has besides its settings and data, in the words of the error.
        """
        stored = {**self.recipe, "threads": self.threads}
        given = {**recipe, "threads": threads}  # another number changes the last bits
        differences = [
            f"{name} was {stored.get(name)}, got {value}"
            for name, value in given.items()
            if value != stored.get(name)
        ]
        if self.data != data:
            differences.append(f"the data or the {other} was another one")
        if differences:
            raise InputError(
                f"{self.path} belongs to another run: {', '.join(differences)}. Choose another "
                f"folder, or resume with the same settings, data and {other}"
            )


def write_checkpoint(path: Path, state: RunState[Any, Any], data: str, threads: int) -> None:
    """Write the weights of all modules, the optimizer's moments and the progress to `path`.

    Within an epoch also the state of torch's random generator. The file replaces an earlier one
    once it is complete: a full disk or a kill leaves the earlier one.
    """
    from safetensors.torch import save

    tensors: dict[str, Tensor] = {}
    for part, module in state.modules.items():
        for name, parameter in module.named_parameters():
            tensors[f"{part}.{name}"] = parameter.detach()
    for name, parameter in state.model.named_parameters():
        for moment, tensor in state.optimizer.state[parameter].items():
            tensors[f"{moment}.{name}"] = tensor
    if state.rng_state is not None:
        tensors[_RNG] = state.rng_state
    info = {
        "recipe": state.recipe.to_dict(),
        "data": data,
        "threads": threads,
        "step": state.step,
        "progress": asdict(state.progress),
        "history": [asdict(epoch) for epoch in state.history],
    }
    text = json.dumps(info)
    metadata = {"info": text, "sha256": digest(text, tensors)}
    replace_file(path, save(tensors, metadata=metadata))


def read_checkpoint(path: Path) -> Checkpoint:
    """Return the content of a checkpoint; a damaged or other file is an InputError."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError(f"expected a regular file, got {path}. {_RESTART}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError, ValueError) as error:
        raise InputError(f"{path} cannot be read as a checkpoint: {error}. {_RESTART}") from error
    if not {"info", "sha256"} <= metadata.keys():
        raise InputError(f"{path} is not a checkpoint of this version of attnflow. {_RESTART}")
    if digest(metadata["info"], tensors) != metadata["sha256"]:
        raise InputError(
            f"{path} is damaged: its content does not match its SHA-256 digest. Restore it from a "
            "copy; or choose another folder, or delete the file to train from the start"
        )
    try:
        info = _parse_info(metadata["info"])
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{path} is not a checkpoint of this version of attnflow ({error}). {_RESTART}"
        ) from error
    return Checkpoint(path, **info, tensors=tensors)


def _parse_info(text: str) -> dict[str, Any]:
    """Return the fields of `Checkpoint` in JSON; wrong types are a TypeError."""
    info = parse_json(text)
    fields: dict[str, Any] = {}
    for name, kind in _INFO.items():
        fields[name] = info.get(name) if isinstance(info, dict) else info
        if not isinstance(fields[name], kind):
            raise TypeError(f"unexpected {name}: {str(fields[name])[:80]}")
    fields["progress"] = _record(EpochProgress, "progress", fields["progress"])
    fields["history"] = [_record(EpochLog, "history", epoch) for epoch in fields["history"]]
    return fields


def _record(kind: type[_Record], name: str, values: object) -> _Record:
    types = get_type_hints(kind)
    fields = cast("dict[str, Any]", values) if isinstance(values, dict) else {}
    if fields.keys() != types.keys() or not all(
        isinstance(fields[field], expected) for field, expected in types.items()
    ):
        raise TypeError(f"unexpected {name}: {str(values)[:80]}")
    return kind(**fields)


def restore(state: RunState[Any, Any], checkpoint: Checkpoint) -> None:
    """Copy a checkpoint into a new state; tensors of other names or shapes are an InputError."""
    import torch

    tensors = checkpoint.tensors
    _check_tensors(state, checkpoint)
    with torch.no_grad():
        for part, module in state.modules.items():
            for name, parameter in module.named_parameters():
                _ = parameter.copy_(tensors[f"{part}.{name}"])
    for name, parameter in state.model.named_parameters():
        if _has_moments(name, checkpoint):
            state.optimizer.state[parameter] = {m: tensors[f"{m}.{name}"] for m in _MOMENTS}
    state.step, state.progress = checkpoint.step, checkpoint.progress
    state.history, state.rng_state = list(checkpoint.history), tensors.get(_RNG)


def _check_tensors(state: RunState[Any, Any], checkpoint: Checkpoint) -> None:
    import torch

    expected: dict[str, Tensor] = {}
    for name, parameter in state.model.named_parameters():
        expected |= {f"{part}.{name}": parameter for part in state.modules}
        if _has_moments(name, checkpoint):
            expected |= {f"{moment}.{name}": parameter for moment in _MOMENTS}
            expected[f"step.{name}"] = torch.zeros(())
    if _RNG in checkpoint.tensors:
        expected[_RNG] = torch.get_rng_state()
    types, found = (
        {name: f"{tensor.dtype} {tuple(tensor.shape)}" for name, tensor in tensors.items()}
        for tensors in (expected, checkpoint.tensors)
    )
    for name in sorted(types.keys() | found.keys()):
        if types.get(name) != found.get(name):
            raise InputError(
                f"{checkpoint.path} belongs to another architecture: expected {name} "
                f"{types.get(name, 'missing')}, got {found.get(name, 'missing')}. {_RESTART}"
            )


def _has_moments(name: str, checkpoint: Checkpoint) -> bool:
    """Whether AdamW has a state for a parameter: one that never had a gradient has none."""
    return any(f"{moment}.{name}" in checkpoint.tensors for moment in _MOMENTS)


def digest(info: str, tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of a text and of names, types, shapes and bytes of all tensors."""
    import torch

    result = hashlib.sha256(info.encode())
    for name, tensor in sorted(tensors.items()):
        result.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        result.update(tensor.contiguous().flatten().view(torch.uint8).numpy().data)
    return result.hexdigest()
