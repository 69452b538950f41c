"""A page with several edge weights: one control switches everything on it."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow.types import random_attention

METHODS = {"raw": af.raw, "rollout": af.rollout, "flow": af.flow}
TITLES = {"raw": "Raw weights", "rollout": "Rollout", "flow": "Flow"}
N = 9  # tokens of the attention that is shown


@pytest.fixture(scope="session")
def graphs(attention: af.Attention) -> dict[str, Any]:
    """Attention, and two graphs of the same tokens; rows of the last sum to more than one."""
    norms = random_attention(4, 1, N, seed=8).graph().layers
    gradient = [np.eye(N) + layer / 3 for layer in random_attention(4, 1, N, seed=9).graph().layers]
    made: dict[str, Any] = {"attention": attention}
    for name, layers, residual in (
        ("norms", norms, "measured"),
        ("value_zeroing", gradient, "identity"),
    ):
        settings = {"edges": name, "residual": residual}
        made[name] = af.AttentionGraph(
            layers, attention.tokens, settings=settings, origin=attention.origin
        )
    return made


def _control(seen: Any, name: str) -> Any:
    """The element inside a label; the text of a label contains the options too."""
    return seen.page.locator(f".control:has(> span:text-is('{name}'))").locator("select, input")


def _edges(seen: Any) -> Any:
    return _control(seen, "Edges")


def _choose(seen: Any, name: str) -> None:
    _ = _edges(seen).select_option(name)
    seen.settled()


def _saved(seen: Any, name: str) -> tuple[str, str]:
    with seen.page.expect_download() as waiting:
        seen.page.get_by_role("button", name=name, exact=True).click()
    content = Path(waiting.value.path()).read_text(encoding="utf-8")
    return waiting.value.suggested_filename, content


@pytest.mark.parametrize("name", ["norms", "value_zeroing"])
@pytest.mark.parametrize("method", METHODS)
def test_scores_are_those_of_python_with_these_edges(
    view: Any, graphs: Any, close: Any, name: str, method: str
) -> None:
    seen = view(graphs, state="layer=3&query=2")
    _choose(seen, name)
    assert close(seen.column(TITLES[method]), METHODS[method](graphs[name]).row(3, 2))
    _choose(seen, "attention")
    title = {"raw": "Raw attention", "rollout": "Attention rollout", "flow": "Attention flow"}
    assert close(seen.column(title[method]), METHODS[method](graphs["attention"]).row(3, 2))


@pytest.mark.parametrize("shown", ["graph", "heatmap"])
def test_pictures_and_legends_follow(view: Any, graphs: Any, shown: str) -> None:
    seen = view(graphs, state=f"view={shown}")

    def look() -> list[tuple[str, str]]:
        panels = [seen.panel(method) for method in METHODS]
        return [
            (p.locator(".inner").inner_html(), p.locator(".legend").inner_text()) for p in panels
        ]

    before = look()
    _choose(seen, "norms")
    for old, new in zip(before, look(), strict=True):
        assert old[0] != new[0]
        assert old[1] != new[1]
    _choose(seen, "attention")
    assert look() == before


def test_the_text_and_the_tooltip_follow(view: Any, graphs: Any) -> None:
    seen = view(graphs, state="view=text&query=1")
    _choose(seen, "norms")
    spans = seen.panel("rollout").locator(".token")
    expected = af.rollout(graphs["norms"]).row(4, 1)
    assert spans.nth(2).get_attribute("title") == f"{expected[2]:.3f}"
    _ = seen.page.get_by_role("radio", name="Graph").check(force=True)
    seen.settled()
    seen.hover("raw", 2, 4, N)
    row = af.raw(graphs["norms"]).row(2, 4)
    best = int(np.argmax(row))
    tip = seen.page.locator(".tooltip").inner_text()
    assert f"{graphs['norms'].tokens[best]} {row[best]:.3f}" in tip


def test_the_cut_of_a_pinned_pair_is_that_of_the_graph(view: Any, graphs: Any) -> None:
    seen = view(graphs, state="pin=3.1&sink=5")
    for name in graphs:
        _choose(seen, name)
        source: Any = graphs[name]
        graph = source.graph() if isinstance(source, af.Attention) else source
        value = af.max_flow(graph, source=(3, 1), sink=5).value
        assert f"Flow {value:.3f} = cut {value:.3f}." in seen.notes("flow")


def test_the_line_of_settings_names_the_edges(view: Any, graphs: Any) -> None:
    seen = view(graphs)
    start = "Layer 4, position 0 [CLS] · raw, rollout, flow · edges:"
    assert seen.caption() == f"{start} attention · mean of 3 heads · residual 0.5 · no sinks"
    _choose(seen, "norms")
    assert seen.caption() == f"{start} norms · residual measured"
    _choose(seen, "value_zeroing")
    assert seen.caption() == f"{start} value zeroing · residual identity"
    assert seen.panel("raw").locator(".method").inner_text() == "Raw weights"
    assert "Edge weights" in seen.panel("raw").locator(".description").inner_text()


def test_heads_and_residual_are_chosen_for_attention_only(
    view: Any, graphs: Any, close: Any
) -> None:
    seen = view(graphs, state="head=1&residual=0.25&layer=3&query=2")
    heads, residual = _control(seen, "Heads"), _control(seen, "Residual")
    reason = seen.page.get_by_text("Heads and residual can be chosen for attention only.")
    assert heads.is_visible()
    assert residual.is_visible()
    assert not reason.is_visible()
    _choose(seen, "norms")
    assert not heads.is_visible()
    assert not residual.is_visible()
    assert reason.is_visible()
    assert "head" not in seen.caption()
    assert close(seen.column("Rollout"), af.rollout(graphs["norms"]).row(3, 2))
    assert close(seen.column("Flow"), af.flow(graphs["norms"]).row(3, 2))
    _choose(seen, "attention")
    assert heads.input_value() == "1"
    assert "head 1 at this layer, mean of heads below · residual 0.25" in seen.caption()


def test_a_link_opens_the_edges(view: Any, graphs: Any, close: Any) -> None:
    seen = view(graphs)
    _choose(seen, "norms")
    assert seen.state() == "edges=norms"
    again = view(graphs, state="edges=norms&query=3")
    assert _edges(again).input_value() == "norms"
    assert close(again.column("Flow"), af.flow(graphs["norms"]).row(4, 3))
    unknown = view(graphs, state="edges=__proto__")
    assert _edges(unknown).input_value() == "attention"


def test_what_is_saved_says_what_the_edges_weigh(view: Any, graphs: Any, close: Any) -> None:
    seen = view(graphs, state="layer=2&query=4&edges=value_zeroing")
    name, svg = _saved(seen, "SVG")
    assert name == "attnflow-value_zeroing-graph-layer-2.svg"
    assert "edges: value zeroing · residual identity" in svg
    assert ">Raw weights<" in svg
    assert "Raw attention" not in svg
    name, text = _saved(seen, "CSV")
    assert name == "attnflow-value_zeroing-graph-layer-2.csv"
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 4 * N
    assert {row["edges"] for row in rows} == {"value_zeroing"}
    for method, function in METHODS.items():
        found = np.array([float(row[method]) for row in rows]).reshape(4, N)
        assert close(found, function(graphs["value_zeroing"]).scores[:, 4])


def test_words_and_selection_stay(view: Any, graphs: Any, close: Any) -> None:
    seen = view(graphs, state="words=1&layer=2&query=3")
    _choose(seen, "norms")
    expected = af.rollout(graphs["norms"]).to_words()
    word = expected.tokens.index("keys")
    assert close(seen.column("Rollout"), expected.row(2, word))
    assert seen.caption().startswith("Layer 2, word 2 keys")


def test_the_change_is_announced_and_the_keyboard_makes_it(view: Any, graphs: Any) -> None:
    seen = view(graphs)
    _edges(seen).focus()
    seen.page.keyboard.press("ArrowDown")
    seen.page.get_by_role("status").get_by_text("Edges: norms").wait_for(state="attached")
    assert "edges: norms" in seen.caption()


def test_a_page_of_attention_alone_has_no_choice_of_edges(view: Any, attention: Any) -> None:
    seen = view(attention)
    assert _edges(seen).count() == 0
    name, text = _saved(seen, "CSV")
    assert name == "attnflow-graph-layer-4.csv"
    assert text.startswith("layer,query,")


def test_a_page_of_other_edges_alone_names_them(view: Any, graphs: Any) -> None:
    seen = view(graphs["norms"])
    assert _edges(seen).count() == 0
    assert seen.caption().endswith("· edges: norms · residual measured")
    assert not seen.page.locator(".reason").is_visible()
    assert _saved(seen, "CSV")[0] == "attnflow-norms-graph-layer-4.csv"


def test_unfinished_work_of_other_edges_is_dropped(view: Any, close: Any) -> None:
    """Flow that Python did not compute is solved for the edges that are shown."""
    attention = random_attention(3, 2, 12, seed=3)
    graph = random_attention(3, 1, 12, seed=4).graph()
    seen = view({"attention": attention, "mine": graph}, flow_queries=[0], state="query=5")
    _choose(seen, "mine")
    seen.page.wait_for_function(
        """() => !document.querySelector("#attnflow > div").shadowRoot
            .querySelector(".table").textContent.includes("solving")"""
    )
    assert close(seen.column("Flow"), af.flow(graph).row(3, 5))


def test_a_narrow_page_has_the_control(view: Any, graphs: Any) -> None:
    seen = view(graphs, context={"viewport": {"width": 390, "height": 800}})
    _choose(seen, "norms")
    assert "edges: norms" in seen.caption()
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
