"""The classes or tokens that a model predicts, by number and by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from attnflow._internal import checks, display
from attnflow.errors import InputError
from attnflow.models.inputs import inner_tokenizer, token_names

if TYPE_CHECKING:
    from torch import Tensor, nn

# A class or a token by number or name, or a list with one for each text. None: the model's
# prediction.
OneTarget: TypeAlias = int | str | None
Target: TypeAlias = OneTarget | Sequence[OneTarget]


def targets_for(target: Target, count: int) -> tuple[OneTarget, ...]:
    """Return a target for each of `count` texts.

    >>> targets_for("plural", 2)
    ('plural', 'plural')
    """
    if not isinstance(target, list | tuple | np.ndarray) or not getattr(target, "ndim", 1):
        return (cast("OneTarget", target),) * count
    targets = tuple(cast("Sequence[OneTarget]", target))
    if len(targets) != count:
        raise InputError(
            f"target: expected one for all {count} texts or one for each, got {len(targets)}"
        )
    return targets


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a model."""

    count: int
    labels: tuple[str, ...] | None  # None if the configuration has no names
    tokenizer: Any  # None if the model has one output for the complete input
    tokens: bool  # whether they are the tokens of a vocabulary

    @classmethod
    def of(cls, model: nn.Module, tokenizer: Any, count: int, *, per_position: bool) -> Classes:
        """Return the `count` classes of a model; without labels those of a position are tokens."""
        names: Any = getattr(getattr(model, "config", None), "id2label", None)
        labels = None
        # Every configuration of transformers has two labels, also those of language models.
        if names is not None and len(names) == count and set(names) == set(range(count)):
            labels = tuple(str(names[number]) for number in range(count))
        inner = None if tokenizer is None or not per_position else inner_tokenizer(tokenizer)
        return cls(count, labels, inner, tokens=per_position and labels is None)

    def name(self, number: int) -> str:
        """Return the name of a class; without a name, its number."""
        return self.labels[number] if self.labels else token_names(self.tokenizer, [number])[0]

    def number(self, target: int | str, argument: str = "target") -> int:
        """Return the number of a class or token; errors name the argument."""
        if isinstance(target, str):
            find = self._label if self.tokenizer is None else self._token
            number = find(target, argument)
        else:
            try:
                number = checks.as_int(target, argument)
            except InputError:
                raise InputError(
                    f"{argument} must be an integer, or a name as a str, got {target!r}"
                ) from None
        if not 0 <= number < self.count:
            raise InputError(
                f"{argument}: expected a class from 0 to {self.count - 1}, got {target!r}"
            )
        return number

    def numbers(self, target: int | str, argument: str = "target") -> list[int]:
        """Return the number of a class or token, and of a word also that with a space before it.

        "his" is the tokens "his" and " his", which begins a word inside a text, if there are both;
        " his" is the second only.
        """
        spaced = self._after_space(target) if isinstance(target, str) else None
        try:
            found = self.number(target, argument)
        except InputError:
            if spaced is None:
                raise
            return [spaced]
        return [found] if spaced in (None, found) else [found, spaced]

    def likeliest(self, target: int | str, logits: Tensor, argument: str = "target") -> int:
        """Return that of `numbers` with the largest of the logits (class)."""
        return max(self.numbers(target, argument), key=lambda number: float(logits[number]))

    def _after_space(self, word: str) -> int | None:
        """Return the token of a word with a space before it; None if there is no such token."""
        if self.labels is not None or self.tokenizer is None or not word[:1].isalnum():
            return None
        number = self._in_vocabulary(f"▁{word}")  # as SentencePiece writes the space
        if number is None:
            ids: list[int] = self.tokenizer(f" {word}", add_special_tokens=False)["input_ids"]
            known = len(ids) == 1 and ids[0] != getattr(self.tokenizer, "unk_token_id", None)
            number = ids[0] if known else None
        # A tokenizer may have tokens that the model has no logit for.
        return number if number is not None and number < self.count else None

    def _in_vocabulary(self, token: str) -> int | None:
        """Return the id of a token by its name; None if the vocabulary does not have it."""
        number = self.tokenizer.convert_tokens_to_ids(token)  # that of UNK for an unknown name
        if number is None or self.tokenizer.convert_ids_to_tokens([number])[0] != token:
            return None
        return int(number)

    def _label(self, target: str, argument: str) -> int:
        if self.labels is None:
            raise InputError(
                f"{argument}: the model has no names for its classes, got {target!r}; pass a "
                f"number from 0 to {self.count - 1}"
            )
        if target not in self.labels:
            known = ", ".join(self.labels)
            raise InputError(f"{argument}: expected one of {known}, got {target!r}")
        return self.labels.index(target)

    def _token(self, target: str, argument: str) -> int:
        """Return the id of a token by its name in the vocabulary, or by a text of one token."""
        if self.labels is not None:  # a model that labels tokens
            return self._label(target, argument)
        known = self._in_vocabulary(target)
        if known is not None:
            return known
        ids = cast("list[int]", self.tokenizer(target, add_special_tokens=False)["input_ids"])
        if len(ids) != 1:
            pieces = " ".join(display.token_names(token_names(self.tokenizer, ids)))
            raise InputError(
                f"{argument}: expected one token, got {target!r}, which is {len(ids)} tokens "
                f"({pieces})"
            )
        if ids[0] == getattr(self.tokenizer, "unk_token_id", None):
            raise InputError(f"{argument}: {target!r} is not in the vocabulary of the model")
        return ids[0]
