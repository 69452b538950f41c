"""The pictures of the documentation are there, are shown, and are what the scripts draw."""

import base64
import re
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from attnflow import paper, plot

DOCS = Path(__file__).parents[2] / "docs"
SHOWN = {
    f"{page.name}: {name}": name
    for page in DOCS.glob("*.md")
    for name in re.findall(r"!\[.*?\]\((figures/.*?)\)", page.read_text(encoding="utf-8"))
}
# A script → what it draws; a page taken by a browser differs with the browser.
DRAWN = {
    "docs/draw_figures.py": ["figure-1.svg", "figure-2.svg", "figure-3.svg", "max-flow.svg",
                             "bar.svg", "matrix.svg", "correlation.svg"],
    "docs/draw_page.py": ["page.png"],
    "benchmarks/edge_grid_figure.py": ["edge-grid.svg"],
}  # fmt: skip


def test_every_picture_is_shown_and_no_other() -> None:
    files = sorted(f"figures/{path.name}" for path in (DOCS / "figures").iterdir())
    assert sorted(set(SHOWN.values())) == files


def test_every_picture_has_a_script_that_draws_it() -> None:
    drawn = [f"figures/{name}" for names in DRAWN.values() for name in names]
    assert sorted(drawn) == sorted(set(SHOWN.values()))
    assert [script for script in DRAWN if not (DOCS.parent / script).is_file()] == []


@pytest.mark.slow
def test_a_picture_is_what_is_drawn_today(tmp_path: Path) -> None:
    kept = (DOCS / "figures" / "figure-2.svg").read_text(encoding="utf-8")
    if f"Matplotlib v{mpl.__version__}," not in kept:
        pytest.skip(f"does not apply: the picture was not drawn by matplotlib {mpl.__version__}")
    shipped = paper.load()
    drawing = paper.figure_2(shipped.model, shipped.tokenizer)
    plot.save(drawing.figure, tmp_path / "figure-2.svg")
    _assert_same((tmp_path / "figure-2.svg").read_text(encoding="utf-8"), kept)


def _image(pixels: NDArray[np.uint8]) -> str:
    file = BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return f"data:image/png;base64,\n{base64.b64encode(file.getvalue()).decode()}"


GREY = np.full((20, 30, 4), 128, dtype=np.uint8)
PICTURE = f"""<svg xmlns:xlink="http://www.w3.org/1999/xlink">
<path id="one" d="M 1 2" style="fill: #102030"/><use x="2.5" xlink:href="#one"/>
<image xlink:href="{_image(GREY)}"/><text>Text</text></svg>"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('x="2.5"', 'x="2.500004"'),
        ("#102030", "#112030"),
        ("one", "two"),  # an id, both where it is set and where it is used
        (_image(GREY), _image(GREY + np.uint8(1))),
    ],
)
def test_an_invisible_difference_is_ignored(old: str, new: str) -> None:
    assert old in PICTURE
    _assert_same(PICTURE.replace(old, new), PICTURE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('x="2.5"', 'x="2.6"'),
        ('x="2.5"', 'y="2.5"'),
        ("#102030", "#102040"),
        ("M 1 2", "M 1 2 L 3 4"),
        ("M 1 2", "L 1 2"),
        ("Text", "text"),
        ("<text>Text</text>", ""),
        ('"#one"/>', '"#other"/>'),
        (_image(GREY), _image(GREY + np.uint8(30))),
        (_image(GREY), _image(GREY[1:])),
    ],
)
def test_a_difference_that_can_be_seen_is_found(old: str, new: str) -> None:
    assert old in PICTURE
    with pytest.raises(AssertionError):
        _assert_same(PICTURE.replace(old, new), PICTURE)


# ---- pictures as geometry -------------------------------------------------------------------

_VALUE = re.compile(
    r"#(?P<colour>[0-9a-f]{6})(?![\w-])|#(?P<id>[\w-]+)|"
    r"(?P<image>data:image/png;base64,.*)|[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?",
    re.DOTALL,
)


class Geometry(NamedTuple):
    """An SVG picture, its numbers apart from its text."""

    structure: list[str]
    coordinates: list[float]
    colours: list[int]
    images: list[NDArray[np.int64]]


def _parsed(svg: str) -> Geometry:
    """Parse a picture; an id, which matplotlib makes from digits not drawn, becomes a number."""
    parsed, ids = Geometry([], [], [], []), dict[str, str]()

    def sort(value: re.Match[str]) -> str:
        if value["id"]:
            return ids.setdefault(value["id"], f"id-{len(ids)}")
        if value["colour"]:
            parsed.colours.extend(bytes.fromhex(value["colour"]))
            return "colour"
        if value["image"]:
            with Image.open(BytesIO(base64.b64decode(value[0].partition(",")[2]))) as image:
                parsed.images.append(np.asarray(image).astype(np.int64))
            return "image"
        parsed.coordinates.append(float(value[0]))
        return "number"

    for element in ET.fromstring(svg).iter():  # noqa: S314 (pictures drawn here)
        parsed.structure.append(f"{element.tag}: {(element.text or '').strip()}")
        for name, value in element.attrib.items():
            text = _VALUE.sub(sort, f"#{value}" if name == "id" else value)
            parsed.structure.append(f"{element.tag} {name}={text}")
    return parsed


def _assert_same(drawn: str, kept: str) -> None:
    """Assert that two pictures differ by rounding only: coordinates, colours and pixels."""
    one, other = _parsed(drawn), _parsed(kept)
    assert one.structure == other.structure
    # Tolerances are chosen: a thousandth of a point, two of the 256 steps of a colour.
    assert one.coordinates == pytest.approx(other.coordinates, rel=0, abs=1e-3)
    assert one.colours == pytest.approx(other.colours, rel=0, abs=2)
    for image, kept_image in zip(one.images, other.images, strict=True):
        assert image.shape == kept_image.shape
        # The edge of a cell, rounded to a pixel, may be one pixel away.
        assert (np.abs(image - kept_image).max(axis=-1) > 2).mean() <= 0.005
