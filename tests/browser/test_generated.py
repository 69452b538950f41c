"""Generated text: where it opens, how it is marked, and what wrote a token."""

from typing import Any

import pytest

import attnflow as af
from attnflow.types import random_attention

TEXT = "Rome is the capital of Italy now"
N, FIRST = 7, 5  # tokens, and the first that was generated


@pytest.fixture(scope="module")
def generated() -> af.Attention:
    weights = random_attention(3, 2, N, seed=6, causal=True).weights
    origin = af.Origin(text=TEXT, generated=N - FIRST)
    return af.Attention(weights, TEXT.split(), causal=True, origin=origin)


def test_it_opens_at_the_position_that_wrote_the_first_token(
    view: Any, close: Any, generated: af.Attention
) -> None:
    seen = view(generated, sinks="keep")
    assert seen.caption().startswith("Layer 3, position 4 of, which wrote position 5 Italy ·")
    expected = af.rollout(generated, receptive_field=True).row(3, 4)
    assert close(seen.column("Attention rollout"), expected)
    assert (
        "Click a generated token to see what wrote it." in seen.page.locator(".help").inner_text()
    )


def test_the_output_is_marked(view: Any, generated: af.Attention) -> None:
    seen = view(generated, state="view=text")
    marked = seen.panel("rollout").locator(".token.generated")
    assert marked.all_inner_texts() == ["Italy", "now"]
    assert seen.panel("rollout").locator(".token.written").inner_text() == "Italy"
    assert "generated" in seen.panel("rollout").locator(".legend").inner_text()


def test_a_click_on_a_generated_token_shows_what_wrote_it(
    view: Any, generated: af.Attention
) -> None:
    seen = view(generated, state="view=text")
    seen.panel("rollout").locator(".token", has_text="now").click()
    seen.settled()
    assert seen.caption().startswith("Layer 3, position 5 Italy, which wrote position 6 now ·")
    assert seen.panel("rollout").locator(".token.selected").inner_text() == "Italy"
    assert "now, from layer 3, Italy" in seen.page.locator(".tooltip").inner_text()
    seen.panel("rollout").locator(".token", has_text="capital").click()
    seen.settled()
    assert seen.caption().startswith("Layer 3, position 3 capital ·")


def test_so_does_a_click_in_the_graph(view: Any, generated: af.Attention) -> None:
    seen = view(generated)
    line = seen.panel("rollout").locator(".inner svg line[stroke='#0072b2']")
    assert line.count() == 1  # along the labels of the output
    seen.click("rollout", 0, 6, N)
    assert seen.state() == "query=5"
    assert seen.caption().startswith("Layer 3, position 5 Italy, which wrote position 6 now ·")
    bold = seen.panel("rollout").locator(".inner svg text[font-weight='600']")
    assert bold.all_text_contents() == ["3", "now"]
    seen.page.locator("input[value=heatmap]").check(force=True)
    seen.settled()
    assert bold.all_text_contents() == ["3", "now"]
    seen.page.locator("input[value=graph]").check(force=True)
    seen.settled()
    seen.click("rollout", 0, 1, N)  # not generated: it is pinned
    assert "pin=0.1" in seen.state()


def test_a_page_of_a_prompt_alone_marks_nothing(view: Any, attention: Any) -> None:
    seen = view(attention, state="view=text")
    assert seen.page.locator(".token.generated").count() == 0
    assert "wrote" not in seen.page.locator(".help").inner_text()
