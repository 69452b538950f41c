"""Table 3 of the paper: a sentiment classifier, and what each setting of the paper's code changes.

Abnar & Zuidema (2020), https://doi.org/10.18653/v1/2020.acl-main.385
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from attnflow.errors import InputError
from attnflow.evaluate import EvaluationPlan, LayerTable, measure
from attnflow.importance import predict
from attnflow.models.inputs import layer_count
from attnflow.paper.results._embedded_twice import embedded_twice
from attnflow.paper.results._published import TABLE_3_LAYERS

if TYPE_CHECKING:
    from torch import nn

    from attnflow._internal.checks import Progress

_POSITIVE = 1  # the last class of two


@dataclass(frozen=True, slots=True, kw_only=True)
class Table3Settings:
    """Settings in which the paper's code differs from a plain reading of its text; False is off.

    The code is compute_corel_distilbert_sst.py of the repository samiraabnar/attention_flow.

    Parameters
    ----------
    max_over_queries
        The score of a token is the maximum over all positions, of rows that sum to one, instead of
        the score of CLS, from which the classifier predicts.
    positive_logit
        The gradient is that of the logit of the class "positive" for every text (labels of the test
        split are -1, and select the last logit), instead of that of the predicted class: of its
        probability minus the other's.
    embedded_twice
        The output of the embedding layer (words and positions, normalised) is passed in again as
        `inputs_embeds`, so that positions are added and normalised twice. Gradients are by that
        output, and attention is that of this input.
    gradient_sum
        Importance is the absolute sum of the gradient over dimensions in float32, instead of its
        norm. Before a LayerNorm the sum is zero but for rounding.
    dense_ranks
        `dense_spearman` instead of Spearman's rank correlation with average ranks.
    """

    max_over_queries: bool = False
    positive_logit: bool = False
    embedded_twice: bool = False
    gradient_sum: bool = False
    dense_ranks: bool = False

    @property
    def correlation(self) -> str:
        """The name of the metric."""
        return "dense_spearman" if self.dense_ranks else "spearman"

    def plan(self, layers: Sequence[int]) -> EvaluationPlan:
        """Return what is computed for every text; `embedded_twice` is a change of the model."""
        logit: Any = {"target": _POSITIVE, "score": "logit"} if self.positive_logit else {}
        metric: Any = self.correlation
        return EvaluationPlan(
            layers=tuple(layers),
            row="max" if self.max_over_queries else "cls",
            normalize=self.max_over_queries,
            reduce="raw_sum" if self.gradient_sum else "norm",
            metrics=(metric,),
            **logit,
        )


TABLE_3_AS_PUBLISHED = Table3Settings(
    max_over_queries=True,
    positive_logit=True,
    embedded_twice=True,
    gradient_sum=True,
    dense_ranks=True,
)
AS_PUBLISHED_TEXTS = 101  # of the test split


def table_3(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[str],
    settings: Table3Settings | None = None,
    *,
    layers: Sequence[int] = TABLE_3_LAYERS,
    progress: Progress | None = None,
) -> LayerTable:
    """Return the agreement of raw attention, rollout and flow with input gradients (Table 3).

    Parameters
    ----------
    model, tokenizer
        A classifier of two classes, negative and positive, and its tokenizer.
    texts
        The sentences.
    settings
        Which settings of the paper's code to use; None is none of them.
        `TABLE_3_AS_PUBLISHED` has all.
    layers
        Numbers of the layers; by default the paper's.
    progress
        Called with the number of sentences done and the number of all sentences.

    Examples
    --------
    >>> from attnflow import paper
    >>> shipped = paper.load()  # a classifier of two classes, though not of sentiment
    >>> paper.table_3(shipped.model, shipped.tokenizer, ["the key to the cabinets"])
    LayerTable(texts=1, rows=('raw', 'rollout', 'flow'), layers=(1, 3, 5, 6))
    """
    settings = settings or Table3Settings()
    _check_classifier(model, layers)
    if texts:  # a model without logits is an error before any attention is computed
        _ = predict(model, tokenizer, texts[0])
    if settings.embedded_twice:
        model = embedded_twice(model)
    found = measure(
        model, tokenizer, texts, settings.plan(layers), fail_fast=True, progress=progress
    )
    table = found.table(settings.correlation, "input_gradient")
    return table.with_settings(embedded_twice=settings.embedded_twice)


def table_3_ablation(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[str],
    published_texts: Sequence[str],
    *,
    layers: Sequence[int] = TABLE_3_LAYERS,
    progress: Progress | None = None,
) -> dict[str, tuple[LayerTable, LayerTable]]:
    """Return Table 3 with one setting at a time as the paper's code has it, and with all but one.

    The first entry, "none", is the table without any of these settings and the one with all of
    them. The others are by the name of a field of `Table3Settings`, and "texts" for the sentences.

    Parameters
    ----------
    model, tokenizer, layers
        As for `table_3`.
    texts, published_texts
        The sentences of the table, and those of the table as published.
    progress
        Called with the number of sentences done and the number of all sentences, of all tables.
    """
    default, published = Table3Settings(), TABLE_3_AS_PUBLISHED
    runs: dict[str, tuple[tuple[Sequence[str], Table3Settings], ...]] = {
        "none": ((texts, default), (published_texts, published)),
        "texts": ((published_texts, default), (texts, published)),
    }
    for field in fields(Table3Settings):
        one, others = {field.name: True}, {field.name: False}
        runs[field.name] = (
            (texts, replace(default, **one)),
            (published_texts, replace(published, **others)),
        )
    total = len(runs) * (len(texts) + len(published_texts))
    done = 0

    def compute(chosen: Sequence[str], settings: Table3Settings) -> LayerTable:
        nonlocal done

        def report(count: int, _: int) -> None:
            if progress is not None:
                progress(done + count, total)

        table = table_3(model, tokenizer, chosen, settings, layers=layers, progress=report)
        done += len(chosen)
        return table

    return {name: (compute(*pair[0]), compute(*pair[1])) for name, pair in runs.items()}


def _check_classifier(model: Any, layers: Sequence[int]) -> None:
    classes = getattr(getattr(model, "config", None), "num_labels", None)
    if classes != 2:
        raise InputError(
            "Table 3 needs a classifier of two classes, negative and positive; "
            f"{type(model).__name__} has {'no' if classes is None else classes} classes. Train one "
            "with attnflow train sst2"
        )
    count = layer_count(model)
    if count is not None and count < max(layers):
        raise InputError(
            f"Table 3 has layers {', '.join(map(str, layers))}, and {type(model).__name__} has "
            f"{count} layers. Pass a model of at least {max(layers)} layers"
        )
