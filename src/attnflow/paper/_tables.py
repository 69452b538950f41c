"""Tables 1 and 2 of the paper, and how often the subject is found."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from attnflow.errors import InputError
from attnflow.evaluate import LayerTable, hits, spearman
from attnflow.importance import blank_out, input_gradient
from attnflow.methods import flow, raw, rollout
from attnflow.models import attend
from attnflow.paper._sentences import generate
from attnflow.types import METHODS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from torch import nn

    from attnflow._internal.checks import Progress
    from attnflow.importance import Importance
    from attnflow.paper._prefix import Prefix
    from attnflow.paper._splits import Splits
    from attnflow.types import Attention, TokenAttention

Measure: TypeAlias = Literal["blank_out", "input_gradient"]
_MEASURES = {"blank_out": blank_out, "input_gradient": input_gradient}
_USUAL = {"blank_out": {"replace": "unk"}, "input_gradient": {"reduce": "norm"}}
_GRAPH = {"query": 0, "heads": "mean", "residual": 0.5}  # the paper's, and the defaults of methods
_CLS = 0  # stands first, and the classifier reads it
_AT_ONCE = 64  # sentences; enough that those of a batch are of nearly one length


def sample(
    splits: Splits | None, count: int, *, seed: int = 0, subject: bool = False
) -> list[Prefix]:
    """`count` natural sentences that were not trained on, each once; all where there are fewer.

    Parameters
    ----------
    splits
        What `load_splits` gives: the held-out part and that of another file are drawn from. None
        gives generated sentences, of which a model may have seen some.
    count
        How many.
    seed
        Chooses them.
    subject
        Only those whose subject is known.

    Examples
    --------
    >>> len(sample(None, 10))
    10
    """
    if splits is None:
        # Short ones come again and again; three times as many hold enough distinct ones.
        found = list({prefix.words: prefix for prefix in generate(3 * count, seed=seed)}.values())
    else:
        found = [*splits.test, *splits.cross]
        if subject:
            found = [prefix for prefix in found if prefix.subject is not None]
        random.Random(seed).shuffle(found)  # noqa: S311 (sentences, not secrets)
    return found[:count]


def agreement_table(
    model: nn.Module,
    tokenizer: Any,
    prefixes: Sequence[Prefix],
    measure: Measure,
    *,
    replace: str = "unk",
    reduce: str = "norm",
    progress: Progress | None = None,
) -> LayerTable:
    """How well raw attention, rollout and flow agree with importance: the paper's Tables 1 and 2.

    Spearman's rank correlation, for each sentence and layer, of the scores of CLS with the
    importance of all tokens for the correct answer.

    Parameters
    ----------
    model, tokenizer
        The verb-number model.
    prefixes
        The sentences.
    measure
        "blank_out" for Table 1, "input_gradient" for Table 2.
    replace, reduce
        Settings of the one and of the other: what stands for a word, and how a gradient becomes
        one number. Its sum over dimensions, which the paper's code takes, is zero in this model.
    progress
        Called with the number of sentences done and that of all.

    Notes
    -----
    `settings["seconds"]` says what the time went into.
    Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385

    Examples
    --------
    >>> from attnflow import paper
    >>> shipped = paper.load()
    >>> paper.agreement_table(shipped.model, shipped.tokenizer, paper.generate(5), "blank_out")
    LayerTable(texts=5, rows=('raw', 'rollout', 'flow'), layers=(1, 2, 3, 4, 5, 6))
    """
    if measure not in _MEASURES:
        raise InputError(f"measure is {measure!r}; use one of {', '.join(_MEASURES)}")
    clock = _Clock()
    asked = {"replace": replace} if measure == "blank_out" else {"reduce": reduce}
    values: dict[int, Any] = {}
    layers: tuple[int, ...] = ()
    for numbers in _groups(prefixes, progress):
        chosen = [prefixes[number] for number in numbers]
        importance = _importance(model, tokenizer, chosen, measure, clock, **asked)
        for number, views, each in zip(
            numbers, _views(model, tokenizer, chosen, clock), importance, strict=True
        ):
            with clock.counting("correlation"):
                # All methods and layers at once: ranking costs by the call.
                scores = np.array([view.scores[:, 0] for view in views])
                values[number] = spearman(scores, each.values)
            layers = views[0].layers
    return LayerTable(
        [values[number] for number in range(len(prefixes))],
        METHODS,
        layers,
        map(_text, prefixes),
        settings={"measure": measure, **asked, **_GRAPH, "seconds": clock.seconds},
    )


def subject_table(
    model: nn.Module,
    tokenizer: Any,
    prefixes: Sequence[Prefix],
    *,
    progress: Progress | None = None,
) -> LayerTable:
    """How often the highest-scoring word is the subject, by method and layer.

    Words only: CLS and the end marker are left out. Blank-out and input gradients, which belong to
    no layer, are in `whole`, and so is "chance": one word taken blindly.

    Parameters
    ----------
    model, tokenizer, progress
        As for `agreement_table`.
    prefixes
        Sentences whose subject is known.

    Examples
    --------
    >>> from attnflow import paper
    >>> shipped = paper.load()
    >>> t = paper.subject_table(shipped.model, shipped.tokenizer, paper.generate(5))
    >>> list(t.per_text)
    ['blank_out', 'input_gradient', 'chance']
    """
    clock = _Clock()
    values: dict[int, Any] = {}
    whole: dict[str, dict[int, float]] = {name: {} for name in (*_MEASURES, "chance")}
    layers: tuple[int, ...] = ()
    for numbers in _groups(prefixes, progress):
        chosen = [prefixes[number] for number in numbers]
        for measure in _MEASURES:
            asked = _USUAL[measure]
            found = _importance(model, tokenizer, chosen, cast("Measure", measure), clock, **asked)
            for number, each in zip(numbers, found, strict=True):
                whole[measure][number] = float(_subject_hits(each.values, prefixes[number]))
        for number, views in zip(numbers, _views(model, tokenizer, chosen, clock), strict=True):
            values[number] = [_subject_hits(view.scores[:, 0], prefixes[number]) for view in views]
            whole["chance"][number] = 1 / len(prefixes[number].words)
            layers = views[0].layers
    order = range(len(prefixes))
    return LayerTable(
        [values[number] for number in order],
        METHODS,
        layers,
        map(_text, prefixes),
        {name: [each[number] for number in order] for name, each in whole.items()},
        settings={
            "measure": "subject",
            **{name: value for asked in _USUAL.values() for name, value in asked.items()},
            **_GRAPH,
            "seconds": clock.seconds,
        },
    )


def _subject_hits(scores: Any, prefix: Prefix) -> Any:
    if prefix.subject is None:
        raise InputError(f"the subject of {_text(prefix)!r} is not known; leave such sentences out")
    # Position 0 is CLS; the end marker comes after the last word.
    return hits(scores, 1 + prefix.subject, among=range(1, 1 + len(prefix.words)))


def _groups(prefixes: Sequence[Prefix], progress: Progress | None) -> Iterator[list[int]]:
    """Numbers of sentences of alike length, some at a time."""
    if not prefixes:
        raise InputError("there are no sentences; give at least one")
    order = sorted(range(len(prefixes)), key=lambda number: len(prefixes[number].words))
    for start in range(0, len(order), _AT_ONCE):
        numbers = order[start : start + _AT_ONCE]
        if progress is not None:
            progress(start, len(order))
        yield numbers
        if progress is not None:
            progress(start + len(numbers), len(order))


def _views(
    model: nn.Module, tokenizer: Any, prefixes: Sequence[Prefix], clock: _Clock
) -> Iterator[list[TokenAttention]]:
    """What CLS takes from each token by each method, at all layers, sentence by sentence."""
    with clock.counting("attention"):
        attentions = cast("list[Attention]", attend(model, tokenizer, [*map(_text, prefixes)]))
    for attention in attentions:
        views: list[TokenAttention] = []
        with clock.counting("raw"):
            views.append(raw(attention, queries=[_CLS]))
        with clock.counting("rollout"):  # heads are fused once, for flow too
            graph = attention.graph()
            views.append(rollout(graph, queries=[_CLS]))
        with clock.counting("flow"):
            views.append(flow(graph, queries=[_CLS]))
        yield views


def _importance(
    model: nn.Module,
    tokenizer: Any,
    prefixes: Sequence[Prefix],
    measure: Measure,
    clock: _Clock,
    **asked: Any,
) -> list[Importance]:
    with clock.counting(measure):
        return _MEASURES[measure](
            model,
            tokenizer,
            [*map(_text, prefixes)],
            target=[prefix.number for prefix in prefixes],
            **asked,
        )


def _text(prefix: Prefix) -> str:
    return " ".join(prefix.words)


class _Clock:
    """How many seconds went into what."""

    def __init__(self) -> None:
        self._spent: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def counting(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self._spent[name] += time.perf_counter() - start

    @property
    def seconds(self) -> dict[str, float]:
        return {name: round(spent, 2) for name, spent in self._spent.items()}
