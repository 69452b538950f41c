"""Origin: the text or image that the positions of a model come from."""

import json
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import cast

from attnflow._internal import checks
from attnflow._internal.files import parse_json
from attnflow._internal.words import Span
from attnflow.errors import InputError


@dataclass(frozen=True, slots=True)
class Grid:
    """Patches of an image: `rows` × `columns` positions, row by row, after `prefix` others.

    Positions before the patches are special tokens (class token, registers). Positions after them
    do not belong to the image, such as the text of a captioning model.

    >>> Grid(rows=2, columns=3, prefix=1).size
    6
    """

    rows: int
    columns: int
    prefix: int

    def __post_init__(self) -> None:
        for name, lowest in (("rows", 1), ("columns", 1), ("prefix", 0)):
            number = checks.as_int(getattr(self, name), name)
            if number < lowest:
                raise InputError(f"{name} of the grid must be {lowest} or more, got {number}")
            object.__setattr__(self, name, number)

    @property
    def size(self) -> int:
        """The number of patches."""
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class Origin:
    """Source of the positions: characters of a text, or patches of an image.

    Parameters
    ----------
    spans
        Characters (start, end) of the text for each position, end excluded; None for a position
        without characters, such as a special token. Tokens of one character share it. By default
        not known.
    grid
        Which positions are the patches of an image.
    generated
        Number of positions at the end that the model generated.
    text
        The text that spans index: the input of the model, and what it generated.

    Examples
    --------
    >>> import attnflow as af
    >>> origin = af.Origin(spans=(None, (0, 3)), generated=1)
    >>> a = af.Attention([[[[1, 0], [0.5, 0.5]]]], ["<s>", "the"], origin=origin)
    >>> a.origin.spans[1]
    (0, 3)
    >>> a.predicting
    (0,)
    """

    spans: tuple[Span | None, ...] | None = None
    grid: Grid | None = None
    generated: int = 0
    text: str | None = None

    def __post_init__(self) -> None:
        if self.spans is not None:
            object.__setattr__(self, "spans", _spans(self.spans))
        if not isinstance(cast("object", self.grid), Grid | None):
            raise InputError(f"grid must be a Grid(rows, columns, prefix), got {self.grid!r}")
        object.__setattr__(self, "generated", checks.as_int(self.generated, "generated", least=0))
        if not isinstance(cast("object", self.text), str | None):
            raise InputError(f"text must be a string, got {self.text!r}")

    def predicting(self, count: int) -> tuple[int, ...]:
        """Return the positions whose output predicted the generated tokens, one each.

        Parameters
        ----------
        count
            Number of positions, the generated ones among them.
        """
        return tuple(range(count - self.generated - 1, count - 1))


def check_origin(origin: object, count: int) -> Origin | None:
    """Return the origin if it fits `count` positions."""
    if origin is None:
        return None
    if not isinstance(origin, Origin):
        raise InputError(
            f"origin must be an Origin, or None if it is not known, got {type(origin).__name__}"
        )
    if origin.spans is not None and len(origin.spans) != count:
        raise InputError(
            f"origin: expected {count} spans, one per position, got {len(origin.spans)}. "
            "Use None for special tokens"
        )
    grid = origin.grid
    if grid is not None and grid.prefix + grid.size > count:
        raise InputError(
            f"origin: the grid has {grid.prefix} + {grid.rows}·{grid.columns} positions, but "
            f"there are {count}. Pass rows and columns in patches, not pixels"
        )
    if origin.generated >= count > 0:
        raise InputError(
            f"origin: generated must be less than the {count} positions, got {origin.generated}"
        )
    return origin


def origin_to_json(origin: Origin) -> str:
    """Return an origin as the JSON text that files hold."""
    return json.dumps(asdict(origin))


def origin_from_json(stored: object) -> Origin:
    """Return the origin in JSON text from a file."""
    try:
        fields = parse_json(str(stored))
        grid = fields.pop("grid", None)
        return Origin(grid=None if grid is None else Grid(**grid), **fields)
    except InputError:
        raise
    except (AttributeError, TypeError, ValueError) as reason:
        raise InputError(
            f"origin must be JSON text of spans, grid, …, got {reprlib.repr(stored)}: {reason}"
        ) from reason


def _spans(values: object) -> tuple[Span | None, ...]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"spans must be one (start, end) or None per position, got {values!r}")
    items = enumerate(cast("Iterable[object]", values))
    return tuple(None if span is None else _span(span, position) for position, span in items)


def _span(span: object, position: int) -> Span:
    ends = checks.as_ints(cast("Iterable[int]", span), f"span {position}")
    if len(ends) != 2 or not 0 <= ends[0] <= ends[1]:
        raise InputError(
            f"span {position} must be (start, end) with 0 <= start <= end, got {span!r}"
        )
    return ends[0], ends[1]
