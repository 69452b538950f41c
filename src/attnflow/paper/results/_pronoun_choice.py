"""Which of two candidates decides the pronoun that a language model predicts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnflow.errors import InputError
from attnflow.importance import predict_among
from attnflow.paper.data import MASK, PronounSchema, gendered_pronouns
from attnflow.paper.results._pronouns import mask_token, unsupported

if TYPE_CHECKING:
    from torch import nn

_NEUTRAL = "the person"  # has no gender
_INPUTS = 5  # of a sentence: itself and `changed_inputs`

# Why a sentence is not counted.
NOT_ONCE = "a candidate is not in the input exactly once"
TOO_LATE = "a candidate comes after the pronoun, where a decoder does not see it"
REVEALED = "another pronoun in the input tells the gender"
REPEATED = "an earlier sentence has the same input and pronouns"
FAILED = "the model cannot predict the pronoun"
EQUAL = "both pronouns are equally probable"
NEITHER = "replacing either candidate by the other leaves the pronoun"
EITHER = "replacing either candidate by the other changes the pronoun"


@dataclass(frozen=True, slots=True)
class PronounChoice:
    """The pronoun that a model prefers in a sentence, and the candidate that decides it.

    Parameters
    ----------
    schema
        The sentence.
    text
        The input of the model: the sentence with its mask token, or the words before the pronoun.
    log_odds
        Of the masculine against the feminine pronoun, for five inputs: the sentence; the sentence
        with the first candidate in both places, and with the second; and with "the person" in the
        place of the first candidate, and of the second. Empty if not computed.
    position
        The position that predicts the pronoun, among the tokens of `text`.
    reason, error
        Why the sentence is not counted, empty if it is; and the message of the model, if any.
    """

    schema: PronounSchema
    text: str
    log_odds: tuple[float, ...] = ()
    position: int = -1
    reason: str = ""
    error: str = ""

    @property
    def pronoun(self) -> str:
        """The pronoun that the model prefers; empty if neither."""
        sign = np.sign(self.log_odds[0]) if self.log_odds else 0
        return {1: self.schema.pronouns[0], -1: self.schema.pronouns[1]}.get(sign, "")

    @property
    def decides(self) -> int | None:
        """The index of the candidate that decides the pronoun; None if no single one does."""
        if self.reason:
            return None
        sentence, first = np.sign(self.log_odds[:2])
        return int(sentence != first)

    @property
    def support(self) -> tuple[float, float]:
        """How much the log-odds of the preferred pronoun fall without each candidate."""
        sentence, *_, without_first, without_second = self.log_odds
        sign = float(np.sign(sentence))
        return sign * (sentence - without_first), sign * (sentence - without_second)


def prepare_choices(
    model: nn.Module, tokenizer: Any, schemas: Sequence[PronounSchema]
) -> list[PronounChoice]:
    """Return the input of each sentence; sentences that cannot be asked have a reason."""
    mask = mask_token(model, tokenizer)
    seen: set[tuple[str, tuple[str, str]]] = set()
    choices: list[PronounChoice] = []
    for schema in schemas:
        text = schema.before if mask is None else schema.text.replace(MASK, mask)
        choice = PronounChoice(schema, text, reason=_reason(schema, text, mask))
        if not choice.reason:
            if (text, schema.pronouns) in seen:
                choice = replace(choice, reason=REPEATED)
            seen.add((text, schema.pronouns))
        choices.append(choice)
    return choices


def choose_pronouns(
    model: nn.Module, tokenizer: Any, choices: Sequence[PronounChoice]
) -> list[PronounChoice]:
    """Return the choices with the model's log-odds; five rows of a batch for each sentence.

    The model prefers a pronoun in the sentence, and one in each of two changed sentences, in which
    a candidate has been replaced by the other. A candidate *decides* the pronoun if replacing it
    changes the pronoun, and replacing the other does not.
    """
    try:
        return list(_choose(model, tokenizer, choices))
    except InputError as error:
        if len(choices) == 1:  # the sentence at fault
            return [replace(choices[0], reason=FAILED, error=str(error))]
        return [one for each in choices for one in choose_pronouns(model, tokenizer, [each])]


def mentions(schema: PronounSchema, text: str) -> list[re.Match[str]] | None:
    """Return the places of the two candidates in a text, with their articles; None if not once."""
    found = [_find(noun, text) for noun in schema.candidates]
    if any(len(places) != 1 for places in found):
        return None
    one, other = found[0][0], found[1][0]
    overlap = one.start() < other.end() and other.start() < one.end()
    return None if overlap else [one, other]


def changed_inputs(schema: PronounSchema, text: str) -> list[str]:
    """Return four texts: with the first candidate twice, the second twice, and without either.

    The last two have "the person" instead of a candidate. A candidate moves with its article, so
    that "a student" becomes "the instructor".

    >>> text = "The instructor met a student to discuss"
    >>> schema = PronounSchema(text, ("instructor", "student"), ("his", "her"))
    >>> for changed in changed_inputs(schema, text):
    ...     print(changed)
    The instructor met the instructor to discuss
    A student met a student to discuss
    The person met a student to discuss
    The instructor met the person to discuss
    """
    places = mentions(schema, text)
    if places is None:
        raise InputError(f"expected each of {schema.candidates} once in {text!r}")
    one, other = (
        f"{place[1].lower()} {noun}" if place[1] else noun
        for place, noun in zip(places, schema.candidates, strict=True)
    )
    pairs = ((one, one), (other, other), (_NEUTRAL, other), (one, _NEUTRAL))
    return [_filled(text, places, pair) for pair in pairs]


def _filled(text: str, places: Sequence[re.Match[str]], phrases: Sequence[str]) -> str:
    # From the end of the text, so that the places before stay where they are.
    for place, phrase in sorted(
        zip(places, phrases, strict=True), key=lambda pair: -pair[0].start()
    ):
        own = phrase if place.start() else phrase[0].upper() + phrase[1:]
        text = text[: place.start()] + own + text[place.end() :]
    return text


def _find(noun: str, text: str) -> list[re.Match[str]]:
    article = r"(?:\b(the|an?)\s+)?"
    return list(re.finditer(rf"{article}\b{re.escape(noun)}\b", text, re.IGNORECASE))


def _reason(schema: PronounSchema, text: str, mask: str | None) -> str:
    if mentions(schema, text) is None:
        late = mask is None and mentions(schema, schema.text) is not None
        return TOO_LATE if late else NOT_ONCE
    return REVEALED if gendered_pronouns(text) else ""


def _choose(
    model: nn.Module, tokenizer: Any, choices: Sequence[PronounChoice]
) -> Iterator[PronounChoice]:
    pronouns = sorted({word for choice in choices for word in choice.schema.pronouns})
    texts = [
        text for each in choices for text in (each.text, *changed_inputs(each.schema, each.text))
    ]
    found = predict_among(model, tokenizer, texts, pronouns, after_space=True)
    for row, choice in enumerate(choices):
        own = found[_INPUTS * row : _INPUTS * (row + 1)]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_odds = tuple(
                float(np.log(each.probabilities[masculine]) - np.log(each.probabilities[feminine]))
                for masculine, feminine in [choice.schema.pronouns]
                for each in own
            )
        position = own[0].position
        if position is None:
            raise unsupported(model)
        yield replace(choice, log_odds=log_odds, position=position, reason=_decision(log_odds))


def _decision(log_odds: Sequence[float]) -> str:
    """Return why no single candidate decides the pronoun; empty if one does."""
    sentence, first, second = np.sign(log_odds[:3])
    if abs(sentence * first * second) != 1:  # one is 0, or NaN if both probabilities are 0
        return EQUAL
    if first == second:
        return NEITHER if first == sentence else EITHER
    return ""
