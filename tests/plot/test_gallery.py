"""The page of pictures shows files that are there, and its script draws them."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
SHOWN = re.findall(r"!\[.*?\]\((.*?)\)", (DOCS / "figures.md").read_text(encoding="utf-8"))


def test_every_picture_is_there_and_no_other() -> None:
    assert len(SHOWN) >= 5
    assert sorted(SHOWN) == sorted(f"figures/{path.name}" for path in (DOCS / "figures").iterdir())


def test_the_script_draws_every_picture() -> None:
    script = (DOCS / "draw_figures.py").read_text(encoding="utf-8")
    assert [name for name in SHOWN if Path(name).stem not in script] == []
