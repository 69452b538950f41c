"""`blank_out`: each token in turn replaced, and how much the answer changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from attnflow.importance._ablate import Replace, changes, replacement
from attnflow.importance._example import examples_of
from attnflow.importance._question import Asking
from attnflow.models.inputs import unwrap_compiled
from attnflow.types import Importance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor, nn

    from attnflow._internal.checks import Progress
    from attnflow.importance._score import Score
    from attnflow.importance._target import Target
    from attnflow.models.inputs import ModelInput


@overload
def blank_out(
    model: nn.Module,
    tokenizer: Any,
    text: str,
    *,
    target: Target = None,
    replace: Replace = "unk",
    score: Score = "probability",
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Importance: ...
@overload
def blank_out(
    model: nn.Module,
    tokenizer: Any,
    text: list[str] | tuple[str, ...],
    *,
    target: Target = None,
    replace: Replace = "unk",
    score: Score = "probability",
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> list[Importance]: ...
@overload
def blank_out(
    model: nn.Module,
    tokenizer: Any,
    text: Mapping[str, Any] | Tensor,
    *,
    target: Target = None,
    replace: Replace = "unk",
    score: Score = "probability",
    signed: bool = False,
    position: int | None = None,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Importance | list[Importance]: ...
def blank_out(
    model: nn.Module,
    tokenizer: Any,
    text: ModelInput,
    *,
    target: Target = None,
    replace: Replace = "unk",
    score: Score = "probability",
    signed: bool = False,
    position: int | None = None,
    truncate: bool = False,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> Importance | list[Importance]:
    """How much the answer of a model changes when each token in turn is replaced by UNK.

    `values[i] = |p(t | x) − p(t | x with token i replaced)|`, the paper's blank-out. Every position
    is blanked, special tokens included, as in the paper's code.

    Parameters
    ----------
    model
        A classifier or a masked or causal language model, of Hugging Face or any torch module that
        gives logits (batch, class) or (batch, position, class). It is left as it was.
    tokenizer
        The model's tokenizer; None with ready inputs.
    text
        A text gives one result, a list of texts a list. Ready model inputs, a mapping of tensors by
        name or ids alone, give one result for a batch of one and a list for more.
    target
        The answer in question: a class or token by its number or name, or a list with one for each
        text. By default the answer that the model gives; `settings` says which it was. The paper
        takes the correct one.
    replace
        What stands where the token was: "unk" as in the paper, "mask", "pad", or the id of a token.
        Models that find padding by its id, as RoBERTa does, count positions anew with "pad".
    score
        "probability"; "logit"; or "difference", the probability less that of the other class, of
        more than two classes less that of the best other one for the input as it is.
    signed
        Keep the sign: above zero where the token speaks for the target.
    position
        Whose answer is read of a model that answers at every position. By default that of the mask
        token where the text has one, else the last of a model that writes: the next token.
    truncate
        Cut a text that is too long for the model; by default it is an InputError.
    batch_size
        How many variants are run at once; by default as many as have 4,096 tokens together, of
        a model of more than four million weights fewer, down to 512 tokens. It changes nothing but
        rounding: only variants of one length are run together, and nothing is padded.
    progress
        Called with (variants done, variants in all) before the first of them is run and after each
        batch. What it raises ends the work.

    Notes
    -----
    `n + 1` forward passes for n tokens, many at a time; texts in a list share them.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> import torch
    >>> from attnflow.importance import blank_out
    >>> class Counts(torch.nn.Module):
    ...     def forward(self, ids):
    ...         return torch.stack([(ids == 1).sum(1), (ids == 2).sum(1)], 1).float()
    >>> ids = torch.tensor([[1, 2, 2, 3]])
    >>> blank_out(Counts(), None, ids, replace=0, score="logit").values
    array([0., 1., 1., 0.])
    """
    model = unwrap_compiled(model)
    examples, single = examples_of(model, tokenizer, text, position=position, truncate=truncate)
    asking = Asking.of(model, tokenizer, score=score, target=target, count=len(examples))
    blank, name = replacement(model, tokenizer, replace, examples)
    found = changes(
        asking,
        examples,
        [[(place,) for place in example.kept] for example in examples],
        blank=blank,
        batch_size=batch_size,
        signed=signed,
        progress=progress,
    )
    made = {"replace": replace, "replaced_by": name, "signed": signed}
    results = [
        Importance(
            values, example.tokens, "blank_out", {**question.settings, **made}, example.origin
        )
        for example, (values, question) in zip(examples, found, strict=True)
    ]
    return results[0] if single else results
