"""How scores change when tokens are replaced, shared by `blank_out` and `leave_span_out`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.importance._embeddings import mean_embeddings
from attnflow.importance._settings import Replace, Special
from attnflow.models.inputs import (
    accepts,
    check_vocabulary,
    forward_parameters,
    inner_tokenizer,
    is_decoder,
    token_names,
)
from attnflow.models.scoring import (
    Logits,
    Scorer,
    SingleInput,
    TargetScore,
    Variant,
    batches,
    evaluation,
    read_logits,
)

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True)
class Blank:
    """What takes the place of a token."""

    setting: Replace
    name: str
    number: int | None  # the id of a token; None for the mean embedding and the attention mask

    @property
    def settings(self) -> dict[str, Any]:
        """What an importance records of it."""
        return {"replace": self.setting, "replaced_by": self.name}


def score_changes(
    scorer: Scorer,
    groups: Sequence[Sequence[tuple[int, ...]]],
    blank: Blank,
    *,
    batch_size: int | None,
    signed: bool,
    progress: checks.Progress | None,
    observe: Callable[[Logits], None] | None = None,
) -> list[tuple[NDArray[np.float64], TargetScore]]:
    """Return for each input how its score changes (group) when a group of positions is blanked.

    The change is the score of the unchanged input minus that of the variant, without its sign
    unless `signed`. Unchanged inputs are rows of the same batches as their variants, so they take
    no pass of their own; `observe` is called with their logits.
    """
    checks.check_progress(progress)
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
            model, inputs, variants, batch_size=batch_size, replacement=blank.number
        ):
            rows = [variants[number] for number in numbers]
            logits = _logits(model, fields, [inputs[row.input] for row in rows], rows, blank)
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


def _logits(
    model: nn.Module,
    fields: dict[str, Any],
    inputs: Sequence[SingleInput],
    rows: Sequence[Variant],
    blank: Blank,
) -> Logits:
    """Return the logits of a batch in which ids are replaced already; others are changed here."""
    if blank.number is not None:
        return read_logits(model, fields, inputs)
    places = [(at, place) for at, row in enumerate(rows) for place in row.replaced]
    if blank.setting == "attention_mask":
        return read_logits(model, _masked(model, fields, inputs[0].main, places), inputs)
    with mean_embeddings(model, fields, inputs[0].main, places) as changed:
        return read_logits(model, changed, inputs)


def _masked(
    model: nn.Module, fields: dict[str, Any], main: str, places: Sequence[tuple[int, int]]
) -> dict[str, Any]:
    """Return the arguments of a pass with an attention mask that is 0 at places (row, position)."""
    import torch

    ids = fields[main]
    mask = fields.get("attention_mask")
    mask = torch.ones_like(ids) if mask is None else mask.clone()
    for row, place in places:
        mask[row, place] = 0
    masked = {**fields, "attention_mask": mask}
    if _needs_positions(model, fields, main):
        masked["position_ids"] = torch.arange(ids.shape[1], device=ids.device).repeat(len(ids), 1)
    return masked


def _needs_positions(model: nn.Module, fields: dict[str, Any], main: str) -> bool:
    """Whether to pass positions 0, 1, …: some decoders, as OPT, count the ones of the mask.

    Models that count in another way keep their own: RoBERTa's positions depend on ids, and those of
    an image that is read beside the text have several axes.
    """
    import torch

    if "position_ids" in fields or "position_ids" not in forward_parameters(model):
        return False
    tensors = [value for value in fields.values() if isinstance(value, torch.Tensor)]
    text_only = all(value.shape[:2] == fields[main].shape[:2] for value in tensors)
    from_ids = any(hasattr(m, "create_position_ids_from_input_ids") for m in model.modules())
    return text_only and not from_ids and is_decoder(model)


def blank_for(scorer: Scorer, replace: Replace | None) -> Blank:
    """Return what takes the place of a token; None is the default for the model.

    The default is the model's own blank, `config.blank_token_id`; for a decoder the attention mask,
    since its special tokens end documents or fill up batches, or the mean embedding if it takes no
    mask, or a 0 in it would move all later tokens; else UNK, as the paper says. docs/importance.md
    has the experiment that decided it.
    """
    takes_mask = accepts(scorer.model, "attention_mask")
    if replace is None:
        replace = _default(scorer.model, takes_mask=takes_mask)
    if replace == "mean":
        _check_ids(scorer)
        return Blank("mean", "the mean embedding", None)
    if replace == "attention_mask":
        if not takes_mask or any(_mask_axes(item) != 2 for item in scorer.inputs):
            raise InputError(
                f"replace='attention_mask' needs a model that takes an attention_mask (batch, "
                f"position), and {type(scorer.model).__name__} does not, or got another one; use "
                "replace='mean' or the id of a token"
            )
        return Blank("attention_mask", "attention mask 0", None)
    number, name = token_id(scorer, replace)
    return Blank(replace, name, number)


def _default(model: nn.Module, *, takes_mask: bool) -> Replace:
    own: int | None = getattr(getattr(model, "config", None), "blank_token_id", None)
    if own is not None:
        return own
    if not is_decoder(model):
        return "unk"
    return "attention_mask" if takes_mask and not _biases_count_mask(model) else "mean"


def _biases_count_mask(model: nn.Module) -> bool:
    """Whether ALiBi biases count the ones of the mask, so that a 0 moves all later tokens."""
    config: Any = getattr(model, "config", None)
    return getattr(config, "model_type", None) == "bloom" or getattr(config, "alibi", None) is True


def _mask_axes(item: SingleInput) -> int:
    mask = item.fields.get("attention_mask")
    return 2 if mask is None else mask.ndim


def _check_ids(scorer: Scorer) -> None:
    for item in scorer.inputs:
        if item.ids.is_floating_point():
            raise InputError(
                f"{item.main or 'the input'} holds embeddings, and only ids can be replaced; pass "
                "a text or input_ids"
            )


def token_id(scorer: Scorer, replace: Replace, *, name: str = "replace") -> tuple[int, str]:
    """Return the id and the name of the token that the setting `name` chooses."""
    _check_ids(scorer)
    if isinstance(replace, str):
        number = _special_id(scorer.tokenizer, replace, name)
    else:
        number = checks.as_int(replace, name)
    check_vocabulary(scorer.model, [number], name)
    return number, token_names(scorer.tokenizer, [number])[0]


def _special_id(tokenizer: Any, replace: str, name: str) -> int:
    if replace not in get_args(Special):
        more = ("mean", "attention_mask") if name == "replace" else ("zero",)
        names = ", ".join((*get_args(Special), *more))
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
