"""Pronoun resolution by a language model: Figure 4 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnflow._internal import checks
from attnflow._internal.sinks import Sinks, sinks_to_remove
from attnflow._internal.words import align, group_tokens
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.importance import predict_among
from attnflow.methods import flow, raw, rollout
from attnflow.models import attend
from attnflow.paper.data import MASK
from attnflow.types import Attention

if TYPE_CHECKING:
    from torch import nn

    from attnflow.types import TokenAttention


@dataclass(frozen=True, slots=True)
class PronounSentence:
    """A sentence with a masked pronoun, and the two words that the pronoun may refer to.

    Parameters
    ----------
    text
        The sentence, with [MASK] at the position of the pronoun.
    candidates
        The two words of the sentence that the pronoun may refer to.
    pronouns
        The pronoun for each candidate.
    """

    text: str
    candidates: tuple[str, str]
    pronouns: tuple[str, str]

    def __post_init__(self) -> None:
        if self.text.count(MASK) != 1:
            raise InputError(
                f"expected one {MASK} at the position of the pronoun, got "
                f"{self.text.count(MASK)} in {self.text!r}"
            )
        for name in ("candidates", "pronouns"):
            given = getattr(self, name)
            if len(given) != 2 or len(set(given)) < 2 or not all(word.strip() for word in given):
                raise InputError(f"{name} must be two different words, got {given}")


# The paper's two examples.
FIGURE_4 = (
    PronounSentence(
        f"The author talked to Sara about {MASK} book", ("author", "Sara"), ("his", "her")
    ),
    PronounSentence(f"Mary convinced John of {MASK} love", ("Mary", "John"), ("her", "his")),
)


@dataclass(frozen=True, slots=True, eq=False)
class PronounResolution:
    """The token attention of a model at the position of a pronoun, and its prediction there.

    Parameters
    ----------
    text
        The input of the model: the sentence with its mask token, or the words before the pronoun.
    scores
        Raw attention, rollout and flow of the position that predicts the pronoun, over words.
    candidates
        Each candidate with its positions in `scores`.
    probabilities
        Of the two pronouns.
    best, best_probability
        The most probable token.
    causal
        Whether the model predicts the pronoun as the next word.
    without
        Words that are taken out of the scores as attention sinks.
    receptive_field
        Whether rollout and flow are corrected for the receptive field.
    kept_sinks
        Candidates that are attention sinks, and are not taken out for that reason.
    """

    text: str
    scores: tuple[TokenAttention, ...]
    candidates: dict[str, tuple[int, ...]]
    probabilities: dict[str, float]
    best: str
    best_probability: float
    causal: bool
    without: tuple[str, ...] = ()
    receptive_field: bool = False
    kept_sinks: tuple[str, ...] = ()


def resolve(
    model: nn.Module,
    tokenizer: Any,
    sentence: PronounSentence,
    *,
    sinks: Sinks = "keep",
    receptive_field: bool | None = None,
) -> PronounResolution:
    """Return what a language model attends to at the position of a pronoun, and its prediction.

    Parameters
    ----------
    model, tokenizer
        A masked language model, whose input is the sentence; or a decoder, whose input is the words
        before the pronoun and which predicts the pronoun as the next word.
    sentence
        The sentence.
    sinks
        "remove" takes attention sinks out of the scores; a candidate is never taken out.
    receptive_field
        Whether rollout and flow are corrected for the receptive field, see `rollout`. By default
        those of a decoder are, as the paper proposes: more of its positions attend to early words.
        Raw attention is unchanged.

    Notes
    -----
    Two forward passes, and the flow of one query. The score of a candidate is the sum over its
    tokens.

    Examples
    --------
    >>> from attnflow.paper import FIGURE_4
    >>> FIGURE_4[1].candidates
    ('Mary', 'John')
    """
    text, masked = _model_input(model, tokenizer, sentence)
    attention = attend(model, tokenizer, text)
    if not isinstance(attention, Attention):
        raise unsupported(model)
    after_space = bool(sentence.text.partition(MASK)[0].strip())
    prediction = predict_among(model, tokenizer, text, sentence.pronouns, after_space=after_space)
    position = prediction.position
    if position is None:
        raise unsupported(model)
    causal = attention.causal and not masked
    corrected = (
        causal if receptive_field is None else checks.as_bool(receptive_field, "receptive_field")
    )
    scores = word_scores(attention, position, receptive_field=corrected)
    words = scores[0].tokens
    candidates = {word: word_positions(words, word, text) for word in sentence.candidates}
    kept = {place for places in candidates.values() for place in places}
    pieces = _pieces(attention, text)
    found = sinks_to_remove(attention.sinks, attention.n_tokens, sinks)
    removed = [token for token in found if pieces[token] not in kept]
    if removed:
        scores = word_scores(attention, position, receptive_field=corrected, without=removed)
    return PronounResolution(
        text=text,
        scores=scores,
        candidates=candidates,
        probabilities={word: prediction.probabilities[word] for word in sentence.pronouns},
        best=prediction.label,
        best_probability=prediction.probabilities[prediction.label],
        causal=causal,
        without=tuple(dict.fromkeys(words[pieces[token]] for token in removed)),
        receptive_field=corrected,
        kept_sinks=tuple(
            word
            for word, places in candidates.items()
            if any(pieces[token] in places for token in found)
        ),
    )


def _pieces(attention: Attention, text: str) -> dict[int, int]:
    """Return the number of the word that each token belongs to."""
    spans = None if attention.origin is None else attention.origin.spans
    grouped = group_tokens(align(attention.tokens, text) if spans is None else spans, text)
    return {piece: number for number, word in enumerate(grouped) for piece in word.pieces}


def word_scores(
    attention: Attention, position: int, *, receptive_field: bool, without: Sequence[int] = ()
) -> tuple[TokenAttention, TokenAttention, TokenAttention]:
    """Return raw attention, rollout and flow of a position over words; raw is never corrected."""
    graph = attention.graph(without=without)
    return (
        raw(attention, queries=position, without=without).to_words(),
        rollout(graph, queries=position, receptive_field=receptive_field).to_words(),
        flow(graph, queries=position, receptive_field=receptive_field).to_words(),
    )


def mask_token(model: nn.Module, tokenizer: Any) -> str | None:
    """Return the mask token of a masked language model, None for a decoder."""
    mask = getattr(tokenizer, "mask_token", None)
    model = getattr(model, "_orig_mod", model)  # the argument of torch.compile
    if mask is not None and type(model).__name__.endswith("ForMaskedLM"):
        return str(mask)
    can_generate = getattr(model, "can_generate", None)
    if can_generate is None or not can_generate():
        raise unsupported(model)
    return None


def _model_input(model: nn.Module, tokenizer: Any, sentence: PronounSentence) -> tuple[str, bool]:
    """Return the input of the model, and whether it predicts a masked token."""
    mask = mask_token(model, tokenizer)
    if mask is not None:
        return sentence.text.replace(MASK, mask), True
    before = sentence.text.partition(MASK)[0].rstrip()
    if not before:
        raise InputError(
            f"the sentence {sentence.text!r} begins with the pronoun, but {type(model).__name__} "
            "predicts the next word from the words before it. Add words before the pronoun, or use "
            "a masked language model"
        )
    return before, False


def unsupported(model: nn.Module) -> UnsupportedModelError:
    """Return the error about a model that predicts no words."""
    return UnsupportedModelError(
        "expected a masked language model such as bert-base-uncased, or a decoder, got "
        f"{type(model).__name__}, which predicts no words"
    )


def word_positions(words: Sequence[str], candidate: str, text: str) -> tuple[int, ...]:
    """Return the positions of the words of a candidate, which must occur once."""
    target = [word.casefold() for word in candidate.split()]
    found = [word.casefold() for word in words]
    starts = [start for start in range(len(found)) if found[start : start + len(target)] == target]
    if len(starts) != 1:
        raise InputError(
            f"expected the candidate {candidate!r} once in the input of the model ({text}), got "
            f"it {len(starts)} times. The input of a decoder ends before the pronoun"
        )
    return tuple(range(starts[0], starts[0] + len(target)))
