"""Classes and tokens that a model may answer, by number and by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from attnflow._internal import checks
from attnflow.errors import InputError
from attnflow.models.inputs import inner_tokenizer, token_names

if TYPE_CHECKING:
    from torch import nn

# A class or a token, by its number or its name; a list has one for each text. None: the answer
# that the model gives.
OneTarget: TypeAlias = int | str | None
Target: TypeAlias = OneTarget | Sequence[OneTarget]


def targets_for(target: Target, count: int) -> tuple[OneTarget, ...]:
    """A target for each of `count` texts.

    >>> targets_for("plural", 2)
    ('plural', 'plural')
    """
    if not isinstance(target, list | tuple | np.ndarray) or not getattr(target, "ndim", 1):
        return (cast("OneTarget", target),) * count
    each = tuple(cast("Sequence[OneTarget]", target))
    if len(each) != count:
        raise InputError(f"{len(each)} targets came for {count} texts; give one for all or each")
    return each


@dataclass(frozen=True, slots=True)
class Classes:
    """What a model chooses from."""

    count: int
    labels: tuple[str, ...] | None  # None where the model's configuration does not name them
    tokenizer: Any  # None where they are no tokens

    @classmethod
    def of(cls, model: nn.Module, tokenizer: Any, count: int, *, tokens: bool) -> Classes:
        """The `count` classes of a model; with `tokens`, tokens unless it has names for them."""
        names: Any = getattr(getattr(model, "config", None), "id2label", None)
        labels = None
        # Every configuration of transformers has two names, those of language models too.
        if names is not None and len(names) == count and set(names) == set(range(count)):
            labels = tuple(str(names[number]) for number in range(count))
        return cls(count, labels, inner_tokenizer(tokenizer) if tokens else None)

    def name(self, number: int) -> str:
        """What a class is called; without a name, its number."""
        return self.labels[number] if self.labels else token_names(self.tokenizer, [number])[0]

    def number(self, target: int | str) -> int:
        """The number of a class or token."""
        if isinstance(target, str):
            number = self._label(target) if self.tokenizer is None else self._token(target)
        else:
            number = checks.as_int(target, "target")
        if not 0 <= number < self.count:
            raise InputError(f"target is {target!r}; the model's classes are 0 to {self.count - 1}")
        return number

    def _label(self, target: str) -> int:
        if self.labels is None:
            raise InputError(
                f"target is {target!r}, and the model has no names for its classes; give a number, "
                f"0 to {self.count - 1}"
            )
        if target not in self.labels:
            raise InputError(f"target is {target!r}; the classes are {', '.join(self.labels)}")
        return self.labels.index(target)

    def _token(self, target: str) -> int:
        """A token by its name in the vocabulary, or by a text that is one token."""
        if self.labels is not None:  # a model that labels tokens
            return self._label(target)
        known = self.tokenizer.get_vocab().get(target)
        if known is not None:
            return int(known)
        ids = cast("list[int]", self.tokenizer(target, add_special_tokens=False)["input_ids"])
        if len(ids) != 1:
            pieces = " ".join(token_names(self.tokenizer, ids))
            raise InputError(
                f"target {target!r} is {len(ids)} tokens ({pieces}); one token is wanted"
            )
        if ids[0] == getattr(self.tokenizer, "unk_token_id", None):
            raise InputError(f"target is {target!r}, a word that the model does not know")
        return ids[0]
