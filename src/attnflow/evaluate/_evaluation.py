"""The loop of an evaluation: texts in batches through the model, their scores, their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from attnflow._internal.checks import Progress, as_read_only
from attnflow._internal.settings import freeze_settings
from attnflow.edges import BlockLayout
from attnflow.errors import AttnflowError, MissingDependencyError
from attnflow.evaluate._clock import Clock
from attnflow.evaluate._facts import ModelFacts, model_facts
from attnflow.evaluate._measured import Measured, MeasuredText
from attnflow.evaluate._model_work import ModelWork, TextWork
from attnflow.evaluate._plan import FAITHFULNESS_METRICS, Baseline, EvaluationPlan
from attnflow.evaluate._rows import random_scores, token_scores
from attnflow.evaluate._texts import LabelledText
from attnflow.evaluate._values import metric_values
from attnflow.models.inputs import takes_padding

if TYPE_CHECKING:
    from torch import nn

Floats = NDArray[np.float64]

# Most texts, tokens and attention weights of a batch. Chosen: larger batches are not faster on a
# few cores; 2²⁶ weights take 256 MB, and two batches are in memory at a time.
_MAX_TEXTS, _MAX_TOKENS, _MAX_WEIGHTS = 64, 4096, 2**26
# Most attention weights of texts that are scored together, which copies them. Chosen: all of a
# batch of sentences; for long texts there is nothing to gain.
_MAX_SCORED = 2**22


class Evaluation:
    """An evaluation of texts by a plan."""

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Any,
        plan: EvaluationPlan,
        *,
        layout: BlockLayout | None,
        fail_fast: bool,
        threads: int | None,
    ) -> None:
        self._plan, self._fail_fast, self._threads = plan, fail_fast, threads
        self._clock = Clock()
        self._work = ModelWork(model, tokenizer, plan, self._clock, layout)

    def run(self, given: Sequence[LabelledText], progress: Progress | None) -> Measured:
        """Return the values of texts, in their order."""
        work, plan = self._work, self._plan
        texts = [TextWork(text) for text in given]
        for text in texts:
            self._attempt([text], lambda batch: work.tokenize(batch[0]))
        readable = (text.encoded for text in _without_errors(texts))
        facts = model_facts(work.model, work.tokenizer, readable, plan)
        cells = plan.cells(facts.n_layers)
        if plan.target not in ("predicted", "label"):
            facts.check_target(plan.target, "target")
        for text in _without_errors(texts):
            self._attempt([text], lambda batch: work.aim(batch[0], facts))
        self._run_batches(texts, facts, progress)
        for name, made in work.settings["edges"].items():
            shares = [text.clipped[name] for text in _without_errors(texts) if name in text.clipped]
            if shares:
                made["clipped"] = float(np.mean(shares))
        undefined = np.full(len(cells), np.nan)
        special = {metric: plan.counts_special(metric) for metric in plan.metrics}
        return Measured(
            cells,
            tuple(
                MeasuredText(
                    text.given.text,
                    as_read_only(undefined if text.error else cast("Floats", text.values).ravel()),
                    text.error,
                    0 if text.tokens is None else len(text.tokens.ids),
                )
                for text in texts
            ),
            freeze_settings({"plan": plan.to_dict(), "special": special, **work.settings}),
            dict(self._clock.seconds),
        )

    def _run_batches(
        self, texts: Sequence[TextWork], facts: ModelFacts, progress: Progress | None
    ) -> None:
        """Compute the values of all texts that have no error yet."""
        valid = _without_errors(texts)
        done = len(texts) - len(valid)

        def report() -> None:
            if progress is not None:
                progress(done, len(texts))

        def finish(batch: Sequence[TextWork], scored: Future[None]) -> None:
            nonlocal done
            scored.result()  # an error there ends the work here
            self._finish(batch)
            done += len(batch)
            report()

        report()
        previous: tuple[list[TextWork], Future[None]] | None = None
        # One core computes scores and values of a batch while the model runs the next one.
        with ThreadPoolExecutor(1) as worker:
            for batch in self._batches(valid, facts):
                self._attempt(batch, self._work.observe)
                if previous is not None:
                    finish(*previous)
                previous = batch, worker.submit(self._score_all, batch, facts)
            if previous is not None:
                finish(*previous)

    def _attempt(
        self, batch: Sequence[TextWork], step: Callable[[Sequence[TextWork]], None]
    ) -> None:
        """Run a step on a batch; if it fails, on each text of it, and record which ones fail."""
        if not batch:
            return
        try:
            step(batch)
        except MissingDependencyError:
            raise
        except AttnflowError as reason:
            if self._fail_fast:
                raise
            if len(batch) == 1:
                batch[0].error = str(reason)
                return
        else:
            return
        for text in batch:
            self._attempt([text], step)

    def _batches(self, texts: Sequence[TextWork], facts: ModelFacts) -> Iterator[list[TextWork]]:
        """Yield texts of similar length."""
        most = _MAX_TEXTS if takes_padding(self._work.model) else 1
        batch: list[TextWork] = []
        for text in sorted(texts, key=lambda text: len(text.encoded.ids)):
            count, length = len(batch) + 1, len(text.encoded.ids)  # the longest so far
            weights = facts.n_layers * facts.n_heads * length**2
            if batch and (
                count > most or count * length > _MAX_TOKENS or count * weights > _MAX_WEIGHTS
            ):
                yield batch
                batch = []
            batch.append(text)
        if batch:
            yield batch

    def _score_all(self, batch: Sequence[TextWork], facts: ModelFacts) -> None:
        for group in _alike(_without_errors(batch), facts):
            self._attempt(group, lambda texts: self._score(texts, facts))

    def _score(self, texts: Sequence[TextWork], facts: ModelFacts) -> None:
        """Compute the scores of texts that are alike, and the values without the model."""
        plan = self._plan
        layers = range(1, facts.n_layers + 1) if plan.layers is None else plan.layers
        settings: Any = {"clock": self._clock, "threads": self._threads}
        rows = [
            token_scores(
                [cast("Any", text.weights[edges]) for text in texts],
                plan,
                layers,
                texts[0].position,
                **settings,
            )
            for edges in plan.edges
        ]
        with self._clock.measure("metrics"):
            rows += [self._baseline(name, texts) for name in plan.baselines]
            scores = np.concatenate(rows, axis=1)
            # Of the scores only baselines have signs. Faithfulness alone needs them.
            values = metric_values(plan, np.abs(scores), texts, self._work.tokenizer)
        for text, own, value in zip(texts, scores, values, strict=True):
            text.rows, text.values = own, value

    def _baseline(self, name: Baseline, texts: Sequence[TextWork]) -> Floats:
        """Return the scores (text, row, token) of a baseline."""
        if name != "random":
            return np.stack([text.importance[name] for text in texts])[:, None]
        return np.stack(
            [random_scores(self._plan, text.given.text, len(text.encoded.ids)) for text in texts]
        )

    def _finish(self, batch: Sequence[TextWork]) -> None:
        """Compute the values that need the scores and the model, and the means over draws."""
        if any(metric in FAITHFULNESS_METRICS for metric in self._plan.metrics):
            self._attempt(_without_errors(batch), self._work.measure_faithfulness)
        for text in batch:
            if text.error is None:
                text.values = self._mean_over_draws(text.values)
            text.rows, text.weights, text.importance = None, {}, {}

    def _mean_over_draws(self, values: Any) -> Floats:
        """Return values (row of the plan, column): random scores are one row of the plan."""
        plan = self._plan
        if "random" not in plan.baselines:
            return values
        after = plan.baselines[plan.baselines.index("random") + 1 :]
        end = len(values) - len(after)
        start = end - plan.draws
        mean = values[start:end].mean(axis=0, keepdims=True)
        return np.concatenate([values[:start], mean, values[end:]])


def _alike(texts: Sequence[TextWork], facts: ModelFacts) -> Iterator[list[TextWork]]:
    """Yield texts of one length whose scores are those of one position."""
    groups: dict[tuple[int, int | None], list[TextWork]] = {}
    for text in texts:
        groups.setdefault((len(text.encoded.ids), text.position), []).append(text)
    for (length, _), group in groups.items():
        step = max(1, _MAX_SCORED // (facts.n_layers * facts.n_heads * length**2))
        for start in range(0, len(group), step):
            yield group[start : start + step]


def _without_errors(texts: Sequence[TextWork]) -> list[TextWork]:
    return [text for text in texts if text.error is None]
