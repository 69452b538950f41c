"""A plan is checked when it is made, and says what the values of a text are."""

import json
from typing import Any

import pytest

from attnflow.errors import InputError
from attnflow.evaluate import Cell, EvaluationPlan


def test_cells_are_rows_times_columns_in_a_fixed_order() -> None:
    plan = EvaluationPlan(
        edges=["norms"], methods=["flow", "raw"], layers=[3, 1], baselines=True,
        importance=["input_gradient", "blank_out"], metrics=["pointing", "kendall"],
    )  # fmt: skip
    cells = plan.cells(6)
    assert cells[:3] == (
        Cell("norms", "flow", 3, None, "pointing"),
        Cell("norms", "flow", 3, "input_gradient", "kendall"),
        Cell("norms", "flow", 3, "blank_out", "kendall"),
    )
    assert [cell[:3] for cell in cells[::3]] == [
        ("norms", "flow", 3), ("norms", "flow", 1), ("norms", "raw", 3), ("norms", "raw", 1),
        (None, "random", None), (None, "blank_out", None),
    ]  # fmt: skip
    assert len(cells) == len(plan.rows(6)) * len(plan.columns) == 18


def test_the_default_is_the_papers_second_table() -> None:
    cells = EvaluationPlan().cells(2)
    assert [cell[1:3] for cell in cells] == [
        ("raw", 1), ("raw", 2), ("rollout", 1), ("rollout", 2), ("flow", 1), ("flow", 2),
    ]  # fmt: skip
    assert {(cell.edges, *cell[3:]) for cell in cells} == {
        ("attention", "input_gradient", "spearman")
    }


def test_a_plan_is_the_same_after_json() -> None:
    plan = EvaluationPlan(
        edges=["alti", "attention"], layers=range(1, 4), row=-1, baselines=["random"],
        bins=[10, 20], special=False, replace=7, target="label",
    )  # fmt: skip
    stored = json.loads(json.dumps(plan.to_dict()))
    assert EvaluationPlan(**stored) == plan
    assert hash(EvaluationPlan(**stored)) == hash(plan)


def test_one_name_is_a_list_of_one_and_repeated_names_count_once() -> None:
    plan = EvaluationPlan(methods="flow", metrics=["kendall", "spearman", "kendall"])
    assert (plan.methods, plan.metrics) == (("flow",), ("kendall", "spearman"))
    assert EvaluationPlan(baselines=False) == EvaluationPlan()


@pytest.mark.parametrize(
    ("special", "expected"),
    [(None, [True, False, False]), (True, [True] * 3), (False, [False] * 3)],
)
def test_special_tokens_count_in_comparisons_unless_set(
    special: bool | None, expected: list[bool]
) -> None:
    plan = EvaluationPlan(special=special)
    found = [plan.counts_special(name) for name in ("top_k", "pointing", "log_odds")]
    assert found == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"edges": "key"}, "edges: expected one of attention, .* got 'key'"),
        ({"methods": []}, "methods: expected one or more of raw, rollout, flow, got"),
        ({"methods": 3}, "methods: expected one or more of raw"),
        ({"methods": ["raw", 3]}, "methods: expected one of raw, rollout, flow, got 3"),
        ({"importance": "gradient"}, "importance: expected one of blank_out, .* got 'gradient'"),
        ({"metrics": "pearson"}, "metrics: expected one of spearman, .* got 'pearson'"),
        ({"baselines": ["uniform"]}, "baselines: expected one of random, blank_out, .*'uniform'"),
        ({"layers": []}, "layers must not be empty"),
        ({"layers": [0]}, "layers must be 1 or more, got 0"),
        ({"layers": [2, 2]}, "layers must be distinct"),
        ({"row": "sep"}, "row: expected read, cls, mask, last, max or a position, got 'sep'"),
        ({"row": 1.5}, "row: expected read"),
        ({"row": True}, "row: expected read"),
        ({"target": None}, "target must be an integer, got None"),
        ({"replace": 1.5}, "replace must be an integer, got 1.5"),
        (
            {"replace": "blank"},
            "replace: expected unk, mask, pad, mean, attention_mask or the id of a token",
        ),
        ({"reduce": None}, "reduce: expected one of norm"),
        ({"steps": 0}, "steps must be 1 to 1000"),
        ({"k": 0}, "k must be 1 or more"),
        ({"bins": [0]}, "bins: expected percents"),
        ({"special": 1}, "special must be a bool"),
        ({"truncate": "yes"}, "truncate must be a bool"),
        ({"draws": 0}, "draws must be 1 or more"),
        ({"seed": -1}, "seed must be 0 or more"),
    ],
)
def test_a_setting_that_is_not_known_is_an_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = EvaluationPlan(**settings)


def test_layers_above_the_top_are_an_error() -> None:
    with pytest.raises(InputError, match="layers must be 1 to 6, got 7"):
        _ = EvaluationPlan(layers=[6, 7]).cells(6)
