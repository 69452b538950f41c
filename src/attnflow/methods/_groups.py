"""Groups: sets of positions that are one column of the scores each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from attnflow._internal import checks
from attnflow._internal.display import one_line, token_names
from attnflow.errors import InputError

# Positions by name, or one list of positions for each group.
Groups: TypeAlias = Mapping[str, Iterable[int]] | Sequence[Iterable[int]]


@dataclass(frozen=True, slots=True)
class Columns:
    """The groups of a result: their names, and their positions in rising order."""

    names: tuple[str, ...]
    positions: tuple[tuple[int, ...], ...]


def group_columns(groups: Groups, tokens: tuple[str, ...]) -> Columns:
    """Return the checked groups of the nodes `tokens`.

    >>> group_columns([[0, 1], {2}], ("the", "key", "is"))
    Columns(names=('the key', 'is'), positions=((0, 1), (2,)))
    """
    given = cast("object", groups)
    if isinstance(given, Mapping):
        named = cast("Mapping[str, Any]", given)
        positions = [(f"group {name!r}", value) for name, value in named.items()]
        names = checks.as_tokens(named, len(named), "the names of groups")
    elif isinstance(given, Iterable) and not isinstance(given, str | bytes | set | frozenset):
        positions = [(f"group {i}", value) for i, value in enumerate(cast("Iterable[Any]", given))]
        names = None
    else:
        raise InputError(_expected(cast("object", groups)))
    if not positions:
        raise InputError("groups: expected at least one group, got none. Leave it out for tokens")
    for name, value in positions:
        if not isinstance(value, Iterable) or isinstance(value, str | bytes):
            raise InputError(f"{_expected(value)} as {name}")
    checked = tuple(check_positions(value, name, len(tokens)) for name, value in positions)
    if names is None:
        words = token_names(tokens)
        names = tuple(one_line(" ".join(words[i] for i in group)) for group in checked)
    return Columns(names, checked)


def check_positions(
    values: Iterable[int] | int, name: str, size: int, *, expected: str = "integers"
) -> tuple[int, ...]:
    """Return distinct positions below `size` in rising order, at least one.

    >>> check_positions({4, 3}, "sink", 6)
    (3, 4)
    """
    numbers = sorted(checks.as_ints(values, name, expected=expected))
    if not numbers:
        raise InputError(f"{name}: expected at least one position, got none")
    for number in numbers:
        _ = checks.as_int(number, name, least=0, most=size - 1)
    if len(set(numbers)) != len(numbers):
        raise InputError(f"{name}: expected distinct positions, got {tuple(numbers)}")
    return tuple(numbers)


def _expected(received: object) -> str:
    return (
        "groups: expected a list of lists of positions, as in [[0, 1], [2]], or positions by name, "
        f"as in {{'question': [0, 1]}}, got {received!r}"
    )
