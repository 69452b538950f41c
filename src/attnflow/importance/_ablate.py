"""How the answer changes when tokens are replaced: what blanking one by one and in spans share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.importance._batches import Row, batches
from attnflow.importance._passes import answer_of, reading
from attnflow.models.inputs import check_vocabulary, inner_tokenizer, token_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import nn

    from attnflow.importance._example import Example
    from attnflow.importance._question import Asking, Question

# The token that stands where another was: a special one of the tokenizer, or the id of any.
Special: TypeAlias = Literal["unk", "mask", "pad"]
Replace: TypeAlias = Special | int


def changes(
    asking: Asking,
    examples: Sequence[Example],
    groups: Sequence[Sequence[tuple[int, ...]]],
    *,
    blank: int,
    batch_size: int | None,
    signed: bool,
    progress: checks.Progress | None,
) -> list[tuple[NDArray[np.float64], Question]]:
    """For each example the change of its score (group) when the positions of a group are blanked.

    The score of the whole input less that of the blanked one; without its sign unless `signed`.
    `progress` is called before the first pass over groups and after each of them.
    """
    model = asking.model
    with reading(model, gradients=False):
        questions: dict[int, Question] = {}
        originals = [Row(number) for number in range(len(examples))]
        for numbers, fields in batches(model, examples, originals, size=batch_size):
            answer = answer_of(model, fields, [examples[number] for number in numbers])
            answer = answer._replace(logits=answer.logits.cpu().double())
            asked = asking.questions(answer, examples, numbers)
            questions |= dict(zip(numbers, asked, strict=True))
        rows = [Row(number, group) for number, each in enumerate(groups) for group in each]
        scores = np.empty(len(rows))
        done = 0
        if progress is not None:
            progress(done, len(rows))
        for numbers, fields in batches(model, examples, rows, size=batch_size, blank=blank):
            which = [rows[number].example for number in numbers]
            answer = answer_of(model, fields, [examples[number] for number in which])
            found = asking.measured(
                answer.logits.cpu().double(), [questions[each] for each in which]
            )
            scores[numbers] = found.cpu().numpy()
            done += len(numbers)
            if progress is not None:
                progress(done, len(rows))
    wholes = np.array([questions[row.example].whole for row in rows])
    change = wholes - scores if signed else np.abs(wholes - scores)
    ends = np.cumsum([len(each) for each in groups])[:-1]
    return [(part, questions[number]) for number, part in enumerate(np.split(change, ends))]


def replacement(
    model: nn.Module,
    tokenizer: Any,
    replace: Replace,
    examples: Sequence[Example],
    *,
    name: str = "replace",
) -> tuple[int, str]:
    """The id that stands where a token was, and its name; the setting `name` asks for it."""
    for example in examples:
        if example.read.is_floating_point():
            raise InputError(
                f"{example.main or 'the input'} holds embeddings, in which no token can be "
                "replaced by another; pass a text or input_ids"
            )
    if isinstance(replace, str):
        number = _special(tokenizer, replace, name)
    else:
        number = checks.as_int(replace, name)
    check_vocabulary(model, [number])
    return number, token_names(tokenizer, [number])[0]


def _special(tokenizer: Any, replace: str, name: str) -> int:
    if replace not in get_args(Special):
        names = ", ".join(get_args(Special))
        raise InputError(f"{name} is {replace!r}; use {names} or the id of a token")
    if tokenizer is None:
        raise InputError(
            f"{name} is {replace!r} and there is no tokenizer that has such a token; pass the "
            f"tokenizer, or the id of a token: {name}=0"
        )
    tokenizer = inner_tokenizer(tokenizer)
    ids = {each: getattr(tokenizer, f"{each}_token_id", None) for each in get_args(Special)}
    number = ids[replace]
    if number is None:
        there = ", ".join(other for other, each in ids.items() if each is not None)
        use = f"{there}, or the id of a token" if there else "the id of a token"
        raise InputError(f"the tokenizer has no {replace} token; use {use}")
    return int(number)
