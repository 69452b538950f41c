"""`measure`: the values of an evaluation plan for texts."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, cast

from attnflow._internal import checks
from attnflow.edges import BlockLayout, check_layout
from attnflow.errors import InputError
from attnflow.evaluate._evaluation import Evaluation
from attnflow.evaluate._measured import Measured
from attnflow.evaluate._plan import EvaluationPlan
from attnflow.evaluate._texts import LabelledText
from attnflow.evaluate._threads import thread_count
from attnflow.models.inputs import model_and_tokenizer, takes_pipeline

if TYPE_CHECKING:
    from torch import nn


@takes_pipeline
def measure(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[LabelledText | str],
    plan: EvaluationPlan | None = None,
    *,
    layout: BlockLayout | None = None,
    fail_fast: bool = False,
    threads: int | None = None,
    progress: checks.Progress | None = None,
) -> Measured:
    """Return how well scores of tokens agree with importance, for each of several texts.

    For every text: the scores of each edge weight, method and layer of the plan, by every metric,
    against every importance; the paper's tables are means of such values.

    Parameters
    ----------
    model, tokenizer
        A classifier, or a masked or causal language model, and its tokenizer. It does not change.
    texts
        The texts, as strings or with what is known about them.
    plan
        What is computed; the default is that of `EvaluationPlan`: raw attention, rollout and flow,
        all layers, against input gradients, by Spearman's rank correlation.
    layout
        For models that `attnflow.edges` does not know: where their blocks keep their parts.
    fail_fast
        Raise the error of a text that fails. By default it is recorded in the result, with values
        that are NaN, and the other texts are computed.
    threads
        Threads of torch and of flow; they change results by rounding only. By default one thread of
        torch for a model of less than ten million weights, which is faster than several.
    progress
        Called with (texts done, texts in total). An exception that it raises stops the work.

    Notes
    -----
    The values of a text do not depend on other texts except by rounding: texts of similar length
    are a batch, of at most 64 texts, 4,096 tokens and 2²⁶ attention weights. Flow and metrics of a
    batch are computed while the model runs the next. Edge weights other than attention are computed
    text by text. Memory does not grow with the number of texts, but for the values.

    Examples
    --------
    >>> from attnflow import paper
    >>> from attnflow.evaluate import EvaluationPlan, measure
    >>> shipped = paper.load()
    >>> texts = ["the key to the cabinets", "the keys to the cabinet"]
    >>> found = measure(shipped.model, shipped.tokenizer, texts)
    >>> found
    Measured(texts=2, failed=0, values=18)
    >>> found.table("spearman", "input_gradient")
    LayerTable(texts=2, rows=('raw', 'rollout', 'flow'), layers=(1, 2, 3, 4, 5, 6))
    """
    given = _labelled(texts)
    _ = check_layout(layout)
    checks.check_progress(progress)
    if threads is not None:
        threads = checks.as_int(threads, "threads", least=1, most=checks.MAX_THREADS)
    model, tokenizer = model_and_tokenizer(model, tokenizer)
    with _torch_threads(model, threads):
        return Evaluation(
            model,
            tokenizer,
            plan or EvaluationPlan(),
            layout=layout,
            fail_fast=fail_fast,
            threads=threads,
        ).run(given, progress)


def _labelled(texts: Sequence[LabelledText | str]) -> list[LabelledText]:
    if isinstance(texts, str | LabelledText):
        raise InputError(f"texts: expected a list of texts, got {texts!r}")
    given = [LabelledText(text) if isinstance(text, str) else text for text in texts]
    if not given:
        raise InputError("texts: expected at least one, got none")
    for text in given:
        if not isinstance(cast("object", text), LabelledText):
            raise InputError(f"texts: expected LabelledText or str, got {text!r}")
    return given


@contextlib.contextmanager
def _torch_threads(model: nn.Module, threads: int | None) -> Generator[None]:
    """Set the number of threads of torch; restores it."""
    import torch

    previous = torch.get_num_threads()
    try:
        torch.set_num_threads(thread_count(model, threads))
        yield
    finally:
        torch.set_num_threads(previous)
