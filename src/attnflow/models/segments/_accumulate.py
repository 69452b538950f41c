"""The rollout of a pass under way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models._families import layer_count
from attnflow.models._model import device_of, dtype_of, not_finite
from attnflow.models.capture import Call, Role
from attnflow.models.inputs import Inputs, Positions, join_origins, name_positions
from attnflow.models.segments._columns import Columns, segment_columns
from attnflow.types import Origin, TokenAttention

if TYPE_CHECKING:
    from torch import Tensor, nn

# How far the sum of a row of attention may be from one; chosen here. In single precision sums are
# off by 1e-6. In half precision R, the weights and the product are rounded, in bfloat16 by up to
# 2⁻⁸ each, which makes less than 2⁻⁶ where all err to one side; in float16 small weights lose bits.
_SINGLE, _HALF, _BFLOAT = 1e-3, 2.0**-7, 2.0**-6


class RolloutAccumulator:
    """Hears the calls of one pass and carries R, the shares of all columns, from layer to layer.

    Of a model with a decoder of its own, source and target positions have rows of their own and
    columns in common; each encoder layer is a step, each decoder layer two, as in
    `EncoderDecoderAttention.graph`.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Inputs,
        segments: list[Any],
        *,
        each: bool,
        residual: float,
        layers: Iterable[int] | int | None,
        queries: Iterable[int] | int | None,
    ) -> None:
        self._model, self.inputs = model, inputs
        # For all examples, or with `each` one for each of them.
        self._segments, self._each = segments, each
        self._residual = residual
        self._layers = None if layers is None else checks.as_distinct_ints(layers, "layers")
        self._queries = None if queries is None else checks.as_distinct_ints(queries, "queries")
        self._check_layers(None if inputs.targets is not None else _layers_of(model))
        self._columns: list[Columns] = []
        self._origins: list[Origin | None] = []
        self._source: Tensor | None = None  # (example, position, column)
        self._target: Tensor | None = None
        self._depth, self._crossed = 0, 0  # steps in all, those of cross-attention
        self._kept: dict[int, list[NDArray[Any]]] = {}  # rows of each example, by layer

    def receive(self, call: Call) -> None:
        """One more step: the rows of the positions that attend."""
        import torch

        examples, queries, keys = call.size
        self.inputs = self.inputs.of(examples, call.name)
        role: Role = "self" if self.inputs.targets is None else call.role
        if call.role == "cross" and role != "cross":
            raise UnsupportedModelError(
                f"{call.name} attends to another sequence, and only one came; name the inputs of "
                "the decoder, or use attnflow.rollout(attend(…))"
            )
        if self._source is None:
            self._begin(keys)
        assert self._source is not None  # noqa: S101 (begun above)
        rows = self._source if role == "self" else self._target
        below = self._target if role == "decoder" else self._source
        assert rows is not None and below is not None  # noqa: S101, PT018 (there are targets)
        if (queries, keys) != (rows.shape[1], below.shape[1]):
            raise UnsupportedModelError(
                f"{call.name or 'an attention'} has {queries} queries and {keys} keys, after "
                f"attention of {rows.shape[1]} and {below.shape[1]}. Models of several parts are "
                "passed part by part: rollout(model.vision_model, …)"
            )
        real = _real_rows(
            (self.inputs.sources if role == "self" else self.inputs.targets) or (), rows
        )
        product = self._shares(call, below, real)
        new = (1 - self._residual) * product + self._residual * rows
        new = torch.where(real, new, torch.zeros_like(new))
        if role == "self":
            self._source = new
        else:
            self._target = new
        self._depth += 1
        self._crossed += role == "cross"
        if self._layers is None or self._depth in self._layers:
            self._kept[self._depth] = [self._wanted(i) for i in range(len(self._columns))]

    def results(self) -> list[TokenAttention]:
        """What was kept, for each example."""
        self._check_layers(self._depth)
        layers = tuple(self._kept) if self._layers is None else self._layers
        return [self._result(example, layers) for example in range(len(self._columns))]

    def _check_layers(self, count: int | None) -> None:
        """Refuse layers that are not there; `count` is None where their number is not known."""
        for layer in self._layers or ():
            if layer < 1 or (count is not None and layer > count):
                numbers = "1 and up" if count is None else f"1 to {count}"
                raise InputError(f"layer {layer} is asked for; layers are {numbers}")

    def _shares(self, call: Call, below: Tensor, real: Tensor) -> Tensor:
        """Attention times R, whose rows sum to one as those of R do."""
        product = call.times(below)
        sums = product.sum(dim=-1, keepdim=True, dtype=below.dtype)
        narrow, tolerance = self._rounding(product)
        wrong = sums[real & ((sums - 1).abs() <= tolerance).logical_not()]  # also when it is NaN
        if wrong.numel():
            # Fused kernels give zero for weights that are no numbers.
            if not (wrong.isfinite() & (wrong != 0)).all():
                raise not_finite(self._model)
            raise UnsupportedModelError(
                f"{call.name or 'an attention'} has rows that sum to {wrong[0]:.3g}: this "
                "attention gives a share to a sink outside the sequence, or is no distribution (a "
                "head may hold no numbers); what each position takes from where is not known"
            )
        return product / sums if narrow else product

    def _rounding(self, product: Tensor) -> tuple[bool, float]:
        """Whether attention is computed in half precision, and how far its sums may be from one.

        Under autocast the weights of the model do not say; the product alone does not either, since
        calls may give it in the type of R.
        """
        import torch

        types = {product.dtype, dtype_of(self._model)}
        if torch.is_autocast_enabled(product.device.type):
            types.add(torch.get_autocast_dtype(product.device.type))
        if torch.bfloat16 in types:
            return True, _BFLOAT
        return (True, _HALF) if any(each.itemsize < 4 for each in types) else (False, _SINGLE)

    def _result(self, example: int, layers: tuple[int, ...]) -> TokenAttention:
        columns = self._columns[example]
        scores = np.empty((len(layers), *self._kept[layers[0]][example].shape))
        for number, layer in enumerate(layers):
            scores[number] = self._kept[layer][example]
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
        """As `attnflow.rollout` has them, and the segments."""
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
                "encoder_layers": self._depth - 2 * self._crossed,
                "decoder_layers": self._crossed,
                "source_tokens": len(source),
            }
        elif columns.settings["segments"] == "tokens" and len(source) > 1:
            # Columns of segments do not tell what lies ahead, nor does one position alone.
            settings["causal"] = not bool(source.triu(diagonal=1).any())
        return {**settings, "onto": 0, **columns.settings}

    def _begin(self, length: int) -> None:
        """R(0): for each position, one in the column of its segment."""
        targets, sources = self.inputs.targets, self.inputs.sources
        if self._each and len(self._segments) != len(sources):
            raise InputError(
                f"{len(self._segments)} lists of segments came for {len(sources)} inputs; give one "
                "for each"
            )
        for example, source in enumerate(sources):
            target = None if targets is None else targets[example]
            self._describe(example, source, target, length)
        width = max(len(columns.names) for columns in self._columns)
        self._source = self._members(sources, length, width, behind=False)
        if targets is not None:
            self._target = self._members(targets, self._target_length(), width, behind=True)

    def _target_length(self) -> int:
        """How many positions the decoder reads."""
        fields, examples = self.inputs.forward, len(self.inputs.sources)
        names = ("decoder_input_ids", "decoder_inputs_embeds", "tgt")
        given = next(fields[name] for name in names if fields.get(name) is not None)
        if "tgt" not in fields:
            return int(given.shape[1])
        # PyTorch's own modules may have the batch second, or none at all.
        return int(given.shape[1 if given.ndim > 2 and given.shape[0] == examples else 0])

    def _describe(
        self, example: int, source: Positions, target: Positions | None, length: int
    ) -> None:
        """Names, origin and columns of the positions of one example, without its padding."""
        count = length if source.kept is None else int(source.kept.sum())
        tokens, origin = name_positions(self._model, self.inputs.forward, source, count)
        text = source.text
        if target is not None:
            count = self._target_length() if target.kept is None else int(target.kept.sum())
            more, origin_of_target = name_positions(self._model, {}, target, count)
            origin = join_origins(source, target, (origin, origin_of_target))
            tokens, text = (*tokens, *more), f"{source.text}\n{target.text}"
        for query in self._queries or ():
            if not 0 <= query < len(tokens):
                raise InputError(f"query {query} is asked for; queries are 0 to {len(tokens) - 1}")
        segments = self._segments[example if self._each else 0]
        self._columns.append(segment_columns(segments, tokens, origin, text))
        self._origins.append(origin)

    def _members(
        self, positions: tuple[Positions, ...], length: int, width: int, *, behind: bool
    ) -> Tensor:
        """R(0) of sources, or of the targets `behind` them: (example, position, column)."""
        import torch

        wide = torch.promote_types(dtype_of(self._model), torch.float32)
        size = (len(positions), length, width)
        R = torch.zeros(size, dtype=wide, device=device_of(self._model))
        for example, each in enumerate(positions):
            if each.kept is not None and len(each.kept) != length:
                raise UnsupportedModelError(
                    f"{type(self._model).__name__} attends in {length} positions, and the mask of "
                    f"padding has {len(each.kept)}: the model adds or joins positions, and which "
                    "of them are padding is not known. Pass the inputs one by one, without padding"
                )
            real = np.arange(length) if each.kept is None else np.flatnonzero(each.kept)
            labels = self._columns[example].labels
            own = labels[-len(real) :] if behind else labels[: len(real)]
            R[example, torch.from_numpy(real), torch.from_numpy(own)] = 1
        return R

    def _rows(self, example: int) -> tuple[Tensor, Tensor | None]:
        """All rows of the source and of the target of an example, without padding."""
        assert self._source is not None  # noqa: S101 (begun)
        width = len(self._columns[example].names)
        source = _real(self._source[example], self.inputs.sources[example])[:, :width]
        if self._target is None or self.inputs.targets is None:
            return source, None
        target = _real(self._target[example], self.inputs.targets[example])
        return source, target[:, :width]

    def _wanted(self, example: int) -> NDArray[Any]:
        """The rows of one example that were asked for: (query, column)."""
        import torch

        source, target = self._rows(example)
        rows = source if target is None else torch.cat([source, target])
        if self._queries is not None:
            rows = rows[list(self._queries)]
        return rows.cpu().numpy()


def _layers_of(model: nn.Module) -> int | None:
    """How many layers there are, where the configuration tells before the pass.

    Where it names layers of a decoder as well, it does not tell which of them run.
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
    """Which rows of R are no padding (example, position, 1), where kernels may give no number."""
    import torch

    length = R.shape[1]
    kept = [np.ones(length, dtype=bool) if p.kept is None else p.kept for p in positions]
    return torch.from_numpy(np.stack(kept)).to(R.device)[:, :, None]
