"""One forward pass with hooks on the attention, and a check that all its layers were captured."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from attnflow.errors import UnsupportedModelError
from attnflow.models._model import (
    accepts,
    evaluation_mode,
    explain_failure,
    force_eager,
    has_decoder,
    is_pretrained,
)
from attnflow.models.capture._calls import Call, GivenWeights, Receive, Role
from attnflow.models.capture._hooks_modules import hook_modules
from attnflow.models.capture._hooks_transformers import hook_transformers

if TYPE_CHECKING:
    from torch import nn


_LOCAL = "Local, chunked or pooled attention is not supported"


def capture_attention(
    model: nn.Module,
    inputs: Mapping[str, Any],
    receive: Receive,
    *,
    fused: bool = False,
    gradients: bool = False,
) -> Any:
    """Run `model` on `inputs`, pass each captured attention to `receive`, and return the output.

    With `fused`, `receive` must use `Call.times` only, and models may leave their masks to the
    fused kernels. With `gradients`, autograd records the pass, which must be outside inference
    mode. The model runs in evaluation mode, and its state is restored afterwards, also after an
    error. Strategies are tried in order, with one pass each, until one captures attention.
    UnsupportedModelError if none does, if some layers have no attention, or if a layer has several.
    """
    import torch

    captured = _Checker(model, inputs, receive)
    with torch.set_grad_enabled(gradients), evaluation_mode(model), force_eager():
        for strategy in _strategies(model, fused=fused):
            output = strategy(model, inputs, captured.receive)
            if captured:
                break
        else:
            raise UnsupportedModelError(
                f"no supported attention found in {type(model).__name__}. Supported are: models of "
                "transformers that use its attention interface or return attentions; "
                "nn.MultiheadAttention; calls of F.scaled_dot_product_attention; a dropout named "
                "attn_drop. For others, collect the weights and pass them to attnflow.Attention"
            )
    captured.check()
    return output


def uses_interface(model: nn.Module) -> bool:
    """Return whether attention of a Hugging Face model is captured layer by layer.

    Others, such as MPNet, return the weights of all layers at the end of a pass. transformers
    searches the model's source code for this, so it may be wrong either way.
    """
    return bool(cast("Any", model)._can_set_attn_implementation())  # noqa: SLF001


def _strategies(model: nn.Module, *, fused: bool) -> list[Callable[..., Any]]:
    """Return the strategies to try in order, until one captures attention.

    `output_attentions` comes after the hooks, since some models compute something else with it:
    Falcon's mask is then not causal if attention is fused.
    """
    interface = functools.partial(_run_with, functools.partial(hook_transformers, fused=fused))
    modules = functools.partial(_run_with, hook_modules)
    if is_pretrained(model):
        if uses_interface(model):
            return [interface, modules, _read_output_attentions]
        return [modules, _read_output_attentions, interface]
    if any(is_pretrained(module) for module in model.modules()):
        return [interface, modules]
    return [modules]


def _run_with(
    hooks: Callable[[nn.Module, Receive], contextlib.AbstractContextManager[None]],
    model: nn.Module,
    inputs: Mapping[str, Any],
    receive: Receive,
) -> Any:
    with hooks(model, receive):
        return _run(model, inputs)


def _read_output_attentions(model: nn.Module, inputs: Mapping[str, Any], receive: Receive) -> Any:
    """Pass on the attentions that a model returns: the encoder's, then those of decoder layers."""
    if not accepts(model, "output_attentions"):
        return None
    if getattr(model.config, "attention_window", None):  # of Longformer and LED
        raise UnsupportedModelError(
            f"{type(model).__name__} attends within a window (config.attention_window) and returns "
            f"weights by offset, not by key. {_LOCAL}"
        )
    flags = {name: True for name in ("output_attentions", "return_dict") if accepts(model, name)}
    output = _run(model, {**inputs, **flags})

    def report(role: Role, field: str, number: int, weights: Any) -> None:
        if weights is None:
            return
        name, shape = f"{field}[{number}]", tuple(getattr(weights, "shape", ()))
        if len(shape) != 4:
            raise UnsupportedModelError(
                f"{name} of {type(model).__name__}: expected weights (batch, head, query, key), "
                f"got shape {shape}. {_LOCAL}"
            )
        receive(GivenWeights(name, role, weights))

    attentions = getattr(output, "encoder_attentions", None) or getattr(output, "attentions", None)
    for number, weights in enumerate(attentions or ()):
        report("self", "attentions", number, weights)
    decoder = getattr(output, "decoder_attentions", None) or ()
    cross = getattr(output, "cross_attentions", None) or (None,) * len(decoder)
    for number, (own, other) in enumerate(zip(decoder, cross, strict=True)):
        report("decoder", "decoder_attentions", number, own)
        report("cross", "cross_attentions", number, other)
    return output


def _run(model: nn.Module, inputs: Mapping[str, Any]) -> Any:
    positional = inputs.get("")  # the single tensor of a plain module
    tensors = ", ".join(
        f"{name or 'a tensor'} ({str(value.dtype).removeprefix('torch.')} {tuple(value.shape)})"
        for name, value in inputs.items()
        if hasattr(value, "dtype")
    )
    failed = f"{type(model).__name__} does not run on {tensors}"
    with explain_failure(failed, "call the model directly"):
        return model(**inputs) if positional is None else model(positional)


class _Checker:
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
        self._check_square(call)
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

    def _check_square(self, call: Call) -> None:
        """Reject self-attention with another number of keys than of queries."""
        _, queries, keys = call.size
        if call.role == "cross" or queries == keys:
            return
        cached = any(
            value is not None and (name.startswith("past_") or name == "mems")
            for name, value in self._inputs.items()
        )
        cache = "Run the model without a cache of earlier positions"
        own = f"{_LOCAL}, nor are a prefix or a cache that the model adds itself"
        raise UnsupportedModelError(
            f"{call.name or 'an attention'}: expected as many queries as keys, got {queries} "
            f"queries and {keys} keys. {cache if cached else own}"
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
        configs = {name: self._config_of(name) for name in dict(self._calls)}
        for name, role in self._calls:
            config = configs[name]
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
        path = _path_to(self._model, name)
        # Without a name, the config of the outermost model.
        owners = reversed(list(path)) if name else self._model.modules()
        configs = (getattr(module, "config", None) for module in owners)
        counted = (c for c in configs if isinstance(getattr(c, "num_hidden_layers", None), int))
        return next(counted, None)


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
