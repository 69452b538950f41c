import re

import numpy as np
import pytest

from attnflow import TokenAttention
from attnflow.cli._table import flow_note, table


def _flow(
    scores: np.ndarray, tokens: list[str], *, saturated: tuple[bool, ...] | None = None
) -> TokenAttention:
    n_layers, n_queries, _ = scores.shape
    return TokenAttention(
        scores=scores,
        tokens=tokens,
        layers=range(1, n_layers + 1),
        queries=range(n_queries),
        method="flow",
        settings={"residual": 0.5},
        saturated=saturated or (False,) * n_layers,
    )


def test_a_table_has_a_row_for_each_query_and_a_column_for_each_token() -> None:
    scores = np.array([[[1.0, 0.0], [0.25, 0.75]]])
    assert table(_flow(scores, ["[CLS]", "key"]), 1, width=80).splitlines() == [
        "flow, layer 1 (residual 0.5)",
        "         [CLS]    key",
        "0 [CLS]  1.000  0.000",
        "1 key    0.250  0.750",
    ]


def test_a_table_that_is_too_wide_shows_the_highest_scores_of_each_query() -> None:
    n = 40
    scores = np.zeros((1, n, n))
    scores[0, :, 7] = 0.5
    scores[0, :, 3] = 0.25
    lines = table(_flow(scores, [f"t{i}" for i in range(n)]), 1, width=80).splitlines()
    assert lines[1] == (
        "(the 5 highest scores of each query; for all: --json, --out, a wider terminal)"
    )
    assert re.split(" {2,}", lines[2]) == [
        "0 t0", "0.500 7 t7", "0.250 3 t3", "0.000 0 t0", "0.000 1 t1", "0.000 2 t2",
    ]  # fmt: skip
    assert len(lines) == 2 + n
    assert max(map(len, lines)) <= 80


def test_a_table_of_any_width_is_not_cut() -> None:
    lines = table(_flow(np.zeros((1, 40, 40)), ["token"] * 40), 1, width=None).splitlines()
    assert len(lines[2].split()) == 2 + 40


@pytest.mark.parametrize(("width", "count"), [(83, 5), (68, 4), (40, 2), (30, 1), (10, 1)])
def test_a_narrow_table_shows_as_many_of_the_highest_scores_as_fit(width: int, count: int) -> None:
    lines = table(_flow(np.zeros((1, 20, 20)), ["token"] * 20), 1, width=width).splitlines()
    shown = "highest score of" if count == 1 else f"{count} highest scores of"
    assert lines[1].startswith(f"(the {shown} each query; for all: ")
    assert len(re.split(" {2,}", lines[2])) == 1 + count
    assert max(map(len, lines[2:])) <= max(width, 26)


def test_few_tokens_are_cut_only_if_they_do_not_fit() -> None:
    lines = table(_flow(np.zeros((1, 1, 5)), ["token"] * 5), 1, width=42).splitlines()
    assert lines[1].split() == ["token"] * 5
    lines = table(_flow(np.zeros((1, 1, 5)), ["token"] * 5), 1, width=41).splitlines()
    assert re.split(" {2,}", lines[2]) == ["0 token", "0.000 0 token", "0.000 1 token"]


def test_without_token_names_the_position_is_printed_once() -> None:
    names = [str(i) for i in range(40)]
    whole = table(_flow(np.zeros((1, 40, 40)), names), 1, width=None).splitlines()
    assert whole[2].split() == ["0", *["0.000"] * 40]
    cut = table(_flow(np.zeros((1, 40, 40)), names), 1, width=80).splitlines()
    assert re.split(" {2,}", cut[2])[:2] == ["0", "0.000 0"]


def test_columns_line_up_under_wide_characters() -> None:
    from rich.cells import cell_len

    scores = np.array([[[0.5, 0.5], [0.5, 0.5]]])
    lines = table(_flow(scores, ["注意力注意力", "key"]), 1, width=80).splitlines()[1:]
    assert len({cell_len(line) for line in lines}) == 1


@pytest.mark.parametrize(
    ("token", "shown"), [("a\nb", "a⏎b"), ("\x1b[31m", r"\x1b[31m"), ("<s>", "<s>")]
)
def test_a_token_cannot_break_the_table_or_steer_the_terminal(token: str, shown: str) -> None:
    lines = table(_flow(np.ones((1, 1, 1)), [token]), 1, width=80).splitlines()
    assert len(lines) == 3
    assert lines[1].strip() == shown


def test_the_note_names_the_saturated_layers_and_what_this_means() -> None:
    result = _flow(np.ones((3, 2, 2)), ["a", "b"], saturated=(False, True, True))
    assert flow_note(result) == (
        "Saturated: layers 2, 3. There every query has the same scores, "
        "so they say nothing about the query."
    )


def test_the_note_says_how_many_queries_were_compared() -> None:
    result = _flow(np.ones((1, 2, 3)), ["a", "b", "c"], saturated=(True,))
    assert flow_note(result) == (
        "Saturated: layer 1. There the 2 queries computed have the same scores, "
        "so they say nothing about the query."
    )


def test_the_note_on_one_query_compares_nothing() -> None:
    result = _flow(np.ones((2, 1, 3)), ["a", "b", "c"], saturated=(False, True))
    assert flow_note(result) == (
        "At their ceiling: layer 2. Each score there is limited by the query or the token "
        "alone, and does not depend on the layers between."
    )
    assert flow_note(_flow(np.ones((2, 1, 3)), ["a", "b", "c"])) == ""


def test_the_note_says_when_no_layer_is_saturated() -> None:
    assert flow_note(_flow(np.ones((1, 2, 2)), ["a", "b"])) == "Saturated: no layer."


def test_the_note_names_the_flat_queries_and_their_layers() -> None:
    flat = np.array([[False, False, False], [True, False, False], [True, False, True]])
    fields = {"layers": range(1, 4), "queries": range(3), "method": "flow", "flat": flat}
    result = TokenAttention(np.ones((3, 3, 3)), ["[CLS]", "Ġa", "b"], **fields)  # pyright: ignore[reportArgumentType]
    first, second = flow_note(result).splitlines()
    assert first == "Saturated: no layer."
    assert second.startswith("Flat: query 0 [CLS] in layers 2, 3; 2 b in layer 3. There all other")


def test_the_note_names_some_of_many_flat_queries() -> None:
    fields = {"layers": [2], "queries": range(9), "method": "flow"}
    result = TokenAttention(
        np.ones((1, 9, 9)),
        map(str, range(9)),
        flat=np.ones((1, 9), dtype=bool),
        **fields,  # pyright: ignore[reportArgumentType]
    )
    assert "4 in layer 2; and 4 more. There" in flow_note(result)


def test_tokens_have_the_names_that_people_write() -> None:
    lines = table(_flow(np.ones((1, 2, 2)), ["key", "##s"]), 1, width=80).splitlines()
    assert lines[1].split() == ["key", "s"]
    assert lines[3].split()[:2] == ["1", "s"]


def test_rollout_has_no_note() -> None:
    result = TokenAttention(np.ones((1, 2, 2)), ["a", "b"], [1], [0, 1], "rollout")
    assert flow_note(result) == ""
