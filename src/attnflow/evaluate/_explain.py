"""`explain`: what a model answers, what it attended to and what the answer depends on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from attnflow._internal.html_table import html_table
from attnflow._internal.settings import thaw_settings
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.evaluate import agreement
from attnflow.importance import blank_out, input_gradient, predict
from attnflow.methods import flow, raw, rollout
from attnflow.models import attend
from attnflow.types import METHODS, Attention

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

    from attnflow._internal.checks import Progress
    from attnflow.importance import Importance, Prediction
    from attnflow.types import Method, TokenAttention


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Explanation:
    """A prediction, and for each token what was attended to and what it counts for.

    Parameters
    ----------
    text
        What the model read.
    prediction
        What it answered.
    scores
        Token attention by method, of one layer and one query.
    importance
        Importance by method, for the answer in question.
    attention
        All of what was attended to, which the scores are one row of.
    """

    text: str
    prediction: Prediction
    scores: Mapping[Method, TokenAttention]
    importance: Mapping[str, Importance]
    attention: Attention

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that everything is about."""
        return next(iter(self.importance.values())).tokens

    @property
    def layer(self) -> int:
        """The layer that attends."""
        return next(iter(self.scores.values())).layers[0]

    @property
    def query(self) -> int:
        """The position that attends."""
        return next(iter(self.scores.values())).queries[0]

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """One number a token, by what it is."""
        attention = {name: each.scores[0, 0] for name, each in self.scores.items()}
        return {**attention, **{name: each.values for name, each in self.importance.items()}}

    def correlations(self) -> dict[str, dict[str, float]]:
        """Importance → method → Spearman's rank correlation of the two; NaN where undefined."""
        return {
            name: {
                method: float(agreement(scores, values, query=self.query)[0])
                for method, scores in self.scores.items()
            }
            for name, values in self.importance.items()
        }

    @property
    def saturated(self) -> bool:
        """Whether flow is at its ceiling: whatever the layers between do, it would be the same."""
        return "flow" in self.scores and self.scores["flow"].saturated[0]

    def settings(self) -> dict[str, Any]:
        """How all of it was made."""
        results = {**self.scores, **self.importance}
        made = {name: thaw_settings(each.settings) for name, each in results.items()}
        return {"layer": self.layer, "query": self.query, **made}

    def __repr__(self) -> str:
        return f"Explanation({self.prediction!r}, tokens={len(self.tokens)}, layer={self.layer})"

    def _repr_html_(self) -> str:
        columns = self.columns()
        rows = [
            [token, *(f"{values[place]:.3f}" for values in columns.values())]
            for place, token in enumerate(self.tokens)
        ]
        caption = f"{self.prediction!r}, layer {self.layer}, query {self.query}"
        return html_table(caption, ["token", *columns], rows)


