"""`measure` against the library called text by text, scipy, and loops from the formulas."""

import copy
import dataclasses
import itertools
import math
from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import entropy, kendalltau, spearmanr

import attnflow as af
from attnflow import edges, paper
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.evaluate import Cell, EvaluationPlan, LabelledText, Measured, measure
from attnflow.evaluate._rows import random_scores
from attnflow.importance import blank_out, input_gradient, integrated_gradients
from attnflow.methods import scores_of_position
from attnflow.models import Loaded, attend

pytestmark = pytest.mark.slow

Floats = NDArray[np.float64]
METRICS = (
    "spearman", "dense_spearman", "kendall", "top_k", "pointing", "entropy",
    "comprehensiveness", "sufficiency", "log_odds",
)  # fmt: skip
IMPORTANCE = ("blank_out", "input_gradient", "integrated_gradients")
TEXTS = [
    LabelledText("the key to the cabinets", "singular", 2),
    LabelledText("the keys", "plural", 2),
    LabelledText("the old authors of the book that the editor liked", 1, 3),
    LabelledText("in the village , the monk behind the bridges", "singular", 6),
]


@pytest.fixture(scope="module")
def exact() -> Loaded:
    """The shipped model in double precision: batches change ranks in single precision."""
    shipped = paper.load()
    return dataclasses.replace(shipped, model=copy.deepcopy(shipped.model).double())


def _run(loaded: Loaded, texts: Any, *, fail_fast: bool = False, **plan: Any) -> Measured:
    return measure(
        loaded.model, loaded.tokenizer, texts, EvaluationPlan(**plan), fail_fast=fail_fast
    )


def _top(values: Floats, k: int) -> list[set[int]]:
    """All sets of k tokens that are the top k: no other token has a higher value."""
    tokens = range(len(values))
    return [
        set(chosen)
        for chosen in itertools.combinations(tokens, k)
        if all(values[i] >= values[j] for i in chosen for j in tokens if j not in chosen)
    ]


def _overlap(x: Floats, y: Floats, k: int) -> float:
    if len(x) <= k:
        return math.nan
    pairs = itertools.product(_top(x, k), _top(y, k))
    return float(np.mean([len(a & b) / k for a, b in pairs]))


def _dense(x: Floats, y: Floats) -> float:
    a, b = ([sorted(set(v.tolist())).index(value) for value in v] for v in (x, y))
    squares = sum((p - q) ** 2 for p, q in zip(a, b, strict=True))
    return 1 - 6 * squares / (len(x) * (len(x) ** 2 - 1))


def _pointing(scores: Floats, position: int) -> float:
    words = scores[1:-1]  # without CLS and the end marker
    highest = np.flatnonzero(words == words.max()) + 1
    return float(position in highest) / len(highest)


def _probability(loaded: Loaded, ids: list[int], label: int) -> float:
    with torch.no_grad():
        logits = loaded.model(input_ids=torch.tensor([ids])).logits[0]
    return float(logits.softmax(-1)[label])


def _faithfulness(loaded: Loaded, text: str, label: int, scores: Floats) -> dict[str, float]:
    ids = loaded.tokenizer(text)["input_ids"]
    words = list(range(1, len(ids) - 1))
    ranked = sorted(words, key=lambda place: -scores[place])  # stable: the earlier one first
    blank = loaded.model.config.blank_token_id
    p, values = _probability(loaded, ids, label), []
    for percent in (1, 5, 10, 20, 50):
        top = ranked[: max(1, math.ceil(percent * len(words) / 100))]
        without, alone = (
            _probability(loaded, [blank if i in blanked else t for i, t in enumerate(ids)], label)
            for blanked in (top, set(words) - set(top))
        )
        values.append((p - without, p - alone, math.log(without) - math.log(p)))
    means = np.mean(values, axis=0).tolist()
    return dict(zip(("comprehensiveness", "sufficiency", "log_odds"), means, strict=True))


