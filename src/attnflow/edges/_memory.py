"""The memory that edge weights of an input need, compared with what there is before any work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from attnflow._internal.memory import available_bytes
from attnflow.edges._layout import known_layout
from attnflow.errors import InputError
from attnflow.models.capture import uses_interface
from attnflow.models.inputs import Inputs, is_pretrained

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one pass, in numbers of elements and bytes."""

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
    def all_weights(self) -> int:
        """Bytes of the attention weights of all layers."""
        return self.itemsize * self.heads * sum(q * k for q, k in self.calls)

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


def check_memory(name: str, model: nn.Module, inputs: Iterable[Inputs], estimate: Estimate) -> None:
    """Reject inputs for which the memory does not suffice.

    Estimates count what grows with the square of the number of positions, and the largest of what
    grows with the number itself. Nothing is checked where sizes or memory are unknown: for modules
    without a configuration, audio, and models on other devices than the CPU.
    """
    available = available_bytes()
    if available is None:
        return
    for item in inputs:
        sizes = sizes_of(model, item)
        if sizes is None:
            continue
        needed = estimate(sizes)
        if needed > available:
            raise InputError(
                f"{name} needs about {needed / 2**30:,.1f} GiB of memory for {sizes.nodes:,} "
                f"positions, and {available / 2**30:,.1f} GiB are available. Memory grows with the "
                "square of the length: use a shorter input, or attnflow.models.rollout_segments, "
                "which rolls out attention without storing it"
            )


def sizes_of(model: nn.Module, inputs: Inputs) -> Sizes | None:
    """Return the sizes of a pass over a batch of one, None where they are unknown."""
    import torch

    config: Any = getattr(model, "config", None)
    parameter = next((p for p in model.parameters() if p.is_floating_point()), None)
    positions = _positions(model, inputs)
    names = ("num_hidden_layers", "num_attention_heads", "hidden_size")
    layers, heads, width = (_count(config, name) for name in names)
    if parameter is None or parameter.device.type != "cpu":
        return None
    if not (positions and layers and heads and width):
        return None
    calls, nodes = ((positions, positions),) * layers, positions
    if inputs.targets is not None:
        target = inputs.targets[0].tokens
        above = _count(config, "decoder_layers") or _count(config, "num_decoder_layers")
        if target is None or not above:
            return None
        calls += ((len(target), len(target)), (len(target), positions)) * above
        nodes += len(target)
    size = torch.promote_types(parameter.dtype, torch.float32).itemsize
    returns_weights = is_pretrained(model) and not uses_interface(model)
    return Sizes(calls, nodes, heads, width, size, returns_weights)


def _count(config: object, name: str) -> int | None:
    value = getattr(config, name, None)
    return value if isinstance(value, int) and value > 0 else None


def _positions(model: nn.Module, inputs: Inputs) -> int | None:
    """Return the number of positions of the source: tokens, or patches of a known vision model."""
    fields, source = inputs.forward, inputs.sources
    if source and source[0].tokens is not None:
        return len(source[0].tokens)
    embeds, pixels = fields.get("inputs_embeds"), fields.get("pixel_values")
    if embeds is not None:
        return int(embeds.shape[1])
    patch = _count(getattr(model, "config", None), "patch_size")
    # Others may attend within windows.
    if pixels is None or patch is None or known_layout(model) is None:
        return None
    return (pixels.shape[2] // patch) * (pixels.shape[3] // patch) + 1
