"""Whom a pronoun refers to, as a language model sees it: what Figure 4 of the paper shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnflow.errors import InputError, UnsupportedModelError
from attnflow.importance import predict_among
from attnflow.methods import flow, raw, rollout
from attnflow.models import attend
from attnflow.types import Attention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from attnflow.types import TokenAttention

# What stands in a sentence for the pronoun, whatever a model's own mark is.
MASK = "[MASK]"


@dataclass(frozen=True, slots=True)
class Reference:
    """A sentence with a pronoun left out, and whom it may refer to.

    Parameters
    ----------
    text
        The sentence, with [MASK] in the place of the pronoun.
    candidates
        The two that it may refer to, words of the sentence.
    pronouns
        The two pronouns, in the order of the candidates.
    """

    text: str
    candidates: tuple[str, str]
    pronouns: tuple[str, str]

    def __post_init__(self) -> None:
        if self.text.count(MASK) != 1:
            raise InputError(
                f"the sentence {self.text!r} has {self.text.count(MASK)} times {MASK}; one is "
                "wanted, in the place of the pronoun"
            )
        for name in ("candidates", "pronouns"):
            given = getattr(self, name)
            if len(given) != 2 or len(set(given)) < 2 or not all(each.strip() for each in given):
                raise InputError(f"{name} are {given}; two different words are wanted")


# The paper's two examples.
FIGURE_4 = (
    Reference(f"The author talked to Sara about {MASK} book", ("author", "Sara"), ("his", "her")),
    Reference(f"Mary convinced John of {MASK} love", ("Mary", "John"), ("her", "his")),
)


@dataclass(frozen=True, slots=True, eq=False)
class Resolved:
    """What a model makes of a reference.

    Parameters
    ----------
    text
        What it read: the sentence with its own mark, or the words before the pronoun.
    views
        Raw attention, rollout and flow of the position that answers, over words.
    candidates
        Each candidate with the words it is, as positions of `views`.
    probabilities
        Of the two pronouns.
    best, best_probability
        The token that the model finds most probable.
    causal
        Whether the pronoun is the next word, so that rollout and flow are corrected for the
        receptive field.
    """

    text: str
    views: tuple[TokenAttention, ...]
    candidates: dict[str, tuple[int, ...]]
    probabilities: dict[str, float]
    best: str
    best_probability: float
    causal: bool


def resolve(model: nn.Module, tokenizer: Any, reference: Reference) -> Resolved:
    """What a language model attends to in the place of a pronoun, and which one it would write.

    Parameters
    ----------
    model, tokenizer
        A masked language model, which reads the whole sentence; or a decoder, which reads the words
        before the pronoun and writes it next.
    reference
        The sentence.

    Notes
    -----
    Two forward passes, and the flow of one query. Candidates of several tokens have the sum of
    their scores. In a decoder early words are seen by more positions, so rollout and flow are
    divided by those of uniform attention, as the paper asks for; raw attention is as it is.

    Examples
    --------
    >>> from attnflow.paper import FIGURE_4
    >>> FIGURE_4[1].candidates
    ('Mary', 'John')
    """
    text, masked = _text(model, tokenizer, reference)
    attention = attend(model, tokenizer, text)
    if not isinstance(attention, Attention):
        raise _unsupported(model)
    spaced = bool(reference.text.partition(MASK)[0].strip())
    answer = predict_among(model, tokenizer, text, reference.pronouns, after_space=spaced)
    at = answer.position
    if at is None:
        raise _unsupported(model)
    corrected = attention.causal and not masked
    views = (
        raw(attention, queries=at),
        rollout(attention, queries=at, receptive_field=corrected),
        flow(attention, queries=at, receptive_field=corrected),
    )
    words = tuple(view.to_words() for view in views)
    return Resolved(
        text=text,
        views=words,
        candidates={each: _place(words[0].tokens, each, text) for each in reference.candidates},
        probabilities={each: answer.probabilities[each] for each in reference.pronouns},
        best=answer.label,
        best_probability=answer.probabilities[answer.label],
        causal=corrected,
    )


def _text(model: nn.Module, tokenizer: Any, reference: Reference) -> tuple[str, bool]:
    """What the model reads, and whether it fills in a mask."""
    mask = getattr(tokenizer, "mask_token", None)
    model = getattr(model, "_orig_mod", model)  # what torch.compile was given
    if mask is not None and type(model).__name__.endswith("ForMaskedLM"):
        return reference.text.replace(MASK, mask), True
    writes = getattr(model, "can_generate", None)
    if writes is None or not writes():
        raise _unsupported(model)
    before = reference.text.partition(MASK)[0].rstrip()
    if not before:
        raise InputError(
            f"the sentence {reference.text!r} begins with the pronoun, and {type(model).__name__} "
            "writes the word after those it reads; give it some before, or use a masked language "
            "model"
        )
    return before, False


def _unsupported(model: nn.Module) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{type(model).__name__} neither fills in a masked word nor writes the next one; a masked "
        "language model such as bert-base-uncased is wanted, or a decoder"
    )


def _place(words: Sequence[str], candidate: str, text: str) -> tuple[int, ...]:
    """The words that a candidate is, one after the other."""
    wanted = [each.casefold() for each in candidate.split()]
    found = [each.casefold() for each in words]
    starts = [start for start in range(len(found)) if found[start : start + len(wanted)] == wanted]
    if len(starts) != 1:
        often = "is not" if not starts else f"stands {len(starts)} times"
        raise InputError(
            f"{candidate!r} {often} among the words that the model reads ({text}); give two words "
            "that stand there once. A decoder reads those before the pronoun"
        )
    return tuple(range(starts[0], starts[0] + len(wanted)))