def _importance(loaded: Loaded, text: str, label: int) -> dict[str, Floats]:
    both = loaded.model, loaded.tokenizer
    integrated = integrated_gradients(*both, text, target=label, steps=4)
    return {
        "blank_out": blank_out(*both, text, target=label).values,
        "input_gradient": input_gradient(*both, text, target=label, reduce="norm").values,
        "integrated_gradients": abs(integrated.values),
    }


def _literal(
    loaded: Loaded, given: LabelledText, scores: Floats, importance: dict[str, Floats]
) -> dict[tuple[str | None, str], float]:
    """All metrics of one row of scores, by importance and name."""
    found: dict[tuple[str | None, str], float] = {}
    for name, values in importance.items():
        found |= {
            (name, "spearman"): cast("Any", spearmanr(scores, values)).statistic,
            (name, "dense_spearman"): _dense(scores, values),
            (name, "kendall"): cast("Any", kendalltau(scores, values)).statistic,
            (name, "top_k"): _overlap(scores, values, 3),
        }
    assert given.position is not None
    found[None, "pointing"] = _pointing(scores, given.position)
    found[None, "entropy"] = float(entropy(scores)) / math.log(len(scores))
    faithful = _faithfulness(loaded, given.text, _number(given.label), scores)
    return found | {(None, name): value for name, value in faithful.items()}


def _number(label: object) -> int:
    return label if isinstance(label, int) else ["singular", "plural"].index(str(label))


@pytest.mark.filterwarnings("ignore:An input array is constant")
@pytest.mark.parametrize("row", ["read", "cls", "last", "max", 1, -2])
def test_every_metric_row_and_importance_is_that_of_a_literal_loop(
    exact: Loaded, row: int | str
) -> None:
    settings: Any = {"metrics": METRICS, "importance": IMPORTANCE, "steps": 4, "target": "label"}
    found = _run(exact, TEXTS, row=row, layers=[1, 4], **settings)
    assert len(found.texts) == 4
    for given, measured in zip(TEXTS, found.texts, strict=True):
        assert measured.error is None
        attention: Any = attend(exact.model, exact.tokenizer, given.text)
        importance = _importance(exact, given.text, _number(given.label))
        last = attention.n_tokens - 1
        query = {"read": 0, "cls": 0, "last": last, "max": None, 1: 1, -2: last - 1}[row]
        values = dict(zip(found.cells, measured.values, strict=True))
        assert len(values) == 2 * 3 * 17
        for method, layer in itertools.product((af.raw, af.rollout, af.flow), (1, 4)):
            all_rows = method(attention, layers=layer).scores[0]
            scores = all_rows.max(axis=0) if query is None else all_rows[query]
            literal = _literal(exact, given, scores, importance)
            assert len(literal) == 17
            for (name, metric), expected in literal.items():
                cell = Cell("attention", method.__name__, layer, name, metric)
                assert values[cell] == pytest.approx(expected, abs=1e-6, nan_ok=True), cell


@pytest.mark.parametrize("name", edges.EDGES)
def test_edges_give_the_scores_of_their_graph(exact: Loaded, name: Any) -> None:
    texts = TEXTS[:2]
    found = _run(exact, texts, edges=name, methods=["raw", "flow"], layers=[3], target="plural")
    assert found.values.shape == (2, 2)
    for given, values in zip(texts, found.values, strict=True):
        both = exact.model, exact.tokenizer
        graph = edges.edge_graph(*both, given.text, name, target="plural")
        # The paper's raw attention has no residual connection.
        own: Any = attend(*both, given.text) if name == "attention" else graph
        importance = input_gradient(*both, given.text, target="plural", reduce="norm").values
        for value, scores in zip(values, (af.raw(own), af.flow(graph)), strict=True):
            peer: Any = spearmanr(scores.row(3, 0), importance)
            assert value == pytest.approx(peer.statistic, abs=1e-6)


def test_values_do_not_depend_on_order_or_on_other_texts(exact: Loaded) -> None:
    texts = [*TEXTS, *(LabelledText(p.text, p.number) for p in paper.generate(70, seed=4))]
    settings: Any = {"baselines": True, "target": "label", "metrics": ["spearman", "kendall"]}
    there = _run(exact, texts, **settings).values
    back = _run(exact, texts[::-1], **settings).values[::-1]
    assert there.shape == (74, 40)
    np.testing.assert_allclose(there, back, rtol=0, atol=1e-6)
    for number in (0, 3, 73):
        alone = _run(exact, texts[number : number + 1], **settings).values[0]
        np.testing.assert_allclose(there[number], alone, rtol=0, atol=1e-6)


