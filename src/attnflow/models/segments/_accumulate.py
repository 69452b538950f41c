"""Rollout that is accumulated during a forward pass."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models._model import device_of, dtype_of, layer_count
from attnflow.models.capture import Call, Role, not_finite, not_normalized
from attnflow.models.inputs import Inputs, Positions, name_example
from attnflow.models.segments._columns import Columns, segment_columns
from attnflow.types import Origin, TokenAttention

if TYPE_CHECKING:
    from torch import Tensor, nn

# Largest error of the sum of a row of attention; chosen. Errors are 1e-6 in single precision. In
# half precision R, the weights and the product are rounded, in bfloat16 by up to 2⁻⁸ each, so that
# the sum errs by less than 2⁻⁶; in float16 small weights are subnormal.
_SINGLE, _HALF, _BFLOAT = 1e-3, 2.0**-7, 2.0**-6


class RolloutAccumulator:
    """Updates R, the rollout (position, column), with each call of a pass.

    In an encoder-decoder, source and target have separate rows and the same columns. An encoder
    layer is one step and a decoder layer two, as in `EncoderDecoderAttention.graph`.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Inputs,
        segments: list[Any],
        *,
        nested: bool,
        residual: float,
        layers: Iterable[int] | int | None,
        queries: Iterable[int] | int | None,
    ) -> None:
        self._model, self.inputs = model, inputs
        self._segments, self._nested = segments, nested  # one for all examples, or one for each
        self._residual = residual
        self._layers = None if layers is None else checks.as_distinct_ints(layers, "layers")
        self._queries = None if queries is None else checks.as_distinct_ints(queries, "queries")
        self._check_layers(None if inputs.targets is not None else _layers_of(model))
        self._columns: list[Columns] = []
        self._origins: list[Origin | None] = []
        self._source: Tensor | None = None  # (example, position, column)
        self._target: Tensor | None = None
        self._depth, self._cross_depth = 0, 0  # all steps, those of cross-attention
        self._stored: dict[int, list[NDArray[Any]]] = {}  # rows of each example, by layer

    def receive(self, call: Call) -> None:
        """Update the rows of the queries of a call."""
        import torch

        examples, queries, keys = call.size
        self.inputs = self.inputs.with_batch_size(examples, call.name)
        role: Role = "self" if self.inputs.targets is None else call.role
        if call.role == "cross" and role != "cross":
            raise UnsupportedModelError(
                f"{call.name} is cross-attention, and only one sequence was passed. Pass the "
                "decoder's inputs by name, or use attnflow.rollout(attend(…))"
            )
        if self._source is None:
            self._initialize(keys)
        assert self._source is not None  # noqa: S101 (initialized above)
        rows = self._source if role == "self" else self._target
        below = self._target if role == "decoder" else self._source
        assert rows is not None and below is not None  # noqa: S101, PT018 (there are targets)
        if (queries, keys) != (rows.shape[1], below.shape[1]):
            raise UnsupportedModelError(
                f"{call.name or 'an attention'}: expected {rows.shape[1]} queries and "
                f"{below.shape[1]} keys, as before, got {queries} queries and {keys} keys. Of a "
                "model with several parts, pass one: rollout_segments(model.vision_model, …)"
            )
        real = _real_rows(
            (self.inputs.sources if role == "self" else self.inputs.targets) or (), rows
        )
        product = self._product(call, below, real)
        new = (1 - self._residual) * product + self._residual * rows
        new = torch.where(real, new, torch.zeros_like(new))
        if role == "self":
            self._source = new
        else:
            self._target = new
        self._depth += 1
        self._cross_depth += role == "cross"
        if self._layers is None or self._depth in self._layers:
            self._stored[self._depth] = [self._rows_of(i) for i in range(len(self._columns))]

    def results(self) -> list[TokenAttention]:
        """Return the result of each example."""
        self._check_layers(self._depth)
        layers = tuple(self._stored) if self._layers is None else self._layers
        return [self._result(example, layers) for example in range(len(self._columns))]

    def _check_layers(self, count: int | None) -> None:
        """Reject layers that do not exist; `count` is None if their number is unknown."""
        for layer in self._layers or ():
            _ = checks.as_int(layer, "layers", least=1, most=count)

    def _product(self, call: Call, below: Tensor, real: Tensor) -> Tensor:
        """Return attention times R, with rows that sum to one as those of R do."""
        product = call.times(below)
        sums = product.sum(dim=-1, keepdim=True, dtype=below.dtype)
        narrow, tolerance = self._rounding(product)
        wrong = sums[real & ((sums - 1).abs() <= tolerance).logical_not()]  # also when it is NaN
        if wrong.numel():
            # Fused kernels return zero for weights that are NaN.
            if not (wrong.isfinite() & (wrong != 0)).all():
                raise not_finite(self._model)
            raise not_normalized(call.name or "an attention", float(wrong[0]))
        return product / sums if narrow else product

    def _rounding(self, product: Tensor) -> tuple[bool, float]:
        """Return whether attention is computed in half precision, and the tolerance of its sums.

        The dtype of the product is not enough, since calls may convert it to that of R; nor is
        that of the model under autocast.
        """
        import torch

        types = {product.dtype, dtype_of(self._model)}
        if torch.is_autocast_enabled(product.device.type):
            types.add(torch.get_autocast_dtype(product.device.type))
        if torch.bfloat16 in types:
            return True, _BFLOAT
        return (True, _HALF) if any(dtype.itemsize < 4 for dtype in types) else (False, _SINGLE)

    def _result(self, example: int, layers: tuple[int, ...]) -> TokenAttention:
        columns = self._columns[example]
        scores = np.empty((len(layers), *self._stored[layers[0]][example].shape))
        for number, layer in enumerate(layers):
            scores[number] = self._stored[layer][example]
        scores.setflags(write=False)
        return TokenAttention(
            scores=scores,
            tokens=columns.names,
            layers=layers,
            queries=range(len(scores[0])) if self._queries is None else self._queries,
            method="rollout",
            settings=self._settings(example),
            origin=self._origins[example] if columns.settings["segments"] == "tokens" else None,
        )

    def _settings(self, example: int) -> dict[str, object]:
        """Return the settings of `attnflow.rollout`, and the segments."""
        settings: dict[str, object] = {
            "heads": "mean",
            "residual": self._residual,
            "discard_ratio": 0.0,
            "head": None,
        }
        columns, (source, target) = self._columns[example], self._rows(example)
        if target is not None:
            settings |= {
                "causal": False,
                "encoder_layers": self._depth - 2 * self._cross_depth,
                "decoder_layers": self._cross_depth,
                "source_tokens": len(source),
            }
        elif columns.settings["segments"] == "tokens" and len(source) > 1:
            # Unknown for one position, and for columns that are not tokens.
            settings["causal"] = not bool(source.triu(diagonal=1).any())
        return {**settings, "onto": 0, **columns.settings}

    def _initialize(self, length: int) -> None:
        """Set R(0): for each position, one in the column of its segment."""
        targets, sources = self.inputs.targets, self.inputs.sources
        if self._nested and len(self._segments) != len(sources):
            raise InputError(
                f"segments: expected {len(sources)} lists, one for each input, got "
                f"{len(self._segments)}"
            )
        for example, source in enumerate(sources):
            target = None if targets is None else targets[example]
            self._describe(example, source, target, length)
        width = max(len(columns.names) for columns in self._columns)
        self._source = self._one_hot(sources, length, width, is_target=False)
        if targets is not None:
            self._target = self._one_hot(targets, self._target_length(), width, is_target=True)

    def _target_length(self) -> int:
        """Return the number of positions of the decoder's input."""
        fields, examples = self.inputs.forward, len(self.inputs.sources)
        names = ("decoder_input_ids", "decoder_inputs_embeds", "tgt")
        given = next(fields[name] for name in names if fields.get(name) is not None)
        if "tgt" not in fields:
            return int(given.shape[1])
        # PyTorch's modules may have the batch second, or no batch.
        return int(given.shape[1 if given.ndim > 2 and given.shape[0] == examples else 0])

    def _describe(
        self, example: int, source: Positions, target: Positions | None, length: int
    ) -> None:
        """Add the columns and the origin of one example."""
        sizes, text = [length if source.kept is None else int(source.kept.sum())], source.text
        if target is not None:
            sizes.append(self._target_length() if target.kept is None else int(target.kept.sum()))
            text = f"{source.text}\n{target.text}"
        names, origin = name_example(self._model, self.inputs, example, tuple(sizes))
        tokens = tuple(itertools.chain(*names))
        for query in self._queries or ():
            _ = checks.as_int(query, "queries", least=0, most=len(tokens) - 1)
        segments = self._segments[example if self._nested else 0]
        self._columns.append(segment_columns(segments, tokens, origin, text))
        self._origins.append(origin)

    def _one_hot(
        self, positions: tuple[Positions, ...], length: int, width: int, *, is_target: bool
    ) -> Tensor:
        """Return R(0) of the sources or targets: (example, position, column)."""
        import torch

        wide = torch.promote_types(dtype_of(self._model), torch.float32)
        size = (len(positions), length, width)
        R = torch.zeros(size, dtype=wide, device=device_of(self._model))
        for example, item in enumerate(positions):
            if item.kept is not None and len(item.kept) != length:
                raise UnsupportedModelError(
                    f"{type(self._model).__name__}: expected {len(item.kept)} positions, as many "
                    f"as the attention mask has, got {length}. The model adds or merges positions, "
                    "so that padding cannot be located. Pass the inputs one by one, without padding"
                )
            real = np.arange(length) if item.kept is None else np.flatnonzero(item.kept)
            labels = self._columns[example].labels  # of the source, then of the target
            own = labels[-len(real) :] if is_target else labels[: len(real)]
            R[example, torch.from_numpy(real), torch.from_numpy(own)] = 1
        return R

    def _rows(self, example: int) -> tuple[Tensor, Tensor | None]:
        """Return all rows of the source and of the target of an example, without padding."""
        assert self._source is not None  # noqa: S101 (initialized)
        width = len(self._columns[example].names)
        source = _real(self._source[example], self.inputs.sources[example])[:, :width]
        if self._target is None or self.inputs.targets is None:
            return source, None
        target = _real(self._target[example], self.inputs.targets[example])
        return source, target[:, :width]

    def _rows_of(self, example: int) -> NDArray[Any]:
        """Return the rows of one example that the result contains: (query, column)."""
        import torch

        source, target = self._rows(example)
        rows = source if target is None else torch.cat([source, target])
        if self._queries is not None:
            rows = rows[list(self._queries)]
        return rows.cpu().numpy()


def _layers_of(model: nn.Module) -> int | None:
    """Return the number of layers in the config; None if unknown.

    It is unknown if the config also has decoder layers, since either may run.
    """
    config = getattr(model, "config", None)
    if any(hasattr(config, name) for name in ("decoder_layers", "num_decoder_layers")):
        return None
    return layer_count(model)


def _real(rows: Tensor, positions: Positions) -> Tensor:
    if positions.kept is None:
        return rows
    import torch

    return rows[torch.from_numpy(positions.kept).to(rows.device)]


def _real_rows(positions: tuple[Positions, ...], R: Tensor) -> Tensor:
    """Return which rows of R are not padding, (example, position, 1); padding may be NaN."""
    import torch

    length = R.shape[1]
    kept = [np.ones(length, dtype=bool) if p.kept is None else p.kept for p in positions]
    return torch.from_numpy(np.stack(kept)).to(R.device)[:, :, None]
