"""The example notebooks are kept with what they show, which a viewer without scripts can show."""

import ast
import base64
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from attnflow.types import random_attention
from attnflow.view import show
from attnflow.view._widget import Frame
from notebooks import (
    DOCS,
    NOTEBOOKS,
    WIDGET,
    assert_shows_the_same,
    code_cells,
    run_python,
    shown_by,
    text_of,
)

FIRST_LOOK = DOCS / "first-look.ipynb"
# Code that draws: the cell has a picture.
DRAWS = re.compile(r"^show\(|plot\.(bar|compare|image)\(|plt\.subplots\(", re.MULTILINE)
# Folders of a machine, and hosts; tags of HTML end with a slash before their name.
PATH = re.compile(r"(?<![\w<])/[\w.-]+/|[A-Z]:\\|~/")
HOST = re.compile(r"://|\bpypi\b|\blocalhost\b")

each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _pictures(notebook: Path) -> list[bytes]:
    shown = [one for cell in code_cells(notebook) for one in shown_by(cell)]
    return [base64.b64decode("".join(one["image/png"])) for one in shown if "image/png" in one]


def test_there_are_two_notebooks() -> None:
    assert [notebook.stem for notebook in NOTEBOOKS] == ["first-look", "real-models"]


@each_notebook
def test_every_cell_that_shows_something_is_kept_with_it(notebook: Path) -> None:
    cells = code_cells(notebook)
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    for cell in cells:
        shown = shown_by(cell)
        if isinstance(ast.parse(_source(cell)).body[-1], ast.Expr):
            assert shown, _source(cell)
        pictures = sum("image/png" in one for one in shown)
        assert pictures == bool(DRAWS.search(_source(cell))), _source(cell)


@each_notebook
def test_no_error_no_warning_and_no_widget_is_kept(notebook: Path) -> None:
    outputs = [output for cell in code_cells(notebook) for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {
        "display_data", "execute_result", "stream",
    }  # fmt: skip
    assert {output.get("name", "stdout") for output in outputs} == {"stdout"}
    # A widget without its process is shown as an error, and before the picture.
    assert not any(WIDGET in output.get("data", {}) for output in outputs)
    assert "widgets" not in json.loads(notebook.read_text(encoding="utf-8"))["metadata"]


@each_notebook
def test_outputs_name_no_folder_and_no_host(notebook: Path) -> None:
    texts = [text_of(shown) for cell in code_cells(notebook) for shown in shown_by(cell)]
    assert texts
    for text in texts:
        assert not PATH.search(text), text
        assert not HOST.search(text), text
        assert " at 0x" not in text


@pytest.mark.parametrize("text", ["/srv/x.pdf", "in '/root/a b/'", "C:\\Users", "~/x"])
def test_folders_are_recognised(text: str) -> None:
    assert PATH.search(text)


@pytest.mark.parametrize("text", ["https://a.example", "file:///opt", "from pypi", "localhost:1"])
def test_hosts_are_recognised(text: str) -> None:
    assert HOST.search(text)


@each_notebook
def test_notebooks_are_small_and_their_pictures_are_large_enough(notebook: Path) -> None:
    assert notebook.stat().st_size < 500_000
    pictures = _pictures(notebook)
    assert len(pictures) >= 3
    for picture in pictures:
        with Image.open(io.BytesIO(picture)) as image:
            assert image.format == "PNG"
            assert image.width >= 500
            assert image.height >= 200


@pytest.mark.slow
@each_notebook
def test_nbconvert_shows_the_pictures(notebook: Path) -> None:
    page = _converted(notebook.read_text(encoding="utf-8"))
    drawn = re.findall(r'<img[^>]*src="data:image/png;base64,([^"]*)"', page)
    assert [base64.b64decode(text) for text in drawn] == _pictures(notebook)


@pytest.mark.slow
def test_nbconvert_shows_the_picture_of_a_widget_that_is_gone() -> None:
    widget = show(random_attention(2, 2, 3))
    page = _converted(_notebook_with(widget._repr_mimebundle_()[0]))
    (drawn,) = re.findall(r'<img[^>]*src="data:image/png;base64,([^"]*)"', page)
    assert base64.b64decode(drawn) == widget.picture


@pytest.mark.slow
def test_nbconvert_shows_the_page_in_a_frame() -> None:
    page = _converted(_notebook_with({"text/html": Frame("<p>", b"PNG")._repr_html_()}))
    elements = Elements(page).found
    assert [found["srcdoc"] for tag, found in elements if tag == "iframe"] == ["<p>"]
    source = f"data:image/png;base64,{base64.b64encode(b'PNG').decode()}"
    assert [found["src"] for tag, found in elements if tag == "img"] == [source]


class Elements(HTMLParser):
    """Names of a page's elements, and what each was opened with."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def _notebook_with(data: dict[str, Any]) -> str:
    output = {"output_type": "execute_result", "execution_count": 1, "data": data, "metadata": {}}
    cell = {
        "cell_type": "code", "id": "a", "source": "show(a)", "outputs": [output],
        "execution_count": 1, "metadata": {},
    }  # fmt: skip
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _converted(notebook: str) -> str:
    """The notebook as nbconvert writes it as HTML."""
    nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not here")
    import nbformat

    page, _ = nbconvert.HTMLExporter().from_notebook_node(nbformat.reads(notebook, as_version=4))
    return page


@pytest.mark.slow
def test_the_first_look_runs_and_shows_what_is_kept(tmp_path: Path) -> None:
    copy = tmp_path / FIRST_LOOK.name
    _ = copy.write_bytes(FIRST_LOOK.read_bytes())
    options = ("-q", "-p", "no:cacheprovider", "--nbmake", "--overwrite", "--rootdir", tmp_path)
    run_python("-m", "pytest", *options, copy, folder=tmp_path)
    shown = [one for cell in code_cells(copy) for one in shown_by(cell)]
    views = [one for one in shown if WIDGET in one]
    assert len(views) == 3
    assert all("image/png" in one for one in views)
    assert any("text/html" in one and "cabinets" in str(one) for one in shown)
    assert_shows_the_same(copy, FIRST_LOOK)


@pytest.mark.slow
def test_the_script_keeps_a_widget_as_its_picture(tmp_path: Path) -> None:
    notebook = tmp_path / "small.ipynb"
    source = "import attnflow as af\nfrom attnflow.view import show\nprint('here')\n"
    source += "show(af.random_attention(2, 2, 3))"
    text = json.loads(_notebook_with({}))
    text["cells"][0] |= {"source": source, "outputs": [], "execution_count": None}
    _ = notebook.write_text(json.dumps(text), encoding="utf-8")
    run_python(DOCS / "run_notebooks.py", notebook, folder=tmp_path)
    (cell,) = code_cells(notebook)
    printed, view = shown_by(cell)
    assert text_of(printed).strip() == "here"
    assert {*view} == {"image/png", "text/plain"}
    assert _pictures(notebook)[0].startswith(b"\x89PNG")