def test_the_same_texts_and_plan_give_the_same_values() -> None:
    shipped = paper.load()
    one, two = (_run(shipped, TEXTS, baselines=True) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)
    assert one.settings == two.settings


def test_a_text_that_fails_does_not_stop_the_others(exact: Loaded) -> None:
    bad = [
        LabelledText("", "singular"),
        LabelledText("key " * 70, "singular"),
        LabelledText("the key", "dual"),
        LabelledText("the key", 2),
        LabelledText("the key"),
        LabelledText("the key", "singular", 9),
        LabelledText("the key", "singular", 0),
    ]
    texts = [bad[0], TEXTS[0], *bad[1:], TEXTS[1]]
    settings: Any = {"target": "label", "metrics": ["spearman", "pointing"], "layers": [6]}
    found = _run(exact, texts, **settings)
    assert found.texts[1].error is None is found.texts[-1].error
    errors = [text.error or "" for text in found.texts if text.error is not None]
    expected = [
        "at least one word, got ''",
        "at most 64 tokens, the limit of the model, got 72",
        "label: expected one of singular, plural, got 'dual'",
        "label: expected a class from 0 to 1, got 2",
        "needs the label of every text",
        "position: expected 0 to 3, got 9",
        "position: expected that of a token that counts, got 0, '[CLS]'",
    ]
    assert len(errors) == len(expected)
    for error, part in zip(errors, expected, strict=True):
        assert part in error
    assert [text.n_tokens for text in found.texts] == [0, 7, 0, 4, 4, 4, 4, 4, 4]
    good = _run(exact, [TEXTS[0], TEXTS[1]], **settings).values
    np.testing.assert_allclose(found.values[[1, -1]], good, rtol=0, atol=1e-6)
    assert np.isnan(found.values[[0, *range(2, 8)]]).all()
    assert repr(found) == "Measured(texts=9, failed=7, values=6)"


def test_fail_fast_raises_the_error_of_the_text(exact: Loaded) -> None:
    with pytest.raises(InputError, match="at least one word"):
        _ = _run(exact, [TEXTS[0], ""], fail_fast=True)


class _FailsOnThree(torch.nn.Module):
    """A model that fails on one token, and so does every batch that has it."""

    def __init__(self, model: Any, token: int) -> None:
        super().__init__()
        self.inner, self.token, self.config = model, token, model.config
        self.main_input_name = "input_ids"

    def forward(self, input_ids: Any, attention_mask: Any = None) -> Any:
        if (input_ids == self.token).any():
            raise ValueError("this token breaks it")
        return self.inner(input_ids=input_ids, attention_mask=attention_mask)


def test_a_model_error_on_one_text_is_the_error_of_that_text(exact: Loaded) -> None:
    token = exact.tokenizer.convert_tokens_to_ids("monk")
    failing = dataclasses.replace(exact, model=cast("Any", _FailsOnThree(exact.model, token)))
    found = _run(failing, TEXTS, layers=[6])
    errors = [text.error for text in found.texts]
    assert errors[:3] == [None] * 3
    assert "this token breaks it" in str(errors[3])
    expected = _run(exact, TEXTS, layers=[6]).values
    np.testing.assert_allclose(found.values[:3], expected[:3], rtol=0, atol=1e-6)


def test_a_text_without_a_position_has_no_pointing(exact: Loaded) -> None:
    found = _run(exact, ["the key", TEXTS[0]], metrics="pointing", methods="raw", layers=[1])
    assert np.isnan(found.values[0, 0])
    assert found.values[1, 0] in (0.0, 1.0)


