"""Origin: what the positions of a model stand for outside of it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from attnflow._internal import checks
from attnflow._internal.words import Span
from attnflow.errors import InputError


@dataclass(frozen=True, slots=True)
class Grid:
    """Patches of an image: `rows` times `columns` positions, row by row, after `prefix` others.

    The positions before them are special (a class token, registers); whatever comes after the
    patches is not of the image, as the text of a model that writes captions.

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
                raise InputError(f"{name} of the grid is {number}; {lowest} or more is wanted")
            object.__setattr__(self, name, number)

    @property
    def size(self) -> int:
        """The number of patches."""
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class Origin:
    """What positions stand for outside the model: characters of a text, patches of an image.

    Parameters
    ----------
    spans
        For each position the characters (start, end) of the text it stands for, end excluded;
        None for a position that stands for none, such as a special token. None as a whole: not
        known. Spans may share characters, as pieces of one character do.
    grid
        Where the patches of an image lie among the positions.
    generated
        How many of the last positions the model wrote itself.
    text
        The text that spans are characters of: what the model read, and what it wrote.

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
            raise InputError(f"grid is {self.grid!r}; a Grid(rows, columns, prefix) is wanted")
        generated = checks.as_int(self.generated, "generated")
        if generated < 0:
            raise InputError(f"generated is {generated}; a number of positions, 0 or more")
        object.__setattr__(self, "generated", generated)
        if not isinstance(cast("object", self.text), str | None):
            raise InputError(f"text is {self.text!r}; the text that the model read is wanted")


def check_origin(origin: object, count: int) -> Origin | None:
    """The origin, if it can be that of `count` positions.

    >>> check_origin(Origin(generated=1), 2)
    Origin(spans=None, grid=None, generated=1, text=None)
    """
    if origin is None:
        return None
    if not isinstance(origin, Origin):
        raise InputError(
            f"origin is of type {type(origin).__name__}; an Origin(spans, grid, …) is "
            "wanted, or None where it is not known"
        )
    if origin.spans is not None and len(origin.spans) != count:
        raise InputError(
            f"the origin has {len(origin.spans)} spans for {count} positions; give one a position, "
            "None for special tokens"
        )
    grid = origin.grid
    if grid is not None and grid.prefix + grid.size > count:
        raise InputError(
            f"the origin's grid has {grid.prefix} + {grid.rows}·{grid.columns} positions, but "
            f"there are {count}; give rows and columns in patches, not pixels"
        )
    if origin.generated >= count > 0:
        raise InputError(
            f"the origin has {origin.generated} generated positions of {count}; a model writes "
            "after at least one that was given"
        )
    return origin


def predicting(origin: Origin | None, count: int) -> tuple[int, ...]:
    """Positions, of `count`, whose output predicted the generated ones: each the one before it.

    >>> predicting(Origin(generated=2), 5)
    (2, 3)
    """
    generated = 0 if origin is None else origin.generated
    return tuple(range(count - generated - 1, count - 1))


def origin_to_json(origin: Origin) -> str:
    """Return an origin as the JSON text that files hold.

    >>> origin_to_json(Origin(spans=((0, 3),)))
    '{"spans": [[0, 3]], "grid": null, "generated": 0, "text": null}'
    """
    return json.dumps(asdict(origin))


def origin_from_json(stored: object) -> Origin:
    """Return the origin in JSON text from a file.

    >>> origin_from_json('{"grid": {"rows": 2, "columns": 3, "prefix": 1}}').grid
    Grid(rows=2, columns=3, prefix=1)
    """
    try:
        fields: Any = json.loads(str(stored))
        grid = fields.pop("grid", None)
        return Origin(grid=None if grid is None else Grid(**grid), **fields)
    except (AttributeError, TypeError, json.JSONDecodeError) as reason:
        raise InputError(
            f"origin is {stored!r}; JSON text of spans, grid, … is wanted: {reason}"
        ) from reason


def _spans(values: object) -> tuple[Span | None, ...]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"spans is {values!r}; one (start, end) or None a position is wanted")
    each = enumerate(cast("Iterable[object]", values))
    return tuple(None if span is None else _span(span, position) for position, span in each)


def _span(span: object, position: int) -> Span:
    ends = checks.as_ints(cast("Iterable[int]", span), f"span {position}")
    if len(ends) != 2 or not 0 <= ends[0] <= ends[1]:
        raise InputError(
            f"span {position} is {span!r}; (start, end) is wanted, characters of the text from 0"
        )
    return ends[0], ends[1]
