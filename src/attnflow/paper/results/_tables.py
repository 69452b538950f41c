"""Tables 1 and 2 of the paper, and how often the subject has the highest score.

Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from attnflow.errors import InputError
from attnflow.evaluate import LayerTable, dense_spearman, hits, spearman
from attnflow.importance import blank_out, input_gradient
from attnflow.methods import flow, raw, rollout
from attnflow.models import attend
from attnflow.paper.data import Prefix, Splits, generate
from attnflow.types import METHODS

if TYPE_CHECKING:
    from torch import nn

    from attnflow._internal.checks import Progress
    from attnflow.importance import Importance
    from attnflow.types import Attention, TokenAttention

_Row: TypeAlias = tuple[tuple[float, float], ...]

# The paper's numbers for layers 1 to 6: mean and standard deviation of Spearman's rank correlation
# with blank-out (Table 1) and with input gradients (Table 2).
TABLE_1: Mapping[str, _Row] = {
    "raw": ((0.69, 0.27), (0.10, 0.43), (-0.11, 0.49), (-0.09, 0.52), (0.20, 0.45), (0.29, 0.39)),
    "rollout": ((0.32, 0.26), (0.38, 0.27), (0.51, 0.26), (0.62, 0.26), (0.70, 0.25), (0.71, 0.24)),
    "flow": ((0.32, 0.26), (0.44, 0.29), (0.70, 0.25), (0.70, 0.22), (0.71, 0.22), (0.70, 0.22)),
}
TABLE_2: Mapping[str, _Row] = {
    "raw": ((0.53, 0.33), (0.16, 0.38), (-0.06, 0.42), (0.00, 0.47), (0.24, 0.40), (0.46, 0.35)),
    "rollout": ((0.22, 0.31), (0.27, 0.32), (0.39, 0.32), (0.47, 0.32), (0.53, 0.32), (0.54, 0.31)),
    "flow": ((0.22, 0.31), (0.31, 0.34), (0.54, 0.32), (0.61, 0.28), (0.60, 0.28), (0.61, 0.28)),
}

Measure: TypeAlias = Literal["blank_out", "input_gradient"]
_MEASURES = {"blank_out": blank_out, "input_gradient": input_gradient}
_DEFAULTS = {"blank_out": {"replace": None}, "input_gradient": {"reduce": "norm"}}
# What the paper's code computes. Padding replaces words; the sum of the gradient is only rounding.
_AS_PUBLISHED = {"blank_out": {"replace": "pad"}, "input_gradient": {"reduce": "raw_sum"}}
_REPORTED = ("replaced_by", "reduce")  # settings of importance
_CLS = 0  # the position of CLS, from which the classifier predicts
_GRAPH = {"query": _CLS, "heads": "mean", "residual": 0.5}  # the paper's; the defaults of methods
_BATCH_SIZE = 64  # sentences; sorted by length, they have nearly one length


def sample(
    splits: Splits | None, count: int, *, seed: int = 0, subject: bool = False
) -> list[Prefix]:
    """Return `count` distinct natural sentences that were not trained on; all if there are fewer.

    Parameters
    ----------
    splits
        The result of `load_splits`: sentences come from its test splits. None generates sentences,
        some of which a model may have been trained on.
    count
        Number of sentences.
    seed
        Seed of the random sample.
    subject
        Whether to return only sentences with a known subject.

    Examples
    --------
    >>> len(sample(None, 10))
    10
    """
    if splits is None:
        # Short sentences are often generated twice; three times as many have enough distinct ones.
        found = list({prefix.words: prefix for prefix in generate(3 * count, seed=seed)}.values())
    else:
        found = [*splits.test, *splits.wiki_test]
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
    replace: str | None = None,
    reduce: str | None = None,
    as_published: bool = False,
    progress: Progress | None = None,
) -> LayerTable:
    """Return the agreement of raw attention, rollout and flow with importance (Tables 1 and 2).

    For each sentence and layer: Spearman's rank correlation between the scores of CLS and the
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
        Settings of "blank_out" and of "input_gradient": the token that replaces a word (None is
        the model's own blank), and how a gradient becomes one number (None is its norm).
    as_published
        Compute what the paper's code did instead of what the paper says: padding replaces words,
        the gradient is its sum over dimensions in float32, which is rounding alone in this model,
        and the correlation is `dense_spearman`.
    progress
        Called with the number of sentences done and the number of all sentences.

    Notes
    -----
    `settings["seconds"]` contains the time of each part of the computation.

    Examples
    --------
    >>> from attnflow import paper
    >>> shipped = paper.load()
    >>> paper.agreement_table(shipped.model, shipped.tokenizer, paper.generate(5), "blank_out")
    LayerTable(texts=5, rows=('raw', 'rollout', 'flow'), layers=(1, 2, 3, 4, 5, 6))
    """
    given = {"replace": replace, "reduce": reduce}
    own = {name: value for name, value in given.items() if value is not None}
    passes: Any = {"as_published": as_published, "progress": progress}
    return agreement_tables(model, tokenizer, prefixes, {measure: own}, **passes)[measure]


def agreement_tables(
    model: nn.Module,
    tokenizer: Any,
    prefixes: Sequence[Prefix],
    measures: Mapping[Measure, Mapping[str, Any]],
    *,
    as_published: bool = False,
    progress: Progress | None = None,
) -> dict[Measure, LayerTable]:
    """Return `agreement_table` of several measures; attention and its scores are computed once.

    Parameters
    ----------
    model, tokenizer, prefixes, as_published, progress
        As for `agreement_table`.
    measures
        "blank_out" and "input_gradient", or one of them, each with its settings `replace` or
        `reduce`; empty for the defaults.

    Examples
    --------
    >>> from attnflow import paper
    >>> shipped = paper.load()
    >>> both = {"blank_out": {}, "input_gradient": {}}
    >>> [*paper.agreement_tables(shipped.model, shipped.tokenizer, paper.generate(5), both)]
    ['blank_out', 'input_gradient']
    """
    settings: dict[Measure, dict[str, Any]] = {
        measure: _measure_settings(measure, given, as_published=as_published)
        for measure, given in measures.items()
    }
    clock = _Clock()
    correlation = dense_spearman if as_published else spearman
    made: dict[Measure, dict[str, Any]] = {}
    values: dict[Measure, dict[int, Any]] = {measure: {} for measure in settings}
    n_layers = 0

    def compare(
        indices: list[int], found: list[Attention], importance: dict[Measure, list[Importance]]
    ) -> None:
        for row, (index, by_method) in enumerate(zip(indices, _scores(found, clock), strict=True)):
            with clock.measure("correlation"):
                # One call for all methods and layers: ranking has a cost per call.
                stacked = np.array([t.scores[:, 0] for t in by_method])
                for measure, items in importance.items():
                    values[measure][index] = correlation(stacked, items[row].values)

    # One core compares a batch while the model runs the next one.
    with ThreadPoolExecutor(1) as worker:
        compared = worker.submit(lambda: None)
        for indices, batch in _batches(prefixes, progress):
            importance: dict[Measure, list[Importance]] = {
                measure: _importance(model, tokenizer, batch, measure, clock, own)
                for measure, own in settings.items()
            }
            found = _attention(model, tokenizer, batch, clock)
            made = {measure: dict(items[0].settings) for measure, items in importance.items()}
            n_layers = found[0].n_layers  # settings and layers are those of all sentences
            compared.result()  # an error there ends the work here
            compared = worker.submit(compare, indices, found, importance)
        compared.result()
    return {
        measure: LayerTable(
            [by_index[index] for index in range(len(prefixes))],
            METHODS,
            range(1, n_layers + 1),
            [prefix.text for prefix in prefixes],
            settings={
                "measure": measure,
                **{name: made[measure][name] for name in _REPORTED if name in made[measure]},
                "correlation": correlation.__name__,
                **_GRAPH,
                "seconds": clock.seconds,
            },
        )
        for measure, by_index in values.items()
    }


def _measure_settings(
    measure: Measure, given: Mapping[str, Any], *, as_published: bool
) -> dict[str, Any]:
    """Return the settings of a measure, the given ones or the defaults."""
    if measure not in _MEASURES:
        raise InputError(f"measure must be one of {', '.join(_MEASURES)}, got {measure!r}")
    settings: dict[str, Any] = dict((_AS_PUBLISHED if as_published else _DEFAULTS)[measure])
    for name, value in given.items():
        if as_published or name not in settings:
            reason = "as_published=True" if as_published else f"measure {measure!r}"
            raise InputError(f"{name} must be left out with {reason}, got {value!r}")
    return {**settings, **given}


def over_models(tables: Mapping[str, LayerTable]) -> LayerTable:
    """Return a table of the means of several models: its mean and deviation are over models.

    Parameters
    ----------
    tables
        The table of each model, by its name.
    """
    if not tables:
        raise InputError("expected the table of at least one model, got none")
    name_of_first, first = next(iter(tables.items()))
    seconds: Counter[str] = Counter()
    for name, table in tables.items():
        if table.layers != first.layers:
            raise InputError(
                f"the models must have the same layers: {name_of_first} has {len(first.layers)}, "
                f"{name} has {len(table.layers)}. Compare them one by one"
            )
        for key in {**first.settings, **table.settings}.keys() - {"seconds"}:
            expected, found = first.settings.get(key), table.settings.get(key)
            if found != expected:
                raise InputError(
                    f"the tables must have the same settings: {key} is {expected!r} for "
                    f"{name_of_first}, {found!r} for {name}. Compare them one by one"
                )
        seconds.update(cast("Any", table.settings.get("seconds", {})))
    settings = {**first.settings, "sentences": len(first.texts), "seconds": dict(seconds)}
    means = [table.mean for table in tables.values()]
    return LayerTable(means, first.rows, first.layers, tables, settings=settings)


def subject_table(
    model: nn.Module,
    tokenizer: Any,
    prefixes: Sequence[Prefix],
    *,
    progress: Progress | None = None,
) -> LayerTable:
    """Return how often the subject has the highest score, by method and layer.

    CLS and the end marker are left out. `per_text` contains the values without a layer: blank-out,
    input gradients, and "chance", a random word.

    Parameters
    ----------
    model, tokenizer, progress
        As for `agreement_table`.
    prefixes
        Sentences with a known subject.

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
    per_text: dict[str, dict[int, float]] = {name: {} for name in (*_MEASURES, "chance")}
    layers: tuple[int, ...] = ()
    for indices, batch in _batches(prefixes, progress):
        for measure, settings in _DEFAULTS.items():
            found = _importance(model, tokenizer, batch, cast("Measure", measure), clock, settings)
            for index, item in zip(indices, found, strict=True):
                per_text[measure][index] = float(_subject_hits(item.values, prefixes[index]))
        scores = _scores(_attention(model, tokenizer, batch, clock), clock)
        for index, by_method in zip(indices, scores, strict=True):
            prefix = prefixes[index]
            values[index] = [_subject_hits(item.scores[:, 0], prefix) for item in by_method]
            per_text["chance"][index] = 1 / len(prefix.words)
            layers = by_method[0].layers
    order = range(len(prefixes))
    return LayerTable(
        [values[index] for index in order],
        METHODS,
        layers,
        [prefix.text for prefix in prefixes],
        {name: [by_index[index] for index in order] for name, by_index in per_text.items()},
        settings={"measure": "subject", "reduce": "norm", **_GRAPH, "seconds": clock.seconds},
    )


def _subject_hits(scores: Any, prefix: Prefix) -> Any:
    if prefix.subject is None:
        raise InputError(f"the subject of {prefix.text!r} is unknown; leave such sentences out")
    # CLS is before the words, the end marker after them.
    return hits(scores, 1 + prefix.subject, among=range(1, 1 + len(prefix.words)))


def _batches(
    prefixes: Sequence[Prefix], progress: Progress | None
) -> Iterator[tuple[list[int], list[Prefix]]]:
    """Yield indices and prefixes of batches of similar length."""
    if not prefixes:
        raise InputError("expected at least one sentence, got none")
    order = sorted(range(len(prefixes)), key=lambda index: len(prefixes[index].words))
    if progress is not None:
        progress(0, len(order))
    for start in range(0, len(order), _BATCH_SIZE):
        indices = order[start : start + _BATCH_SIZE]
        yield indices, [prefixes[index] for index in indices]
        if progress is not None:
            progress(start + len(indices), len(order))


def _attention(
    model: nn.Module, tokenizer: Any, prefixes: Sequence[Prefix], clock: _Clock
) -> list[Attention]:
    with clock.measure("attention"):
        found = attend(model, tokenizer, [prefix.text for prefix in prefixes])
    return cast("list[Attention]", found)


def _scores(found: Sequence[Attention], clock: _Clock) -> Iterator[list[TokenAttention]]:
    """Yield the token attention of CLS by each method, at all layers, for each sentence."""
    for attention in found:
        with clock.measure("raw"):
            by_method = [raw(attention, queries=[_CLS])]
        with clock.measure("rollout"):  # flow uses the same graph
            graph = attention.graph()
            by_method.append(rollout(graph, queries=[_CLS]))
        with clock.measure("flow"):
            by_method.append(flow(graph, queries=[_CLS]))
        yield by_method


def _importance(
    model: nn.Module,
    tokenizer: Any,
    prefixes: Sequence[Prefix],
    measure: Measure,
    clock: _Clock,
    settings: Mapping[str, Any],
) -> list[Importance]:
    texts, target = [prefix.text for prefix in prefixes], [prefix.number for prefix in prefixes]
    with clock.measure(measure):
        return _MEASURES[measure](model, tokenizer, texts, target=target, **settings)


class _Clock:
    """The seconds spent in each part of a computation."""

    def __init__(self) -> None:
        self._spent: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def measure(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self._spent[name] += time.perf_counter() - start

    @property
    def seconds(self) -> dict[str, float]:
        return {name: round(spent, 2) for name, spent in self._spent.items()}