def test_special_tokens_count_if_asked_for(exact: Loaded) -> None:
    texts = [TEXTS[2]]
    all_count, words = (
        _run(exact, texts, layers=[2], methods="rollout", special=special)
        for special in (True, False)
    )
    both = exact.model, exact.tokenizer
    scores = af.rollout(attend(*both, texts[0].text), layers=2, queries=0).scores[0, 0]
    importance = input_gradient(*both, texts[0].text, reduce="norm").values
    for found, part in ((all_count, slice(None)), (words, slice(1, -1))):
        peer: Any = spearmanr(scores[part], importance[part])
        assert found.values[0, 0] == pytest.approx(peer.statistic, abs=1e-6)
    assert all_count.settings["special"] == {"spearman": True}
    assert words.settings["special"] == {"spearman": False}


def test_random_scores_are_seeded_and_agree_with_nothing(exact: Loaded) -> None:
    texts = [prefix.text for prefix in paper.generate(60, seed=2, attractors=2)]
    settings: Any = {"methods": "raw", "layers": [1], "baselines": ["random"], "draws": 30}
    one, same, other = (
        _run(exact, texts, seed=seed, **settings).table("spearman", "input_gradient")
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.per_text["random"], same.per_text["random"])
    assert not np.array_equal(one.per_text["random"], other.per_text["random"])
    # 60 texts, 30 draws, about 9 tokens: one standard error is 0.008.
    for table in (one, other):
        assert abs(table.per_text["random"].mean()) < 0.05


def test_random_scores_are_the_mean_over_draws(exact: Loaded) -> None:
    given = TEXTS[2]
    settings: Any = {
        "methods": "raw", "layers": [1], "baselines": ["random", "blank_out"], "draws": 3,
        "metrics": METRICS, "importance": IMPORTANCE, "steps": 4, "target": "label",
    }  # fmt: skip
    found = _run(exact, [given], **settings)
    assert [cell.method for cell in found.cells[::17]] == ["raw", "random", "blank_out"]
    importance = _importance(exact, given.text, 1)
    drawn = random_scores(EvaluationPlan(**settings), given.text, len(importance["blank_out"]))
    assert drawn.shape == (3, 12)
    rows = [_literal(exact, given, scores, importance) for scores in drawn]
    values = dict(zip(found.cells, found.values[0], strict=True))
    for name, metric in rows[0]:
        mean = np.mean([row[name, metric] for row in rows])
        value = values[Cell(None, "random", None, name, metric)]
        assert value == pytest.approx(mean, abs=1e-6), (name, metric)
    signed = blank_out(exact.model, exact.tokenizer, given.text, target=1, signed=True).values
    itself = _literal(exact, given, importance["blank_out"], importance)
    itself |= {
        (None, name): value for name, value in _faithfulness(exact, given.text, 1, signed).items()
    }
    for (name, metric), expected in itself.items():
        value = values[Cell(None, "blank_out", None, name, metric)]
        assert value == pytest.approx(expected, abs=1e-6), (name, metric)


@pytest.mark.parametrize("name", IMPORTANCE)
def test_a_baseline_ranks_a_token_that_speaks_against_the_target_last_for_faithfulness_alone(
    exact: Loaded, name: str
) -> None:
    text, singular, monks = "in the village , the monks", 0, 6  # it speaks for "plural"
    both: Any = exact.model, exact.tokenizer, text
    signed = {
        "blank_out": lambda: blank_out(*both, target=singular, signed=True),
        "input_gradient": lambda: input_gradient(
            *both, target=singular, reduce="input", signed=True
        ),
        "integrated_gradients": lambda: integrated_gradients(*both, target=singular, steps=4),
    }[name]().values
    assert -signed[monks] == abs(signed[1:-1]).max()
    plan: Any = {
        "methods": "raw", "layers": [1], "target": singular, "importance": name, "steps": 4,
        "baselines": [name], "reduce": "input", "metrics": METRICS,
    }  # fmt: skip
    found = _run(exact, [LabelledText(text, position=monks)], **plan)
    values = dict(zip(found.cells, found.values[0], strict=True))
    faithful = _faithfulness(exact, text, singular, signed)
    without_signs = _faithfulness(exact, text, singular, abs(signed))
    assert without_signs["comprehensiveness"] < -0.9 < 0 < faithful["comprehensiveness"]
    for metric, expected in faithful.items():
        assert values[Cell(None, name, None, None, metric)] == pytest.approx(expected, abs=1e-6)
    assert values[Cell(None, name, None, name, "spearman")] == pytest.approx(1)
    assert values[Cell(None, name, None, None, "pointing")] == 1
    settings: Any = found.settings
    assert settings["faithfulness"]["signed_baselines"] == (name,)


