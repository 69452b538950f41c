"""The rollout of a pass under way."""
# torch's and transformers' stubs leave much unknown; what is unknown stays inside this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow import checked
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models._inputs import device_of, not_finite, precision_of
from attnflow.models._origin import described, joined
from attnflow.models._segments import Columns, columns_of
from attnflow.token_attention import TokenAttention

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from attnflow.models._call import Call, Role
    from attnflow.models._inputs import Inputs, Positions
    from attnflow.origin import Origin

# How far the sum of a row may be from one, and what stands for the sum of a row of zeros. Chosen
# here: sums in single precision are off by 1e-6.
_ROUNDING, _TINY = 1e-3, 1e-9


class Rolling:
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
        self._layers = None if layers is None else checked.whole_numbers(layers, "layers")
        self._queries = None if queries is None else checked.whole_numbers(queries, "queries")
        self._columns: list[Columns] = []
        self._origins: list[Origin | None] = []
        self._source: Tensor | None = None  # (example, position, column)
        self._target: Tensor | None = None
        self._depth = 0
        self._kept: dict[int, list[NDArray[Any]]] = {}  # rows of each example, by layer

    def hear(self, call: Call) -> None:
        """One more step: the rows of the positions that attend."""
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
        product = call.times(below)
        if precision_of(self._model).itemsize < 4:  # half precision is off by up to 2⁻⁸
            product = product / product.sum(dim=-1, keepdim=True).clamp_min(_TINY)
        new = (1 - self._residual) * product + self._residual * rows
        padded = self.inputs.sources if role == "self" else self.inputs.targets
        new = _without_padding(new, padded or ())
        if role == "self":
            self._source = new
        else:
            self._target = new
        self._depth += 1
        if self._layers is None or self._depth in self._layers:
            self._kept[self._depth] = [self._rows(i) for i in range(len(self._columns))]

    def results(self) -> list[TokenAttention]:
        """What was kept, for each example."""
        layers = tuple(self._kept) if self._layers is None else self._layers
        for layer in layers:
            if layer not in self._kept:
                raise InputError(f"layer {layer} is asked for; layers are 1 to {self._depth}")
        return [self._result(example, layers) for example in range(len(self._columns))]

    def _result(self, example: int, layers: tuple[int, ...]) -> TokenAttention:
        scores = np.stack([self._kept[layer][example] for layer in layers]).astype(np.float64)
        # Fused kernels give zero for weights that are no numbers. What is lost shows in the sums.
        if not np.allclose(scores.sum(axis=-1), 1, rtol=0, atol=_ROUNDING * (1 - self._residual)):
            raise not_finite(self._model)
        scores.setflags(write=False)
        columns, segments = self._columns[example], self._of(example)
        whole = isinstance(segments, str) and segments == "tokens"
        settings: dict[str, object] = {
            "heads": "mean",
            "residual": self._residual,
            "onto": 0,
            "segments": segments if isinstance(segments, str) else "given",
        }
        return TokenAttention(
            scores=scores,
            tokens=columns.names,
            layers=layers,
            queries=range(scores.shape[1]) if self._queries is None else self._queries,
            method="rollout",
            settings=settings,
            origin=self._origins[example] if whole else None,
        )

    # ---- where it begins ---------------------------------------------------------------------

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

    def _of(self, example: int) -> Any:
        return self._segments[example if self._each else 0]

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
        tokens, origin = described(self._model, self.inputs.forward, source, count)
        text = source.text
        if target is not None:
            count = self._target_length() if target.kept is None else int(target.kept.sum())
            more, origin_of_target = described(self._model, {}, target, count)
            origin = joined(source, target, (origin, origin_of_target))
            tokens, text = (*tokens, *more), f"{source.text}\n{target.text}"
        for query in self._queries or ():
            if not 0 <= query < len(tokens):
                raise InputError(f"query {query} is asked for; queries are 0 to {len(tokens) - 1}")
        self._columns.append(columns_of(self._of(example), tokens, origin, text))
        self._origins.append(origin)

    def _members(
        self, positions: tuple[Positions, ...], length: int, width: int, *, behind: bool
    ) -> Tensor:
        """R(0) of sources, or of the targets `behind` them: (example, position, column)."""
        import torch

        R = np.zeros((len(positions), length, width))
        for example, each in enumerate(positions):
            real = np.arange(length) if each.kept is None else np.flatnonzero(each.kept)
            labels = self._columns[example].labels
            R[example, real, labels[-len(real) :] if behind else labels[: len(real)]] = 1
        wide = torch.promote_types(precision_of(self._model), torch.float32)
        return torch.tensor(R, dtype=wide, device=device_of(self._model))

    def _rows(self, example: int) -> NDArray[Any]:
        """The rows of one example that were asked for, without padding: (query, column)."""
        import torch

        assert self._source is not None  # noqa: S101 (begun)
        parts = [_real(self._source[example], self.inputs.sources[example])]
        if self._target is not None and self.inputs.targets is not None:
            parts.append(_real(self._target[example], self.inputs.targets[example]))
        rows = torch.cat(parts)[:, : len(self._columns[example].names)]
        if self._queries is not None:
            rows = rows[list(self._queries)]
        return rows.cpu().numpy()


def _real(rows: Tensor, positions: Positions) -> Tensor:
    if positions.kept is None:
        return rows
    import torch

    return rows[torch.from_numpy(positions.kept).to(rows.device)]


def _without_padding(R: Tensor, positions: tuple[Positions, ...]) -> Tensor:
    """R with rows of zeros for padding: fused kernels give no number where nothing is seen."""
    import torch

    if all(each.kept is None for each in positions):
        return R
    length = R.shape[1]
    real = [np.ones(length, dtype=bool) if p.kept is None else p.kept for p in positions]
    kept = torch.from_numpy(np.stack(real)).to(R.device)
    return torch.where(kept[:, :, None], R, torch.zeros((), dtype=R.dtype, device=R.device))
