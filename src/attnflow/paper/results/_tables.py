"""Tables 1 and 2 of the paper, how often the subject scores highest, and how even scores are.

Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from attnflow import evaluate
from attnflow.errors import InputError
from attnflow.evaluate import EvaluationPlan, LabelledText, LayerTable, Measured
from attnflow.paper.data import Prefix

if TYPE_CHECKING:
    from torch import nn

    from attnflow._internal.checks import Progress

Measure: TypeAlias = Literal["blank_out", "input_gradient"]
_DEFAULTS = {"blank_out": {"replace": None}, "input_gradient": {"reduce": "norm"}}
# What the paper's code computes. Padding replaces words; the sum of the gradient is only rounding.
_AS_PUBLISHED = {"blank_out": {"replace": "pad"}, "input_gradient": {"reduce": "raw_sum"}}
_REPORTED = ("replaced_by", "reduce")  # settings of importance
# CLS, from which the classifier predicts, and the correct answer.
_PAPER: Mapping[str, Any] = {"row": "cls", "target": "label"}


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
    settings: dict[str, Any] = {}
    for name, given in measures.items():
        settings |= _measure_settings(name, given, as_published=as_published)
    correlation = "dense_spearman" if as_published else "spearman"
    plan = EvaluationPlan(importance=tuple(measures), metrics=(correlation,), **_PAPER, **settings)
    found = _measured(model, tokenizer, prefixes, plan, progress)
    made: Any = found.settings["importance"]
    return {
        name: _with_settings(
            found.table(correlation, name),
            found,
            measure=name,
            **{setting: made[name][setting] for setting in _REPORTED if setting in made[name]},
            correlation=correlation,
        )
        for name in measures
    }


def _measure_settings(
    measure: Measure, given: Mapping[str, Any], *, as_published: bool
) -> dict[str, Any]:
    """Return the settings of a measure, the given ones or the defaults."""
    if measure not in _DEFAULTS:
        raise InputError(f"measure must be one of {', '.join(_DEFAULTS)}, got {measure!r}")
    settings: dict[str, Any] = dict((_AS_PUBLISHED if as_published else _DEFAULTS)[measure])
    for name, value in given.items():
        if as_published or name not in settings:
            reason = "as_published=True" if as_published else f"measure {measure!r}"
            raise InputError(f"{name} must be left out with {reason}, got {value!r}")
    return {**settings, **given}


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
    for prefix in prefixes:
        if prefix.subject is None:
            raise InputError(f"the subject of {prefix.text!r} is unknown; leave such sentences out")
    plan = EvaluationPlan(
        metrics=("pointing",), special=False, baselines=("blank_out", "input_gradient"), **_PAPER
    )
    found = _measured(model, tokenizer, prefixes, plan, progress)
    table = found.table("pointing")
    chance = [1 / len(prefix.words) for prefix in prefixes]
    table = dataclasses.replace(table, per_text={**table.per_text, "chance": chance})
    return _with_settings(table, found, measure="subject", reduce="norm")


def entropy_table(
    model: nn.Module,
    tokenizer: Any,
    prefixes: Sequence[Prefix],
    *,
    progress: Progress | None = None,
) -> LayerTable:
    """Return how evenly the scores of CLS are distributed over tokens, by method and layer.

    The values are `normalized_entropy`: 1 if all tokens of a sentence have the same score.

    Parameters
    ----------
    model, tokenizer, prefixes, progress
        As for `agreement_table`.

    Examples
    --------
    >>> from attnflow import paper
    >>> shipped = paper.load()
    >>> paper.entropy_table(shipped.model, shipped.tokenizer, paper.generate(5))
    LayerTable(texts=5, rows=('raw', 'rollout', 'flow'), layers=(1, 2, 3, 4, 5, 6))
    """
    plan = EvaluationPlan(metrics=("entropy",), **_PAPER)
    found = _measured(model, tokenizer, prefixes, plan, progress)
    return _with_settings(found.table("entropy"), found, measure="entropy")


def _measured(
    model: nn.Module,
    tokenizer: Any,
    prefixes: Sequence[Prefix],
    plan: EvaluationPlan,
    progress: Progress | None,
) -> Measured:
    if not prefixes:
        raise InputError("expected at least one sentence, got none")
    texts = [
        # CLS is before the words.
        LabelledText(p.text, p.number, None if p.subject is None else 1 + p.subject)
        for p in prefixes
    ]
    return evaluate.measure(model, tokenizer, texts, plan, fail_fast=True, progress=progress)


def _with_settings(table: LayerTable, found: Measured, **settings: Any) -> LayerTable:
    """Return a table with the settings that describe it, in place of the complete plan."""
    edges: Any = found.settings["edges"]
    graph = {name: edges["attention"][name] for name in ("heads", "residual")}
    seconds = {part: round(spent, 2) for part, spent in found.seconds.items()}
    made = {**settings, "query": 0, **graph, "seconds": seconds}
    return dataclasses.replace(table, settings=made)
