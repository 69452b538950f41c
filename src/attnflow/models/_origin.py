"""What the positions of a pass are called and stand for: tokens, patches, moments of sound."""
# torch's and transformers' stubs leave much unknown; what is unknown stays inside this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnflow.models._families import family_of
from attnflow.origin import Grid, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import nn

    from attnflow.models._inputs import Positions


def described(
    model: nn.Module, fields: Mapping[str, Any], positions: Positions, count: int
) -> tuple[tuple[str, ...], Origin | None]:
    """Names and origin of the `count` positions of a sequence.

    `fields` is what the model read for it, nothing for what its decoder writes. Positions that the
    input does not name are patches of an image where there is one, moments where the model hears
    sound, and plain numbers otherwise.
    """
    if positions.tokens is not None and len(positions.tokens) == count:
        if positions.spans is None and not positions.generated:
            return positions.tokens, None
        return positions.tokens, Origin(spans=positions.spans, generated=positions.generated)
    grid = _grid(model, fields, count)
    if grid is not None:
        return _patch_names(model, grid), Origin(grid=grid)
    seconds = family_of(model).frame_seconds
    if seconds and fields:
        return tuple(f"{number * seconds:.2f}s" for number in range(count)), None
    return tuple(map(str, range(count))), None


def joined(
    source: Positions, target: Positions, origins: tuple[Origin | None, Origin | None]
) -> Origin | None:
    """The origin of source and target tokens together, over source text, newline, target text."""
    first, second = (None if origin is None else origin.spans for origin in origins)
    if first is None or second is None:
        return Origin(generated=target.generated) if target.generated else None
    shift = len(source.text) + 1
    moved = tuple(None if span is None else (span[0] + shift, span[1] + shift) for span in second)
    return Origin(spans=(*first, *moved), generated=target.generated)


def _grid(model: nn.Module, fields: Mapping[str, Any], count: int) -> Grid | None:
    """The grid of patches: as many rows and columns as fit the image, after what is left over."""
    pixels, patch = fields.get("pixel_values"), _patch_size(model)
    if pixels is None or pixels.ndim != 4 or patch is None:
        return None
    rows, columns = pixels.shape[2] // patch[0], pixels.shape[3] // patch[1]
    prefix = count - rows * columns
    return Grid(rows, columns, prefix) if rows and columns and prefix >= 0 else None


def _patch_size(model: nn.Module) -> tuple[int, int] | None:
    size = getattr(getattr(model, "config", None), "patch_size", None)
    if isinstance(size, int) and size > 0:
        return size, size
    if isinstance(size, list | tuple) and len(size) == 2:
        return int(size[0]), int(size[1])
    return None


def _patch_names(model: nn.Module, grid: Grid) -> tuple[str, ...]:
    """Special positions by the names of the family, patches by row and column."""
    family, config = family_of(model), getattr(model, "config", None)
    registers = int(getattr(config, family.registers, 0)) if family.registers else 0
    special = (*family.prefix, *(f"[REG{number}]" for number in range(1, registers + 1)))
    if len(special) != grid.prefix:  # a family that is not known, or a variant of it
        special = tuple(f"[{number}]" for number in range(grid.prefix))
    patches = (f"{row},{column}" for row in range(grid.rows) for column in range(grid.columns))
    return (*special, *patches)
