"""How scores change when tokens are replaced, shared by `blank_out` and `leave_span_out`."""

from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.importance._settings import Replace, Special
from attnflow.models.inputs import check_vocabulary, inner_tokenizer, token_names
from attnflow.models.scoring import (
    Logits,
    Scorer,
    TargetScore,
    Variant,
    batches,
    evaluation,
    read_logits,
)


def score_changes(
    scorer: Scorer,
    groups: Sequence[Sequence[tuple[int, ...]]],
    *,
    replacement: int,
    batch_size: int | None,
    signed: bool,
    progress: checks.Progress | None,
    observe: Callable[[Logits], None] | None = None,
) -> list[tuple[NDArray[np.float64], TargetScore]]:
    """Return for each input how its score changes (group) when a group of positions is replaced.

    The change is the score of the unchanged input minus that of the variant, without its sign
    unless `signed`. Unchanged inputs are rows of the same batches as their variants, so they take
    no pass of their own; `observe` is called with their logits.
    """
    model, inputs = scorer.model, scorer.inputs
    variants = [
        Variant(number, group)
        for number, own in enumerate(groups)
        for group in ((), *own)  # the unchanged input first: it decides about the target
    ]
    targets: dict[int, TargetScore] = {}
    scores = np.empty(len(variants))
    done, total = 0, len(variants) - len(inputs)
    with evaluation(model, gradients=False):
        if progress is not None:
            progress(done, total)
        for numbers, fields in batches(
            model, inputs, variants, batch_size=batch_size, replacement=replacement
        ):
            rows = [variants[number] for number in numbers]
            logits = read_logits(model, fields, [inputs[row.input] for row in rows])
            values = logits.values.cpu().double()
            unchanged = [at for at, row in enumerate(rows) if not row.replaced]
            originals = logits._replace(values=values[unchanged])
            if observe is not None and unchanged:
                observe(originals)
            own = [rows[at].input for at in unchanged]
            targets |= dict(zip(own, scorer.target_scores(originals, own), strict=True))
            scores[numbers] = scorer.scores(values, [targets[row.input] for row in rows]).numpy()
            done += len(rows) - len(unchanged)
            if progress is not None:
                progress(done, total)
    parts = np.split(scores, np.cumsum([1 + len(own) for own in groups])[:-1])
    changes = [part[0] - part[1:] for part in parts]
    return [
        (change if signed else np.abs(change), targets[number])
        for number, change in enumerate(changes)
    ]


def blank_of(scorer: Scorer, replace: Replace | None) -> Replace:
    """Return the setting `replace`; None is the model's own, `config.blank_token_id`, or UNK."""
    if replace is not None:
        return replace
    own = getattr(getattr(scorer.model, "config", None), "blank_token_id", None)
    return "unk" if own is None else own


def token_id(scorer: Scorer, replace: Replace, *, name: str = "replace") -> tuple[int, str]:
    """Return the id and the name of the token that the setting `name` chooses."""
    for item in scorer.inputs:
        if item.ids.is_floating_point():
            raise InputError(
                f"{item.main or 'the input'} holds embeddings, and only ids can be replaced; pass "
                "a text or input_ids"
            )
    if isinstance(replace, str):
        number = _special_id(scorer.tokenizer, replace, name)
    else:
        number = checks.as_int(replace, name)
    check_vocabulary(scorer.model, [number])
    return number, token_names(scorer.tokenizer, [number])[0]


def _special_id(tokenizer: Any, replace: str, name: str) -> int:
    if replace not in get_args(Special):
        names = ", ".join(get_args(Special))
        raise InputError(f"{name}: expected {names} or the id of a token, got {replace!r}")
    if tokenizer is None:
        raise InputError(
            f"{name}={replace!r} needs a tokenizer that has this token, got None; pass the "
            f"tokenizer, or the id of a token: {name}=0"
        )
    tokenizer = inner_tokenizer(tokenizer)
    ids = {
        special: getattr(tokenizer, f"{special}_token_id", None) for special in get_args(Special)
    }
    number = ids[replace]
    if number is None:
        known = ", ".join(special for special, known in ids.items() if known is not None)
        use = f"{known}, or the id of a token" if known else "the id of a token"
        raise InputError(f"{name}: the tokenizer has no {replace} token; use {use}")
    return int(number)
