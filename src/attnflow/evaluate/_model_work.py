"""What an evaluation needs the model for: attention, importance and faithfulness of batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from attnflow.edges import BlockLayout, Edges, edge_graph
from attnflow.errors import InputError
from attnflow.evaluate._clock import Clock
from attnflow.evaluate._facts import ModelFacts
from attnflow.evaluate._faithfulness import faithfulness
from attnflow.evaluate._plan import FAITHFULNESS_METRICS, IMPORTANCE, EvaluationPlan, ImportanceName
from attnflow.evaluate._rows import row_position
from attnflow.evaluate._texts import LabelledText
from attnflow.importance import Importance, blank_out, input_gradient, integrated_gradients
from attnflow.models import attend
from attnflow.models.inputs import Inputs, TokenizedText, batch_texts, tokenize_text
from attnflow.models.scoring import OneTarget, independent_classes, single_inputs
from attnflow.types import Attention, AttentionGraph

if TYPE_CHECKING:
    from torch import nn

Floats = NDArray[np.float64]

# Settings that are the same for all texts, of those that results record.
_OF_IMPORTANCE = ("score", "signed", "replace", "replaced_by", "reduce", "baseline", "steps")
_OF_GRAPHS = ("heads", "residual", "discard_ratio", "times_attention", "causal")
_OF_FAITHFULNESS = ("replace", "replaced_by", "bins", "rounding", "ties", "special")


@dataclass(slots=True, eq=False)
class TextWork:
    """One text on its way; each step fills in what the next one needs."""

    given: LabelledText
    tokens: TokenizedText | None = None
    target: OneTarget = None
    position: int | None = None  # whose scores count; None for the maximum over all
    weights: dict[Edges, Attention | AttentionGraph] = field(default_factory=dict)
    clipped: dict[str, float] = field(default_factory=dict)  # share of negative weights, by edges
    importance: dict[str, Floats] = field(default_factory=dict)  # with signs, if there are any
    rows: Floats | None = None  # scores (row, token), each random draw a row
    values: Floats | None = None  # (row, column of the plan)
    error: str | None = None

    @property
    def encoded(self) -> TokenizedText:
        """The tokens, after the step that makes them."""
        assert self.tokens is not None  # noqa: S101 (a text without tokens has an error)
        return self.tokens


class ModelWork:
    """The steps of an evaluation that run the model, or prepare its input."""

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Any,
        plan: EvaluationPlan,
        clock: Clock,
        layout: BlockLayout | None,
    ) -> None:
        self.model, self.tokenizer, self._plan, self._clock = model, tokenizer, plan, clock
        self._layout = layout
        # What importance, graphs and faithfulness recorded, for the settings of the result.
        self.settings: dict[str, dict[str, Any]] = {"importance": {}, "edges": {}}

    def tokenize(self, text: TextWork) -> None:
        """Make the tokens of a text."""
        with self._clock.measure("tokens"):
            tokens = tokenize_text(
                self.model, self.tokenizer, text.given.text, truncate=self._plan.truncate
            )
        text.tokens = replace(tokens, spans=None)  # places in the text are not needed

    def aim(self, text: TextWork, facts: ModelFacts) -> None:
        """Decide what importance is about, and whose scores count."""
        if self._plan.target == "label":
            if text.given.label is None:
                raise InputError("target='label' needs the label of every text, got none")
            facts.check_target(text.given.label, "label")
            text.target = text.given.label
        elif self._plan.target != "predicted":
            text.target = self._plan.target
        read = len(text.encoded.ids) - 1 if facts.causal else 0
        if facts.per_position and self._plan.row == "read":
            [item], _ = single_inputs(self.model, self.tokenizer, self._inputs([text]))
            if item.position is None:
                raise InputError(
                    f"row='read': {type(self.model).__name__} gives an output at every position, "
                    "and the text has no mask token, or several; put in one mask token"
                )
            read = item.position
        text.position = row_position(self._plan, self.tokenizer, text.encoded, read)

    def observe(self, batch: Sequence[TextWork]) -> None:
        """Compute the importance and the graphs of texts."""
        inputs, plan = self._inputs(batch), self._plan
        targets = [text.target for text in batch]
        for name in self._importance():
            with self._clock.measure(name):
                found = self._important(name, inputs, targets)
            self._note("importance", name, {**found[0].settings, "signed": False}, _OF_IMPORTANCE)
            for text, item in zip(batch, found, strict=True):
                text.importance[name] = item.values
        for name in plan.edges:
            with self._clock.measure(name):
                graphs = self._graphs(name, inputs, batch)
            first = graphs[0]
            made = first.graph().settings if isinstance(first, Attention) else first.settings
            self._note("edges", name, made, _OF_GRAPHS)
            for text, graph in zip(batch, graphs, strict=True):
                text.weights[name] = graph
                if isinstance(graph, AttentionGraph) and "clipped" in graph.settings:
                    text.clipped[name] = cast("float", graph.settings["clipped"])

    def measure_faithfulness(self, batch: Sequence[TextWork]) -> None:
        """Fill in the values of comprehensiveness, sufficiency and log-odds."""
        plan = self._plan
        with self._clock.measure("faithfulness"):
            found = faithfulness(
                self.model,
                self.tokenizer,
                self._inputs(batch),
                [cast("Floats", text.rows) for text in batch],
                bins=plan.bins,
                target=[text.target for text in batch],
                replace=plan.replace,
                special=plan.counts_special("comprehensiveness"),
            )
        signed = tuple(name for name in plan.baselines if name != "random" and self._signed(name))
        made = _shared(found[0].settings, _OF_FAITHFULNESS)
        self.settings["faithfulness"] = {**made, "signed_baselines": signed}
        for text, item in zip(batch, found, strict=True):
            for column, (_, metric) in enumerate(plan.columns):
                if metric in FAITHFULNESS_METRICS:
                    cast("Floats", text.values)[:, column] = getattr(item, metric)

    def _inputs(self, batch: Sequence[TextWork]) -> Inputs:
        return batch_texts(self.model, [text.encoded for text in batch])

    def _importance(self) -> list[ImportanceName]:
        """Return the importance to compute: for comparisons, and as baselines."""
        plan = self._plan
        names = {*plan.baselines, *(name for name, _ in plan.columns)}
        return [name for name in IMPORTANCE if name in names]

    def _important(
        self, name: ImportanceName, inputs: Inputs, targets: list[OneTarget]
    ) -> list[Importance]:
        plan, texts = self._plan, cast("Any", inputs)
        if name == "blank_out":
            replaced: Any = plan.replace
            return blank_out(
                self.model, self.tokenizer, texts, target=targets, replace=replaced, signed=True
            )
        if name == "integrated_gradients":
            return integrated_gradients(
                self.model, self.tokenizer, texts, target=targets, steps=plan.steps
            )
        usual = "probability" if independent_classes(self.model) else "difference"
        score = plan.score or usual
        return input_gradient(
            self.model, self.tokenizer, texts, target=targets, score=score, reduce=plan.reduce,
            signed=self._signed(name),
        )  # fmt: skip

    def _signed(self, name: ImportanceName) -> bool:
        """Whether the sign of an importance says that a token speaks for the target or against it.

        That of a gradient does not before it is multiplied by the input.
        """
        return name != "input_gradient" or self._plan.reduce == "input"

    def _graphs(
        self, name: Edges, inputs: Inputs, batch: Sequence[TextWork]
    ) -> Sequence[Attention | AttentionGraph]:
        if name == "attention":
            found: Any = attend(self.model, self.tokenizer, cast("Any", inputs))
            return found
        return [
            edge_graph(
                self.model,
                self.tokenizer,
                batch_texts(self.model, [text.encoded], single=True),
                name,
                target=text.target,
                layout=self._layout,
            )
            for text in batch
        ]

    def _note(
        self, kind: str, name: str, settings: Mapping[str, Any], shared: tuple[str, ...]
    ) -> None:
        if name not in self.settings[kind]:
            self.settings[kind][name] = _shared(settings, shared)


def _shared(settings: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: settings[name] for name in names if name in settings}
