"""Grids of images, names of layers and of narrow columns, the place of the tooltip."""

import re
from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow.types import Grid, random_attention


@pytest.fixture(scope="module")
def image() -> af.Attention:
    weights = random_attention(3, 2, 13, seed=7).weights
    tokens = ["[CLS]", *(f"{row},{column}" for row in range(3) for column in range(4))]
    return af.Attention(weights, tokens, origin=af.Origin(grid=Grid(3, 4, prefix=1)))


def test_an_image_opens_as_a_grid(view: Any, image: af.Attention) -> None:
    seen = view(image, sinks="keep")
    cells = seen.panel("rollout").locator(".inner svg rect[fill-opacity]")
    assert cells.count() == 13
    boxes = [cells.nth(at).bounding_box() for at in range(13)]
    assert len({round(box["y"]) for box in boxes[1:]}) == 3  # rows
    assert len({round(box["x"]) for box in boxes[1:]}) == 4  # columns
    strongest = int(np.argmax(af.rollout(image).row(3, 0)[1:])) + 1
    opacity = cells.evaluate_all("(all) => all.map((e) => Number(e.getAttribute('fill-opacity')))")
    assert max(range(1, 13), key=lambda at: opacity[at]) == strongest


def test_a_patch_is_hovered_over_and_selected(view: Any, image: af.Attention, close: Any) -> None:
    seen = view(image, sinks="keep")
    patch = seen.panel("rollout").locator(".inner svg rect[fill-opacity]").nth(6).bounding_box()
    where = patch["x"] + patch["width"] / 2, patch["y"] + patch["height"] / 2
    seen.page.mouse.move(*where)
    seen.settled()
    assert "1,1, from layer 3, [CLS]" in seen.page.locator(".tooltip").inner_text()
    seen.page.mouse.click(*where)
    seen.settled()
    assert seen.state() == "query=6"
    assert close(seen.column("Attention rollout"), af.rollout(image).row(3, 6))


def test_a_text_has_no_grid(view: Any, attention: Any) -> None:
    seen = view(attention, state="view=grid")
    assert seen.page.locator("input[value=grid]").count() == 0
    assert seen.page.locator(".attnflow").get_attribute("data-view") == "graph"


def test_layers_of_an_encoder_decoder_have_names(view: Any) -> None:
    encoder = random_attention(2, 2, 5, seed=1).weights
    decoder = random_attention(1, 2, 4, seed=2, causal=True).weights
    cross = random_attention(1, 2, 5, seed=3).weights[:, :, :4]
    both = af.EncoderDecoderAttention(encoder, decoder, cross, [*"abcde"], [*"vwxy"])
    seen = view(both, state="methods=rollout")
    texts = seen.panel("rollout").locator(".inner svg text").all_text_contents()
    names = ["input", "encoder 1", "encoder 2", "decoder 1 self", "decoder 1 cross"]
    assert texts[:5] == names
    assert seen.caption().startswith("Layer 4 (decoder 1 cross), position 8 y ·")
    seen.hover("rollout", 1, 2, 9)
    assert "encoder 1, c" in seen.page.locator(".tooltip").inner_text()
    # They stay inside the picture, the bold one of the selected layer too; short ones on a phone.
    narrow = view(both, context={"viewport": {"width": 360, "height": 740}})
    for page, text in ((seen, "decoder 1 cross"), (narrow, "d1 cross")):
        name = page.panel("rollout").locator(".inner svg text", has_text=text)
        frame = page.panel("rollout").locator(".inner svg").bounding_box()
        assert name.bounding_box()["x"] >= frame["x"]


def test_names_that_are_no_text_stay_on_one_line(view: Any) -> None:
    attention = random_attention(1, 1, 60, tokens=[f"name{at}" for at in range(60)])
    seen = view(attention, state="view=text", context={"viewport": {"width": 700, "height": 740}})
    lines = (
        seen.panel("rollout")
        .locator(".token")
        .evaluate_all("(all) => all.map((token) => token.getClientRects().length)")
    )
    assert lines == [1] * 60


def test_narrow_columns_show_generated_tokens_where_there_is_space(modules: Any) -> None:
    found = modules.evaluate(
        """async () => {
            const { panelLayout } = await import("/draw/layout.js");
            const { tokenLabels } = await import("/draw/axes.js");
            const names = [...Array(40).keys()].map((at) => `t${at}`);
            const layout = panelLayout({
                width: 300, rows: [0, 1, 2], size: () => 40, names, tracks: 0, zoom: 1,
                cells: false, generated: 20, layerNames: null,
            });
            const scores = Float64Array.from(names, (_, at) => (at < 20 ? 1 : 0));
            return tokenLabels(layout, new Set(), scores).flatMap(({ text }) => text ?? []);
        }"""
    )
    assert found[0] == "t0"
    assert len([name for name in found if int(name[1:]) >= 20]) >= 5