def test_the_norm_of_a_gradient_is_a_baseline_without_signs(exact: Loaded) -> None:
    text = "the key to the cabinets"
    plan: Any = {"methods": "raw", "layers": [1], "baselines": ["input_gradient"]}
    found = _run(exact, [text], target="plural", metrics="log_odds", **plan)
    importance = input_gradient(exact.model, exact.tokenizer, text, target="plural", reduce="norm")
    literal = _faithfulness(exact, text, 1, importance.values)["log_odds"]
    assert found.table("log_odds").per_text["input_gradient"] == pytest.approx(literal, abs=1e-6)
    settings: Any = found.settings
    assert settings["faithfulness"]["signed_baselines"] == ()


def test_random_scores_depend_on_the_text_and_the_seed_alone() -> None:
    plan = EvaluationPlan(draws=2)
    one = random_scores(plan, "the key", 4)
    np.testing.assert_array_equal(one, random_scores(plan, "the key", 4))
    other_seed = EvaluationPlan(draws=2, seed=1)
    for other in (random_scores(plan, "the keys", 4), random_scores(other_seed, "the key", 4)):
        assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("limit", "value", "sizes"),
    [
        ("_MAX_TEXTS", 3, [3, 1]),
        ("_MAX_TOKENS", 22, [2, 1, 1]),  # of 4, 7, 11 and 12 tokens
        ("_MAX_WEIGHTS", 6 * 8 * 11 * 11 * 3, [3, 1]),
        ("_MAX_WEIGHTS", 1, [1, 1, 1, 1]),
    ],
)
def test_batches_are_limited(
    exact: Loaded, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, sizes: list[int]
) -> None:
    expected = _run(exact, TEXTS, layers=[6]).values
    found: list[int] = []

    def counted(*arguments: Any) -> Any:
        found.append(len(arguments[2].sources))
        return attend(*arguments)

    monkeypatch.setattr(f"attnflow.evaluate._evaluation.{limit}", value)
    monkeypatch.setattr("attnflow.evaluate._model_work.attend", counted)
    values = _run(exact, TEXTS, layers=[6]).values
    assert found == sizes
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6)


