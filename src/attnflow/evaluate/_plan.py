"""EvaluationPlan: what is computed for every text of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args

from attnflow._internal import checks
from attnflow._internal.records import Record
from attnflow.edges import EDGES, Edges
from attnflow.errors import InputError
from attnflow.evaluate._faithfulness import BINS, check_bins
from attnflow.models.scoring import Score
from attnflow.types import METHODS, Method

ImportanceName: TypeAlias = Literal["blank_out", "input_gradient", "integrated_gradients"]
Baseline: TypeAlias = Literal["random", ImportanceName]
# Compared with importance.
AgreementMetric: TypeAlias = Literal["spearman", "dense_spearman", "kendall", "top_k"]
# Measured with the model.
FaithfulnessMetric: TypeAlias = Literal["comprehensiveness", "sufficiency", "log_odds"]
Metric: TypeAlias = Literal[AgreementMetric, "pointing", "entropy", FaithfulnessMetric]
Row: TypeAlias = Literal["read", "cls", "mask", "last", "max"] | int
Reduce: TypeAlias = Literal["norm", "sum", "input", "raw_sum"]

IMPORTANCE: tuple[ImportanceName, ...] = get_args(ImportanceName)
BASELINES: tuple[Baseline, ...] = ("random", *IMPORTANCE)
AGREEMENT_METRICS: tuple[AgreementMetric, ...] = get_args(AgreementMetric)
FAITHFULNESS_METRICS: tuple[FaithfulnessMetric, ...] = get_args(FaithfulnessMetric)
METRICS: tuple[Metric, ...] = (*AGREEMENT_METRICS, "pointing", "entropy", *FAITHFULNESS_METRICS)
_REPLACE = ("unk", "mask", "pad", "mean", "attention_mask")
_ROWS = ("read", "cls", "mask", "last", "max")


class Cell(NamedTuple):
    """What one value of a text is.

    Attributes
    ----------
    edges
        What the edges of the graph weigh; None for a baseline.
    method
        How layers compose, or the name of a baseline.
    layer
        The layer; None for a baseline.
    importance
        What the scores are compared with; None for a metric that needs none.
    metric
        The metric.
    """

    edges: str | None
    method: str
    layer: int | None
    importance: str | None
    metric: str


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationPlan(Record):
    """What `measure` computes for every text.

    Each combination of `edges`, `methods` and `layers` gives scores for the tokens of a text, and
    so does each baseline. Every metric is computed for all of these scores, and for each importance
    if it compares scores with importance. Names are checked here, and repeated ones dropped. Scores
    are those of the paper: unlike in `attnflow.explain`, attention sinks are not removed, and rollout
    and flow of a causal model are not corrected for the receptive field.

    Parameters
    ----------
    edges
        What the edges of the graph weigh: names of functions of `attnflow.edges`. With other edges
        than "attention", raw scores are the rows of that graph.
    methods
        "raw", "rollout", "flow", or some of them.
    layers
        Numbers of layers from 1; by default all.
    row
        The position whose scores count: "read" for the one whose output the model reads, as in
        `attnflow.explain` (the mask token or the last token of a language model, the last token of
        a causal classifier, else the first, where CLS stands); "cls" for the first, "mask" for the
        mask token, "last" for the last; a number, negative from the end; or "max" for the maximum
        over all positions, token by token.
    normalize
        Whether the scores of every position are divided by their sum first. It matters for flow
        with "max" alone: raw attention and rollout of attention sum to one.
    importance
        What scores are compared with: "blank_out", "input_gradient", "integrated_gradients". Values
        without their signs.
    metrics
        "spearman", "dense_spearman", "kendall" and "top_k" compare with importance; "pointing" is
        1 if the labelled token has the highest score; "entropy" is `normalized_entropy`, 1 if all
        tokens have the same score; "comprehensiveness", "sufficiency" and "log_odds" are those of
        `faithfulness`.
    target
        What importance, gradients and faithfulness are about: "predicted" for the prediction of the
        model, "label" for the label of each text, or a class or token by number or name.
    replace
        What takes the place of a token, for "blank_out" and for faithfulness; None is the default
        for the model, as for `attnflow.importance.blank_out`.
    score
        The score whose gradient "input_gradient" is, as for `attnflow.importance.input_gradient`;
        None is "difference", or "probability" for a model with independent classes.
    reduce
        How the gradient of a token becomes one number, as for `attnflow.importance.input_gradient`.
    steps
        Steps of integrated gradients.
    k
        How many tokens "top_k" compares.
    bins
        Percent of the tokens for faithfulness.
    special
        Whether special tokens, such as CLS, count. By default they do in comparisons with
        importance, as in the paper's tables, and in "entropy", and not in "pointing" and
        faithfulness. They always do in a text that has no other tokens.
    truncate
        Cut texts that are too long for the model; by default they fail.
    baselines
        Other scores that every metric is computed for: "random", the mean over `draws` of random
        scores, and names of importance: "blank_out" is leaving tokens out one by one. True is
        "random" and "blank_out". For faithfulness importance keeps its sign, so that a token that
        speaks against the target comes last; input gradients have one with `reduce="input"` alone.
    draws
        How many times random scores are drawn.
    seed
        Seed of random scores. Those of a text depend on the text, and not on other texts.

    Examples
    --------
    >>> plan = EvaluationPlan(methods="rollout", layers=[6], metrics=["spearman", "pointing"])
    >>> plan.cells(6)[0]
    Cell(edges='attention', method='rollout', layer=6, importance='input_gradient', metric='spearman')
    """  # noqa: E501 (a line of output)

    edges: tuple[Edges, ...]
    methods: tuple[Method, ...]
    layers: tuple[int, ...] | None
    row: Row
    normalize: bool
    importance: tuple[ImportanceName, ...]
    metrics: tuple[Metric, ...]
    target: int | str
    replace: int | str | None
    score: Score | None
    reduce: Reduce
    steps: int
    k: int
    bins: tuple[float, ...]
    special: bool | None
    truncate: bool
    baselines: tuple[Baseline, ...]
    draws: int
    seed: int

    def __init__(
        self,
        *,
        edges: Iterable[str] = ("attention",),
        methods: Iterable[str] = METHODS,
        layers: Iterable[int] | int | None = None,
        row: Row = "read",
        normalize: bool = False,
        importance: Iterable[str] = ("input_gradient",),
        metrics: Iterable[str] = ("spearman",),
        target: int | str = "predicted",
        replace: int | str | None = None,
        score: Score | None = None,
        reduce: Reduce = "norm",
        steps: int = 50,
        k: int = 3,
        bins: Sequence[float] = BINS,
        special: bool | None = None,
        truncate: bool = False,
        baselines: Iterable[str] | bool = (),
        draws: int = 10,
        seed: int = 0,
    ) -> None:
        self._set(
            edges=_names(edges, EDGES, "edges"),
            methods=_names(methods, METHODS, "methods"),
            layers=None if layers is None else _layers(layers),
            row=_row(row),
            normalize=checks.as_bool(normalize, "normalize"),
            importance=_names(importance, IMPORTANCE, "importance"),
            metrics=_names(metrics, METRICS, "metrics"),
            target=target if isinstance(target, str) else checks.as_int(target, "target"),
            replace=_replace(replace),
            score=None if score is None else _names([score], get_args(Score), "score")[0],
            reduce=_names([reduce], get_args(Reduce), "reduce")[0],
            steps=checks.as_int(steps, "steps", least=1, most=checks.MAX_STEPS),
            k=checks.as_int(k, "k", least=1),
            bins=check_bins(bins),
            special=None if special is None else checks.as_bool(special, "special"),
            truncate=checks.as_bool(truncate, "truncate"),
            baselines=_baselines(baselines),
            draws=checks.as_int(draws, "draws", least=1),
            seed=checks.as_int(seed, "seed", least=0),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values: `EvaluationPlan(**plan.to_dict())` is the same plan."""
        return {
            name: list(cast("Any", value)) if isinstance(value, tuple) else value
            for name, value in self._fields().items()
        }

    def counts_special(self, metric: Metric) -> bool:
        """Return whether special tokens count in a metric."""
        own = metric in AGREEMENT_METRICS or metric == "entropy"
        return own if self.special is None else self.special

    @property
    def columns(self) -> tuple[tuple[ImportanceName | None, Metric], ...]:
        """Importance and metric of the values that each of the scores has, in their order."""
        return tuple(
            (importance, metric)
            for metric in self.metrics
            for importance in (self.importance if metric in AGREEMENT_METRICS else (None,))
        )

    def rows(self, n_layers: int) -> tuple[tuple[str | None, str, int | None], ...]:
        """Return edges, method and layer of the scores, baselines last.

        Parameters
        ----------
        n_layers
            How many layers the model has.
        """
        layers = range(1, n_layers + 1) if self.layers is None else self.layers
        for layer in layers:
            _ = checks.as_int(layer, "layers", least=1, most=n_layers)
        scores = [
            (edges, method, layer)
            for edges in self.edges
            for method in self.methods
            for layer in layers
        ]
        return (*scores, *((None, baseline, None) for baseline in self.baselines))

    def cells(self, n_layers: int) -> tuple[Cell, ...]:
        """Return what the values of a text are, in their order: for each row, all columns.

        Parameters
        ----------
        n_layers
            How many layers the model has.
        """
        return tuple(Cell(*row, *column) for row in self.rows(n_layers) for column in self.columns)


