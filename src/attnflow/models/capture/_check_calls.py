"""What the calls of a pass say together: that none of them is missing, twice or out of place."""

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
    """Hands each call on to `hear`, and refuses a pass whose calls are no stack of layers."""

    def __init__(self, model: nn.Module, inputs: Mapping[str, Any], receive: Receive) -> None:
        self._model, self._inputs, self._receive = model, inputs, receive
        self._two = has_decoder(model) or "tgt" in inputs  # sequences: a source and a target
        self._calls: list[tuple[str, Role]] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def receive(self, call: Call) -> None:
        """One more call. What its place in the pass forbids is refused before anyone reads it."""
        self._check_batch(call)
        if self._two:
            self._check_turn(call)
        self._calls.append((call.name, call.role))
        self._receive(call)

    def check(self) -> None:
        """At the end of the pass: every layer attended, and no more often than it should."""
        if self._two and self._calls[-1][1] != "cross":
            raise self._out_of_turn(*self._calls[-1], "nothing")
        _check_every_layer(self._model, [name for name, _ in self._calls])
        self._check_times()

    def _check_batch(self, call: Call) -> None:
        """Refuse the second axis as the batch, but for the modules that have it there."""
        import torch

        if is_pretrained(self._model):
            return
        tensors = (each for each in self._inputs.values() if isinstance(each, torch.Tensor))
        shape, examples = next((tuple(each.shape) for each in tensors), ()), call.size[0]
        if examples == 1 or len(shape) < 2 or shape[0] == examples or shape[1] != examples:
            return
        module = dict(self._model.named_modules()).get(call.name) if call.name else None
        if isinstance(module, torch.nn.MultiheadAttention) and not module.batch_first:
            return
        raise UnsupportedModelError(
            f"{call.name or 'an attention'} ran on {examples} sequences, and an input of shape "
            f"{shape} came: whether its second axis is the batch is known of nn.MultiheadAttention "
            "only. Pass one example, or a model that has the batch first"
        )

    def _check_turn(self, call: Call) -> None:
        """Each layer of a decoder attends to its own sequence, then once to the other."""
        if not call.name:
            raise UnsupportedModelError(
                f"{type(self._model).__name__} reads two sequences and calls "
                "F.scaled_dot_product_attention itself, which does not tell which of them attends "
                "to which; pass its encoder alone, or collect the weights and pass them to "
                "attnflow.EncoderDecoderAttention"
            )
        before, role = self._calls[-1] if self._calls else ("", "self")
        if (call.role == "cross") != (role == "decoder") or (role, call.role) == ("cross", "self"):
            raise self._out_of_turn(before, role, call.name)

    def _out_of_turn(self, before: str, role: Role, after: str) -> UnsupportedModelError:
        return UnsupportedModelError(
            f"{type(self._model).__name__} reads two sequences, and after {before or 'nothing'} "
            f"(heard as {role}) comes {after}. An encoder is wanted, then decoder layers that "
            "attend to their own sequence and then, in a module with a name known for it such as "
            "cross_attn, once to the other; else which attends to which is not known. Pass the "
            "encoder alone, or collect the weights and pass them to "
            "attnflow.EncoderDecoderAttention"
        )

    def _check_times(self) -> None:
        """Refuse layers heard more than once, but for one that serves as several, as ALBERT's."""
        counts: dict[tuple[int, Role], Counter[str]] = {}
        wanted: dict[int, int] = {}
        for name, role in self._calls:
            config = self._config_of(name)
            if config is not None:
                wanted[id(config)] = config.num_hidden_layers
                counts.setdefault((id(config), role), Counter())[name] += 1
        for (config, _), captured in counts.items():
            # Without a name nothing tells one layer from another but how many there are.
            repeated = captured.most_common(1)[0][1] > 1 or "" in captured
            if repeated and captured.total() != wanted[config]:
                raise UnsupportedModelError(
                    f"{type(self._model).__name__} has {wanted[config]} layers, and "
                    f"{captured.total()} attentions of them were captured: layers attend more than "
                    "once, or not at all, or the model ran more than once, and which passes on to "
                    "which is not known. Pass a model that runs once, with one attention a layer"
                )

    def _config_of(self, name: str) -> Any:
        """The configuration nearest to a module that says how many layers there are, or None."""
        owners = _path_to(self._model, name) if name else self._model.modules()
        configs = [getattr(module, "config", None) for module in owners]
        counted = [c for c in configs if isinstance(getattr(c, "num_hidden_layers", None), int)]
        if not counted:
            return None
        return counted[-1 if name else 0]  # without a name, that of the outermost model


def _path_to(model: nn.Module, name: str) -> Iterator[nn.Module]:
    """The modules from the model down to the one of this name, as far as there are any."""
    module: Any = model
    yield module
    for part in name.split("."):
        module = module._modules.get(part)  # noqa: SLF001 (children by name; others have properties)
        if module is None:
            return
        yield module


def _check_every_layer(model: nn.Module, names: list[str]) -> None:
    """Refuse a model whose attention is in some layers only, as in mixtures with Mamba."""
    from torch import nn

    captured: dict[str, set[str]] = {}  # numbers of layers, by the list they are in
    for name in names:
        parts = name.split(".")
        # Of a model within another module, its own lists count.
        inside = (i for i, each in enumerate(_path_to(model, name)) if is_pretrained(each))
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
        silent = [number for number, layer in enumerate(layers) if id(layer) not in attend]
        if silent:
            raise UnsupportedModelError(
                f"{type(model).__name__} has {len(layers)} layers, and layer {silent[0] + 1} ran "
                "without attention that was heard: what it takes from where is not known. Models "
                "that mix attention with other layers, such as Mamba's, are not supported"
            )