def test_texts_of_one_length_are_scored_together_as_many_as_fit(
    exact: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["the key", "the key to the cabinets", "the keys", "the dog"]
    sizes: list[int] = []

    def counted(*given: Any, **named: Any) -> Any:
        sizes.append(len(given[0]))
        return scores_of_position(*given, **named)

    monkeypatch.setattr("attnflow.evaluate._rows.scores_of_position", counted)
    together = _run(exact, texts, methods="rollout", layers=[2, 6]).values
    assert sizes == [3, 1]
    monkeypatch.setattr("attnflow.evaluate._evaluation._MAX_SCORED", 2 * 6 * 8 * 4 * 4)
    sizes.clear()
    apart = _run(exact, texts, methods="rollout", layers=[2, 6]).values
    assert sizes == [2, 1, 1]
    np.testing.assert_allclose(together, apart, rtol=0, atol=1e-6)


def test_the_predicted_class_is_the_default_target(exact: Loaded) -> None:
    text = "the keys to the cabinet"
    found = _run(exact, [text], metrics="log_odds", methods="flow", layers=[2])
    scores = af.flow(attend(exact.model, exact.tokenizer, text), layers=2, queries=0).scores[0, 0]
    assert _probability(exact, exact.tokenizer(text)["input_ids"], 1) > 0.5
    literal = _faithfulness(exact, text, 1, scores)["log_odds"]
    assert found.values[0, 0] == pytest.approx(literal, abs=1e-6)


def test_settings_say_what_decides_the_numbers(exact: Loaded) -> None:
    plan: Any = {
        "importance": IMPORTANCE, "metrics": ["spearman", "sufficiency"], "steps": 2,
        "edges": ["attention", "gradient"], "methods": "rollout", "layers": [1], "replace": "pad",
    }  # fmt: skip
    found = _run(exact, TEXTS[:1], **plan)
    settings: Any = found.settings
    assert EvaluationPlan(**settings["plan"]) == EvaluationPlan(**plan)
    assert settings["importance"]["blank_out"]["replaced_by"] == "[PAD]"
    assert settings["importance"]["input_gradient"]["score"] == "difference"
    assert settings["importance"]["integrated_gradients"] == {
        "score": "probability", "signed": False, "baseline": "zero", "steps": 2,
    }  # fmt: skip
    assert settings["edges"]["attention"] == {
        "heads": "mean", "residual": 0.5, "discard_ratio": 0, "causal": False,
    }  # fmt: skip
    assert settings["edges"]["gradient"]["residual"] == "identity"
    assert settings["faithfulness"] == {
        "replace": "pad", "replaced_by": "[PAD]", "bins": (1, 5, 10, 20, 50), "rounding": "ceil",
        "ties": "first", "special": False, "signed_baselines": (),
    }  # fmt: skip
    parts = {"tokens", "attention", "gradient", "rollout", "metrics", "faithfulness", *IMPORTANCE}
    assert set(found.seconds) == parts


def test_the_share_of_negative_weights_is_the_mean_over_texts_without_errors(
    exact: Loaded,
) -> None:
    plan: Any = {"methods": "raw", "layers": [1], "edges": ["attention", "gradient", "norms"]}
    found = _run(exact, [TEXTS[0], "", TEXTS[2]], target="plural", **plan)
    settings: Any = found.settings
    both = exact.model, exact.tokenizer
    graphs = [edges.gradient(*both, TEXTS[n].text, target="plural") for n in (0, 2)]
    shares = [cast("float", graph.settings["clipped"]) for graph in graphs]
    assert shares[0] != shares[1]
    assert settings["edges"]["gradient"]["clipped"] == pytest.approx(np.mean(shares), abs=1e-9)
    assert all("clipped" not in settings["edges"][name] for name in ("attention", "norms"))


def test_a_masked_model_is_read_at_the_mask(small_bert: Loaded) -> None:
    texts = ["the author talked to Sara about [MASK] book", "Mary saw John", "[MASK] [MASK]"]
    read, mask = (
        _run(small_bert, texts, row=row, layers=[1], methods="rollout") for row in ("read", "mask")
    )
    for found in (read, mask):
        first, second, third = (text.error for text in found.texts)
        assert first is None
        assert "mask token" in str(second)
        assert "mask token" in str(third)
    place = small_bert.tokenizer(texts[0])["input_ids"].index(small_bert.tokenizer.mask_token_id)
    both = small_bert.model, small_bert.tokenizer
    scores = af.rollout(attend(*both, texts[0]), layers=1, queries=place).scores[0, 0]
    importance = input_gradient(*both, texts[0], reduce="norm").values
    peer: Any = spearmanr(scores, importance)
    assert read.values[0, 0] == pytest.approx(peer.statistic, abs=1e-6)
    assert mask.values[0, 0] == pytest.approx(peer.statistic, abs=1e-6)


def test_a_causal_model_is_read_at_its_last_token(small_gpt: Loaded) -> None:
    texts = ["Mary convinced John of", "Mary saw"]
    read, last = (
        _run(small_gpt, texts, row=row, layers=[2], methods=["raw", "rollout"])
        for row in ("read", "last")
    )
    np.testing.assert_array_equal(read.values, last.values)
    both = small_gpt.model, small_gpt.tokenizer
    attention = attend(*both, texts[0])
    importance = input_gradient(*both, texts[0], reduce="norm").values
    for value, method in zip(read.values[0], (af.raw, af.rollout), strict=True):
        scores = method(attention, layers=2).scores[0, -1]
        peer: Any = spearmanr(scores, importance)
        assert value == pytest.approx(peer.statistic, abs=1e-6)


def test_a_row_that_a_text_does_not_have_is_its_error(exact: Loaded) -> None:
    found = _run(exact, ["the key", "the key to the cabinets"], row=5, layers=[1])
    assert found.texts[0].error == "row: expected a position of 4 tokens, got 5"
    assert found.texts[1].error is None


def test_a_text_that_is_too_long_is_cut_if_asked_for(exact: Loaded) -> None:
    found = _run(exact, ["the key " * 40], layers=[1], methods="raw", truncate=True)
    assert (found.texts[0].error, found.texts[0].n_tokens) == (None, 64)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"layers": [7]}, "layers must be 1 to 6, got 7"),
        ({"target": "dual"}, "target: expected one of singular, plural, got 'dual'"),
        ({"target": 2}, "target: expected a class from 0 to 1, got 2"),
    ],
)
def test_a_plan_that_the_model_cannot_follow_is_an_error(
    exact: Loaded, plan: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _ = _run(exact, TEXTS, **plan)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "at least one, got none"),
        ("the key", "expected a list of texts, got 'the key'"),
        (LabelledText("the key"), "expected a list of texts"),
        ([3], "expected LabelledText or str, got 3"),
    ],
)
def test_texts_are_a_list(exact: Loaded, texts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = measure(exact.model, exact.tokenizer, texts)


def test_an_encoder_decoder_is_refused() -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    small = T5Config(vocab_size=9650, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    with pytest.raises(UnsupportedModelError, match="is an encoder-decoder"):
        _ = measure(T5ForConditionalGeneration(small), paper.load().tokenizer, ["the key"])


def test_only_texts_that_fail_give_errors_and_no_values(exact: Loaded) -> None:
    found = _run(exact, ["", " "])
    assert found.values.shape == (2, 18)
    assert np.isnan(found.values).all()
    assert all("at least one word" in str(text.error) for text in found.texts)


def test_progress_counts_texts_and_may_stop_the_work(exact: Loaded) -> None:
    reports: list[tuple[int, int]] = []
    plan = EvaluationPlan(methods="raw", layers=[1])
    texts = ["", *(prefix.text for prefix in paper.generate(70))]
    _ = measure(
        exact.model, exact.tokenizer, texts, plan, progress=lambda *now: reports.append(now)
    )
    assert [reports[0], reports[-1]] == [(1, 71), (71, 71)]
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)

    def stop(done: int, _total: int) -> None:
        raise KeyboardInterrupt if done > 1 else StopAsyncIteration

    with pytest.raises(StopAsyncIteration):
        _ = measure(exact.model, exact.tokenizer, texts, plan, progress=stop)


def test_threads_of_torch_are_restored(exact: Loaded) -> None:
    before = torch.get_num_threads()
    plan = EvaluationPlan(methods="flow", layers=[3])
    two = measure(exact.model, exact.tokenizer, TEXTS, plan, threads=2)
    assert torch.get_num_threads() == before
    np.testing.assert_allclose(
        two.values, measure(exact.model, exact.tokenizer, TEXTS, plan).values, atol=1e-6
    )
    with pytest.raises(InputError, match="threads must be 1"):
        _ = measure(exact.model, exact.tokenizer, TEXTS, plan, threads=0)


def test_a_table_has_the_rows_of_a_metric(exact: Loaded) -> None:
    found = _run(
        exact, TEXTS, edges=["attention", "norms"], methods=["raw", "rollout"], layers=[2, 5],
        metrics=["spearman", "pointing"], baselines=True,
    )  # fmt: skip
    table = found.table("pointing")
    assert table.rows == ("attention raw", "attention rollout", "norms raw", "norms rollout")
    assert table.layers == (2, 5)
    assert list(table.per_text) == ["random", "blank_out"]
    assert table.texts == tuple(text.text for text in TEXTS)
    cell = found.cells.index(Cell("norms", "raw", 5, None, "pointing"))
    np.testing.assert_array_equal(table.values[:, 2, 1], found.values[:, cell])
    with pytest.raises(InputError, match="one of spearman with input_gradient, pointing, got"):
        _ = found.table("spearman")
