"""The pictures of the documentation are there, are shown, and are what the scripts draw."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest

from attnflow import paper, plot

DOCS = Path(__file__).parents[2] / "docs"
SHOWN = {
    f"{page.name}: {name}": name
    for page in DOCS.glob("*.md")
    for name in re.findall(r"!\[.*?\]\((figures/.*?)\)", page.read_text(encoding="utf-8"))
}
# A script beside the pages → what it draws; a page taken by a browser differs with the browser.
DRAWN = {
    "draw_figures.py": ["figure-1.svg", "figure-2.svg", "figure-3.svg", "max-flow.svg",
                        "correlation.svg"],
    "draw_page.py": ["page.png"],
}  # fmt: skip


def test_every_picture_is_shown_and_no_other() -> None:
    files = sorted(f"figures/{path.name}" for path in (DOCS / "figures").iterdir())
    assert sorted(set(SHOWN.values())) == files


def test_every_picture_has_a_script_that_draws_it() -> None:
    drawn = [f"figures/{name}" for names in DRAWN.values() for name in names]
    assert sorted(drawn) == sorted(set(SHOWN.values()))
    assert [script for script in DRAWN if not (DOCS / script).is_file()] == []


def test_a_picture_is_what_is_drawn_today(tmp_path: Path) -> None:
    kept = (DOCS / "figures" / "figure-2.svg").read_text(encoding="utf-8")
    if f"Matplotlib v{mpl.__version__}," not in kept:
        pytest.skip(f"the picture was drawn by another matplotlib than {mpl.__version__}")
    shipped = paper.load()
    drawing = paper.figure_2(shipped.model, shipped.tokenizer)
    plot.save(drawing.figure, tmp_path / "figure-2.svg")
    drawn = (tmp_path / "figure-2.svg").read_text(encoding="utf-8")
    assert _without_ids(drawn) == _without_ids(kept)


def _without_ids(svg: str) -> str:
    """A picture without the names of its parts, which are made of digits that are not drawn."""
    return re.sub(r'(id="|\(#|href="#)\w+', r"\1", svg)