def _names(values: object, known: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return distinct known names, from one or several."""
    given = (values,) if isinstance(values, str) else values
    if not isinstance(given, Iterable) or not (items := tuple(cast("Iterable[object]", given))):
        raise InputError(f"{name}: expected one or more of {', '.join(known)}, got {values!r}")
    for item in items:
        if not isinstance(item, str) or item not in known:
            raise InputError(f"{name}: expected one of {', '.join(known)}, got {item!r}")
    return tuple(dict.fromkeys(cast("tuple[str, ...]", items)))


def _baselines(value: object) -> tuple[str, ...]:
    if isinstance(value, bool):
        return ("random", "blank_out") if value else ()
    if isinstance(value, tuple | list) and not value:
        return ()
    return _names(value, BASELINES, "baselines")


def _layers(layers: Iterable[int] | int) -> tuple[int, ...]:
    numbers = checks.as_distinct_ints(layers, "layers")
    return tuple(checks.as_int(number, "layers", least=1) for number in numbers)


def _replace(replace: object) -> int | str | None:
    if isinstance(replace, str):
        if replace not in _REPLACE:
            raise InputError(
                f"replace: expected {', '.join(_REPLACE)} or the id of a token, got {replace!r}"
            )
        return replace
    return None if replace is None else checks.as_int(replace, "replace")


def _row(row: object) -> Row:
    if isinstance(row, str):
        if row in _ROWS:
            return cast("Row", row)
    elif not isinstance(row, bool):
        try:
            return checks.as_int(row, "row")
        except InputError:
            pass
    raise InputError(f"row: expected {', '.join(_ROWS)} or a position, got {row!r}")
