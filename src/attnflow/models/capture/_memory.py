"""The memory that a pass over an input needs, compared with what there is before any work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from attnflow._internal.memory import available_bytes
from attnflow.errors import InputError
from attnflow.models._model import family_of, is_pretrained
from attnflow.models.capture._capture import uses_interface
from attnflow.models.inputs import Inputs, Positions

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one example of a pass, in numbers of elements and bytes."""

    calls: tuple[tuple[int, int], ...]  # queries and keys of each attention
    nodes: int  # positions of the graph: of source and target for an encoder-decoder
    heads: int
    width: int  # of hidden states
    itemsize: int  # bytes of a number, of float32 or wider
    returns_weights: bool  # of all layers at the end of the pass, as MPNet does

    @property
    def weights(self) -> int:
        """Bytes of the attention weights of one layer."""
        return self.itemsize * self.heads * max(q * k for q, k in self.calls)

    @property
    def pairs(self) -> int:
        """Number of pairs of a query and a key in all layers."""
        return sum(q * k for q, k in self.calls)

    @property
    def all_weights(self) -> int:
        """Bytes of the attention weights of all layers."""
        return self.itemsize * self.heads * self.pairs

    @property
    def returned(self) -> int:
        """Bytes of weights that exist until the end of the pass, whoever reads them."""
        return self.all_weights if self.returns_weights else 0

    @property
    def states(self) -> int:
        """Bytes of the hidden states of one layer."""
        return self.itemsize * self.width * self.nodes

    @property
    def graph(self) -> int:
        """Bytes of the graph, one matrix in float64 for each attention."""
        return 8 * len(self.calls) * self.nodes**2


# Returns the bytes at the peak of a function.
Estimate: TypeAlias = Callable[[Sizes], float]


def check_memory(
    name: str, model: nn.Module, inputs: Iterable[Inputs], estimate: Estimate, *, instead: str = ""
) -> None:
    """Reject inputs for which the memory does not suffice; `instead` names what needs less.

    Estimates count what grows with the square of the number of positions, and the largest of what
    grows with the number itself; those of the examples of a batch add up. Nothing is checked where
    sizes or memory are unknown: for modules without a configuration, audio, and models on other
    devices than the CPU.
    """
    available = available_bytes()
    if available is None:
        return
    for item in inputs:
        sizes = sizes_of(model, item)
        needed = sum(map(estimate, sizes))
        if needed > available:
            nodes = sum(example.nodes for example in sizes)
            raise InputError(
                f"{name} needs about {needed / 2**30:,.1f} GiB of memory for {nodes:,} "
                f"positions, and {available / 2**30:,.1f} GiB are available. Memory grows with the "
                f"square of the length: use {instead}a shorter input, or "
                "attnflow.models.rollout_segments, which rolls out attention without storing it"
            )


def sizes_of(model: nn.Module, inputs: Inputs) -> list[Sizes]:
    """Return the sizes of each example of a pass; none where they are unknown."""
    import torch

    config: Any = getattr(model, "config", None)
    parameter = next((p for p in model.parameters() if p.is_floating_point()), None)
    names = ("num_hidden_layers", "num_attention_heads", "hidden_size")
    layers, heads, width = (_count(config, name) for name in names)
    if parameter is None or parameter.device.type != "cpu" or not (layers and heads and width):
        return []
    size = torch.promote_types(parameter.dtype, torch.float32).itemsize
    returns_weights = is_pretrained(model) and not uses_interface(model)
    found: list[Sizes] = []
    for number, source in enumerate(inputs.sources):
        positions = _positions(model, inputs, source)
        if not positions:
            return []
        calls, nodes = ((positions, positions),) * layers, positions
        if inputs.targets is not None:
            target = inputs.targets[number].tokens
            above = _count(config, "decoder_layers") or _count(config, "num_decoder_layers")
            if target is None or not above:
                return []
            calls += ((len(target), len(target)), (len(target), positions)) * above
            nodes += len(target)
        found.append(Sizes(calls, nodes, heads, width, size, returns_weights))
    return found


def _count(config: object, name: str) -> int | None:
    value = getattr(config, name, None)
    return value if isinstance(value, int) and value > 0 else None


def _positions(model: nn.Module, inputs: Inputs, source: Positions) -> int | None:
    """Return the number of positions of a source: tokens, or patches of a known vision model."""
    if source.tokens is not None:
        return len(source.tokens)
    embeds, pixels = inputs.forward.get("inputs_embeds"), inputs.forward.get("pixel_values")
    if embeds is not None:
        return int(embeds.shape[1])
    config, prefix = getattr(model, "config", None), family_of(model).prefix
    patch = _count(config, "patch_size")
    # Others may attend within windows, and masked autoencoders leave most patches out.
    if pixels is None or patch is None or not prefix or hasattr(config, "mask_ratio"):
        return None
    return (pixels.shape[2] // patch) * (pixels.shape[3] // patch) + len(prefix)
