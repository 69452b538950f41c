"""Checks that the captured calls of a pass are a stack of layers: complete and in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attnflow.errors import UnsupportedModelError
from attnflow.models._model import has_decoder, is_pretrained
from attnflow.models.capture._call import Call, Receive, Role

if TYPE_CHECKING:
    from torch import nn


class CallChecker:
    """Passes each call on to `receive`, and rejects passes whose calls are no stack of layers."""

    def __init__(self, model: nn.Module, inputs: Mapping[str, Any], receive: Receive) -> None:
        self._model, self._inputs, self._receive = model, inputs, receive
        self._encoder_decoder = has_decoder(model) or "tgt" in inputs
        self._calls: list[tuple[str, Role]] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def receive(self, call: Call) -> None:
        """Check one call and pass it on."""
        self._check_batch(call)
        if self._encoder_decoder:
            self._check_order(call)
        self._calls.append((call.name, call.role))
        self._receive(call)

    def check(self) -> None:
        """Check at the end of the pass that every layer attended, and once."""
        if self._encoder_decoder and self._calls[-1][1] != "cross":
            raise self._wrong_order(*self._calls[-1], "nothing")
        _check_every_layer(self._model, [name for name, _ in self._calls])
        self._check_counts()

    def _check_batch(self, call: Call) -> None:
        """Reject a batch on the second axis, except for modules known to have it there."""
        import torch

        if is_pretrained(self._model):
            return
        tensors = (value for value in self._inputs.values() if isinstance(value, torch.Tensor))
        shape, examples = next((tuple(tensor.shape) for tensor in tensors), ()), call.size[0]
        if examples == 1 or len(shape) < 2 or shape[0] == examples or shape[1] != examples:
            return
        module = dict(self._model.named_modules()).get(call.name) if call.name else None
        if isinstance(module, torch.nn.MultiheadAttention) and not module.batch_first:
            return
        raise UnsupportedModelError(
            f"{call.name or 'an attention'} ran on {examples} sequences, and the input has shape "
            f"{shape}: a batch on the second axis is supported for nn.MultiheadAttention only. "
            "Pass one example, or use a model with the batch first"
        )

    def _check_order(self, call: Call) -> None:
        """Check that decoder layers have self-attention, then one cross-attention."""
        if not call.name:
            raise UnsupportedModelError(
                f"{type(self._model).__name__} reads two sequences and calls "
                "F.scaled_dot_product_attention directly, so that self-attention and "
                "cross-attention cannot be distinguished. Pass its encoder alone, or collect the "
                "weights and pass them to attnflow.EncoderDecoderAttention"
            )
        before, role = self._calls[-1] if self._calls else ("", "self")
        if (call.role == "cross") != (role == "decoder") or (role, call.role) == ("cross", "self"):
            raise self._wrong_order(before, role, call.name)

    def _wrong_order(self, before: str, role: Role, after: str) -> UnsupportedModelError:
        return UnsupportedModelError(
            f"{type(self._model).__name__} reads two sequences: expected the layers of an encoder, "
            "then decoder layers with self-attention followed by cross-attention in a module with "
            f"a known name such as cross_attn, got {before or 'nothing'} ({role}) followed by "
            f"{after}. Pass the encoder alone, or collect the weights and pass them to "
            "attnflow.EncoderDecoderAttention"
        )

    def _check_counts(self) -> None:
        """Reject layers captured more than once, except layers that are reused, as in ALBERT."""
        counts: dict[tuple[int, Role], Counter[str]] = {}
        expected: dict[int, int] = {}
        for name, role in self._calls:
            config = self._config_of(name)
            if config is not None:
                expected[id(config)] = config.num_hidden_layers
                counts.setdefault((id(config), role), Counter())[name] += 1
        for (config, _), captured in counts.items():
            # Calls without a name can only be counted.
            repeated = captured.most_common(1)[0][1] > 1 or "" in captured
            if repeated and captured.total() != expected[config]:
                raise UnsupportedModelError(
                    f"{type(self._model).__name__}: expected one attention for each of "
                    f"{expected[config]} layers, got {captured.total()}. Layers attend more than "
                    "once or not at all, or the model ran more than once. Pass a model that runs "
                    "once, with one attention per layer"
                )

    def _config_of(self, name: str) -> Any:
        """Return the config with num_hidden_layers nearest above a module, or None."""
        owners = _path_to(self._model, name) if name else self._model.modules()
        configs = [getattr(module, "config", None) for module in owners]
        counted = [c for c in configs if isinstance(getattr(c, "num_hidden_layers", None), int)]
        if not counted:
            return None
        return counted[-1 if name else 0]  # without a name, the config of the outermost model


def _path_to(model: nn.Module, name: str) -> Iterator[nn.Module]:
    """Yield the modules from the model down to the one with this name, as far as they exist."""
    module: Any = model
    yield module
    for part in name.split("."):
        module = module._modules.get(part)  # noqa: SLF001 (getattr would find properties too)
        if module is None:
            return
        yield module


def _check_every_layer(model: nn.Module, names: list[str]) -> None:
    """Reject a model that has attention in some layers only, as hybrids with Mamba have."""
    from torch import nn

    captured: dict[str, set[str]] = {}  # layer numbers, by the name of their ModuleList
    for name in names:
        parts = name.split(".")
        # Lists outside a Hugging Face model are not its layers.
        inside = (i for i, part in enumerate(_path_to(model, name)) if is_pretrained(part))
        start = next(inside, 0)
        place = next((i for i in range(start, len(parts)) if parts[i].isdecimal()), None)
        if place is not None:
            captured.setdefault(".".join(parts[:place]), set()).add(parts[place])
    for path, numbers in captured.items():
        layers = model.get_submodule(path)
        if not isinstance(layers, nn.ModuleList):
            continue
        # By identity: layers that share their weights are one module.
        attend = {id(layers[int(number)]) for number in numbers}
        missing = [number for number, layer in enumerate(layers) if id(layer) not in attend]
        if missing:
            raise UnsupportedModelError(
                f"{type(model).__name__} has {len(layers)} layers, and no supported attention was "
                f"found in layer {missing[0] + 1}. Models that mix attention with other layers, "
                "such as Mamba, are not supported"
            )
