"""Names and origin of the positions of any input: tokens, patches of an image, seconds of audio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attnflow.models._model import family_of
from attnflow.models.inputs._inputs import Inputs, Positions
from attnflow.types import Grid, Origin

if TYPE_CHECKING:
    from torch import nn


def name_positions(
    model: nn.Module, fields: Mapping[str, Any], positions: Positions, count: int
) -> tuple[tuple[str, ...], Origin | None]:
    """Return names and origin of the `count` positions of a sequence.

    `fields` are the model's inputs, empty for the sequence of a decoder. Without tokens, positions
    are named as patches of an image, seconds of audio, or by number.
    """
    if positions.tokens is not None and len(positions.tokens) == count:
        if positions.spans is None and not positions.generated:
            return positions.tokens, None
        return positions.tokens, Origin(
            spans=positions.spans, generated=positions.generated, text=positions.text
        )
    encoder = getattr(model, "encoder", None)  # reads the image if only it has a patch size
    reader = encoder if _patch_size(encoder) and not _patch_size(model) else model
    grid = _grid(reader, fields, count)
    if grid is not None:
        special = _special_names(reader) or tuple(f"[{number}]" for number in range(grid.prefix))
        patches = (f"{row},{column}" for row in range(grid.rows) for column in range(grid.columns))
        return (*special, *patches), Origin(grid=grid)
    seconds = family_of(model).frame_seconds
    if seconds and fields:
        return tuple(f"{number * seconds:.2f}s" for number in range(count)), None
    return tuple(map(str, range(count))), None


def name_example(
    model: nn.Module, inputs: Inputs, example: int, sizes: tuple[int, ...]
) -> tuple[tuple[tuple[str, ...], ...], Origin | None]:
    """Return the names of the positions of each sequence of an example, and their origin.

    `sizes` are the numbers of positions: of the only sequence, or of source and target.
    """
    source = inputs.sources[example]
    names, origin = name_positions(model, inputs.forward, source, sizes[0])
    if len(sizes) == 1:
        return (names,), origin
    target = Positions() if inputs.targets is None else inputs.targets[example]
    more, origin_of_target = name_positions(model, {}, target, sizes[1])
    return (names, more), _join_origins(source, target, (origin, origin_of_target))


def _join_origins(
    source: Positions, target: Positions, origins: tuple[Origin | None, Origin | None]
) -> Origin | None:
    """Return the origin of source and target: source text, newline, target text; or the patches."""
    first, second = (None if origin is None else origin.spans for origin in origins)
    if first is None or second is None:
        grid = None if origins[0] is None else origins[0].grid
        known = grid is not None or target.generated
        return Origin(grid=grid, generated=target.generated) if known else None
    shift = len(source.text) + 1
    moved = tuple(None if span is None else (span[0] + shift, span[1] + shift) for span in second)
    return Origin(
        spans=(*first, *moved), generated=target.generated, text=f"{source.text}\n{target.text}"
    )


def _grid(reader: object, fields: Mapping[str, Any], count: int) -> Grid | None:
    """Return the grid of image patches after the special positions, or None.

    In an unknown family, one position beyond the patches is taken for a class token before them.
    With more there is no grid: they may be before or after the patches, in YOLOS they are both.
    """
    pixels, patch = fields.get("pixel_values"), _patch_size(reader)
    if pixels is None or pixels.ndim != 4 or patch is None:
        return None
    rows, columns = pixels.shape[2] // patch[0], pixels.shape[3] // patch[1]
    prefix, special = count - rows * columns, _special_names(reader)
    fits = prefix == len(special) if special else prefix in (0, 1)
    return Grid(rows, columns, prefix) if rows and columns and fits else None


def _patch_size(reader: object) -> tuple[int, int] | None:
    size = getattr(getattr(reader, "config", None), "patch_size", None)
    if isinstance(size, int) and size > 0:
        return size, size
    if isinstance(size, list | tuple) and len(size) == 2:
        return int(size[0]), int(size[1])
    return None


def _special_names(reader: object) -> tuple[str, ...]:
    """Return names of the positions before the patches; none for an unknown family."""
    family, config = family_of(reader), getattr(reader, "config", None)
    registers = int(getattr(config, family.registers, 0)) if family.registers else 0
    return (*family.prefix, *(f"[REG{number}]" for number in range(1, registers + 1)))
