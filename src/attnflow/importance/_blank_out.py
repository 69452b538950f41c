"""`blank_out`: how the score changes when each token is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, overload

from attnflow._internal.checks import Progress
from attnflow.importance._ablation import blank_for, score_changes
from attnflow.importance._settings import BlankOutSettings, Replace
from attnflow.models.inputs import OneText, SeveralTexts, TextInput, WithTokenizer, takes_pipeline
from attnflow.models.scoring import OneTarget, Score, Scorer, Target
from attnflow.types import Importance

if TYPE_CHECKING:
    from torch import nn


@overload
def blank_out(
    model: nn.Module, tokenizer: Any, text: OneText, **settings: Unpack[BlankOutSettings]
) -> Importance: ...
@overload
def blank_out(
    model: nn.Module, tokenizer: Any, text: SeveralTexts, **settings: Unpack[BlankOutSettings]
) -> list[Importance]: ...
@overload
def blank_out(
    model: WithTokenizer, text: OneText, **settings: Unpack[BlankOutSettings]
) -> Importance: ...
@overload
def blank_out(
    model: WithTokenizer, text: SeveralTexts, **settings: Unpack[BlankOutSettings]
) -> list[Importance]: ...
@takes_pipeline
def blank_out(
    model: nn.Module,
    tokenizer: Any,
    text: TextInput,
    *,
    target: Target = None,
    against: OneTarget = None,
    replace: Replace | None = None,
    score: Score = "probability",
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Importance | list[Importance]:
    """Return how much a model's score for the target changes when each token is replaced.

    `values[i] = |p(t | x) − p(t | x with token i replaced)|`, the paper's blank-out. Every position
    is replaced once, special tokens included, as in the paper's code.

    Parameters
    ----------
    model
        A classifier or a masked or causal language model, of Hugging Face or any torch module that
        returns logits (batch, class) or (batch, position, class). It does not change.
    tokenizer
        The model's tokenizer; None with tensors.
    text
        A text, a pair of texts or the messages of a chat, as for `attnflow.attend`, gives one
        result; a list of them, a list. Tensors, a mapping of them by name or ids alone, have a
        batch axis and give a list; padding is cut off. Images have no tokens: an InputError.
    target
        A class or token by number or name, or a list with one for each text. By default the model's
        prediction, which `settings` records. The paper takes the correct class. A word is its token
        with or without a space before it, whichever is more probable.
    against
        The class or token that the target is compared with, for a score of two classes.
    replace
        What takes the place of a token: "unk", "mask", "pad" or an id; "attention_mask", so that no
        position attends to the token; or "mean" for the mean embedding of the vocabulary. None is
        the model's own blank (`config.blank_token_id`, which `attnflow train` may set); else
        "attention_mask" for a decoder, since the special tokens of many end documents or fill up
        batches ("mean" for BLOOM and Falcon with ALiBi, in which a mask moves later tokens); else
        "unk", as the paper says. `settings["replaced_by"]` records it.
        Models that find padding by its id, such as RoBERTa, shift positions with "pad".
    score
        "probability"; "log_probability"; "logit"; "difference", the probability minus
        that of `against`, by default the most probable other class for the unchanged input; or
        "logit_difference" for logits in place of probabilities.
    signed
        Keep the sign: positive if the token raises the score.
    position
        The position whose output is read if the model has one at every position. By default that
        of the mask token if the text has one, else the last one of a model that generates text.
    truncate
        Cut a text that is too long for the model; by default it is an InputError.
    batch_size
        How many variants make a batch; by default as many as have 4,096 tokens, fewer for a model
        of more than four million weights, down to 512. Variants of one batch have one length, so
        that it changes results by rounding only.
    progress
        Called with (variants done, variants in total) before the first batch and after each. An
        exception that it raises stops the work.

    Notes
    -----
    `n + 1` rows for n tokens, in batches that the texts of a list share.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import torch
    >>> from attnflow.importance import blank_out
    >>> class Counts(torch.nn.Module):
    ...     def forward(self, ids):
    ...         return torch.stack([(ids == 1).sum(1), (ids == 2).sum(1)], 1).float()
    >>> ids = torch.tensor([[1, 2, 2, 3]])
    >>> blank_out(Counts(), None, ids, replace=0, score="logit")[0].values
    array([0., 1., 1., 0.])
    """
    scorer = Scorer.of(
        model, tokenizer, text, score, target, against=against, position=position, truncate=truncate
    )
    passes = {"batch_size": batch_size, "progress": progress}
    return scorer.one_or_all(blank_out_of(scorer, replace, signed=signed, **passes))


def blank_out_of(
    scorer: Scorer, replace: Replace | None, *, signed: bool = False, **passes: Any
) -> list[Importance]:
    """Return `blank_out` of the inputs of a scorer."""
    blank = blank_for(scorer, replace)
    positions = [[(place,) for place in item.kept] for item in scorer.inputs]
    changes = score_changes(scorer, positions, blank, signed=signed, **passes)
    made = {**blank.settings, "signed": signed}
    return [
        Importance(values, item.tokens, "blank_out", {**found.settings, **made}, item.origin)
        for item, (values, found) in zip(scorer.inputs, changes, strict=True)
    ]