def test_narrow_columns_show_the_names_of_the_strongest(modules: Any) -> None:
    scores = np.random.default_rng(3).random(120)
    scores[[40, 41, 90]] = [3.0, 2.0, 1.5]  # two neighbours, whose labels would touch
    found = modules.evaluate(
        """async (scores) => {
            const { panelLayout } = await import("/draw/layout.js");
            const { tokenLabels } = await import("/draw/axes.js");
            const names = scores.map((_, at) => `t${at}`);
            const layout = panelLayout({
                width: 500, rows: [0, 1, 2], size: () => 120, names, tracks: 0, zoom: 1,
                cells: false, generated: 0, layerNames: null,
            });
            const labels = tokenLabels(layout, new Set([5]), Float64Array.from(scores));
            return labels.map(({ text, x, size }) => ({ text, x, size }));
        }""",
        scores.tolist(),
    )
    texts = [label["text"] for label in found]
    assert texts[:2] == ["t5", "t40"]  # the highlighted one, then the strongest
    assert "t90" in texts
    assert "t41" not in texts
    assert 10 < len(texts) <= 40
    places = sorted(label["x"] for label in found)
    assert np.diff(places).min() > found[0]["size"]


@pytest.mark.parametrize("shown", ["graph", "heatmap"])
@pytest.mark.parametrize("count", [60, 80, 112, 300])
def test_names_of_columns_do_not_touch(view: Any, shown: str, count: int) -> None:
    tokens = [f"token{at}" for at in range(count)]
    attention = random_attention(1, 1, count, tokens=tokens)
    # An exported figure has the same names as elements.
    seen = view(attention, state=f"view={shown}&methods=rollout")
    with seen.page.expect_download() as saved:
        seen.page.get_by_role("button", name="SVG").click()
    figure = saved.value.path().read_text(encoding="utf-8")
    found = re.findall(r'<text x="([\d.]+)"[^>]*font-size="([\d.]+)"[^>]*>token\d+</text>', figure)
    assert len(found) >= 20
    assert np.diff(sorted(float(x) for x, _ in found)).min() > float(found[0][1])


def _covered(seen: Any) -> tuple[int, float, int]:
    """Return the number of edges of the cut, the width of the tooltip, how many edges it covers."""
    return tuple(
        seen.panel("flow")
        .locator(".inner svg")
        .evaluate(
            """(svg) => {
            const root = svg.getRootNode();
            const tip = root.querySelector(".tooltip").getBoundingClientRect();
            const dashed = [...svg.querySelectorAll("line[stroke-dasharray]")];
            const matrix = svg.getScreenCTM();
            const point = (line, end) => new DOMPoint(
                line[`x${end}`].baseVal.value, line[`y${end}`].baseVal.value,
            ).matrixTransform(matrix);
            const inside = ({ x, y }) =>
                x > tip.left && x < tip.right && y > tip.top && y < tip.bottom;
            const along = (a, b, t) => ({ x: a.x + t * (b.x - a.x), y: a.y + t * (b.y - a.y) });
            const steps = [...Array(41).keys()].map((at) => at / 40);
            const count = dashed.filter((line) => {
                const [a, b] = [point(line, 1), point(line, 2)];
                return steps.some((t) => inside(along(a, b, t)));
            }).length;
            return [dashed.length, tip.width, count];
        }"""
        )
    )


@pytest.mark.parametrize("sink", [1, 4, 7])
def test_the_tooltip_never_covers_the_cut(view: Any, attention: Any, sink: int) -> None:
    seen = view(attention, state=f"layer=3&pin=3.5&sink={sink}")
    for layer, node in ((1, 1), (1, 7), (2, 4), (3, 8), (4, 5), (0, 6)):
        seen.hover("flow", layer, node, 9)
        edges, width, covered = _covered(seen)
        assert edges > 0
        assert width > 0
        assert covered == 0, (layer, node)


@pytest.mark.parametrize("sink", [1, 4, 7])
def test_nor_does_the_one_that_is_there_when_a_click_shows_the_cut(
    view: Any, attention: Any, sink: int
) -> None:
    seen = view(attention, state="layer=3&pin=3.5")
    seen.hover("flow", 0, sink, 9)
    assert "from layer 3, on" in seen.page.locator(".tooltip").inner_text()
    seen.click("flow", 0, sink, 9)
    edges, width, covered = _covered(seen)
    assert edges > 0
    assert width > 0
    assert covered == 0


def test_the_tooltip_follows_a_click_and_what_is_solved(view: Any, image: af.Attention) -> None:
    seen = view(image, state="view=text")
    patch = seen.panel("rollout").locator(".token", has_text="1,1")
    patch.hover()
    seen.settled()
    tip = seen.page.locator(".tooltip")
    assert "1,1, from layer 3, [CLS]" in tip.inner_text()
    patch.click()
    seen.settled()
    assert "1,1, from layer 3, 1,1" in tip.inner_text()
    long = view(random_attention(6, 1, 160), state="view=graph&methods=flow", flow_queries=0)
    box = long.panel("flow").locator(".inner").bounding_box()
    long.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    long.page.locator(".tooltip", has_text=re.compile(r"flow .* 0\.\d")).wait_for()