def explain(
    model: nn.Module,
    tokenizer: Any,
    text: str,
    *,
    layer: int | None = None,
    query: int | None = None,
    methods: Sequence[Method] = METHODS,
    target: int | str | None = None,
    position: int | None = None,
    replace: Any = "unk",
    truncate: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Explanation:
    """What a model answers to a text, what it attended to and what the answer depends on.

    Parameters
    ----------
    model, tokenizer
        A classifier, or a masked or causal language model, and its tokenizer.
    text
        What it reads.
    layer
        The layer that attends; the last by default.
    query
        The position that attends. By default the one whose output is read: that of the mask or the
        last one of a language model, the last of a causal classifier, else the first, where CLS
        stands.
    methods
        "raw", "rollout", "flow", or some of them.
    target
        The answer that importance is about, by number or name; by default the model's own.
    position
        Whose answer is read of a model that answers at every position; by default that of the mask,
        or the last of a model that writes.
    replace
        What stands for a token in `blank_out`: "unk", "mask", "pad" or the id of a token.
    truncate
        Cut a text that is too long for the model; by default it is an InputError.
    threads
        Threads for flow; all cores by default.
    progress
        Called with (steps done, steps in all). Steps are attention, prediction, each method, each
        token blanked out, gradient; the first call comes after attention, which tells how many
        tokens there are, and tokens are blanked out in batches. What it raises ends the work.

    Notes
    -----
    Forward passes: one each for attention and the prediction, one for each token and one more for
    `blank_out`, one with gradients.

    Examples
    --------
    >>> from attnflow import paper
    >>> from attnflow.evaluate._explain import explain
    >>> shipped = paper.load()
    >>> e = explain(shipped.model, shipped.tokenizer, "the key to the cabinets")
    >>> e.prediction.label, e.tokens
    ('singular', ('[CLS]', 'the', 'key', 'to', 'the', 'cabinets', '<?>'))
    """
    if not isinstance(cast("object", text), str):
        raise InputError(f"a {type(text).__name__} came; explain is about one text, a str")
    wanted = _checked(methods)
    attention = attend(model, tokenizer, text, truncate=truncate)
    if not isinstance(attention, Attention):
        raise UnsupportedModelError(
            f"{type(model).__name__} reads one text and writes another, and explain is about the "
            "tokens of one; use attnflow.models.attend and attnflow.importance"
        )
    steps = _Steps(3 + len(wanted) + attention.n_tokens, progress)
    steps.reach(1)
    prediction = predict(model, tokenizer, text, position=position, truncate=truncate)
    steps.reach(2)
    if query is None:
        last = attention.n_tokens - 1 if attention.causal else 0
        query = last if prediction.position is None else prediction.position
    layer = attention.n_layers if layer is None else layer
    rows: dict[str, Any] = {"layers": [layer], "queries": [query]}
    asked: dict[str, Any] = {"target": target, "position": position, "truncate": truncate}
    graph = functools.cache(attention.graph)  # heads are fused once, and not for raw attention
    compute: dict[Method, Callable[[], TokenAttention]] = {
        "raw": lambda: raw(attention, **rows),
        "rollout": lambda: rollout(graph(), **rows),
        "flow": lambda: flow(graph(), **rows, threads=threads),
    }
    scores: dict[Method, TokenAttention] = {}
    for method in wanted:
        scores[method] = compute[method]()
        steps.reach(steps.done + 1)
    before = steps.done
    blanked = blank_out(
        model,
        tokenizer,
        text,
        replace=replace,
        progress=lambda done, _total: steps.reach(before + done),
        **asked,
    )
    gradient = input_gradient(model, tokenizer, text, score=_score(model), **asked)
    steps.reach(steps.done + 1)
    importance = {"blank_out": blanked, "input_gradient": gradient}
    return Explanation(text, prediction, scores, importance, attention)


@dataclass(slots=True)
class _Steps:
    """How many steps are done, which `progress` is told."""

    total: int
    progress: Progress | None
    done: int = 0

    def reach(self, done: int) -> None:
        self.done = done
        if self.progress is not None:
            self.progress(done, self.total)


def _score(model: nn.Module) -> Literal["difference", "probability"]:
    """What a gradient is of: classes that exclude none other have no difference."""
    problem = getattr(getattr(model, "config", None), "problem_type", None)
    return "probability" if problem == "multi_label_classification" else "difference"


def _checked(methods: Sequence[Method]) -> tuple[Method, ...]:
    if not isinstance(cast("object", methods), Sequence):
        raise InputError(f"methods is {methods!r}; use one or more of {', '.join(METHODS)}")
    given = (methods,) if isinstance(methods, str) else tuple(methods)
    for each in given:
        if each not in METHODS:
            raise InputError(f"method is {each!r}; use one of {', '.join(METHODS)}")
    if not given:
        raise InputError(f"methods is empty; give at least one of {', '.join(METHODS)}")
    return cast("tuple[Method, ...]", tuple(dict.fromkeys(given)))
