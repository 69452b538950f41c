"""Run notebooks and keep what they show: `python docs/run_notebooks.py docs/first-look.ipynb …`.

Widgets are kept as their pictures, because they need the process that made them, and photographs
with 256 colours, in a third of the space. Needs nbclient, ipykernel and pillow; docs/notebooks.md
says what else a notebook needs.
"""

import base64
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

_FORMAT: Any = nbformat  # which has no types
_WIDGET = "application/vnd.jupyter.widget-view+json"
# Characters in base64. Chosen: only photographs have more; figures keep the colours of their scale.
_LARGE = 250_000


def main(path: Path) -> None:
    """Run the notebook at `path`, in a folder of its own, and write it with its outputs."""
    notebook = _FORMAT.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=None,
            store_widget_state=False,
            record_timing=False,
            resources={"metadata": {"path": folder}},
        )
        _ = client.execute()
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if _kept(output)]
    notebook.metadata.language_info = {"name": "python"}  # without the version that ran it
    _FORMAT.write(notebook, path)


def _kept(output: Any) -> bool:
    """Return whether an output is kept, and leave in it what needs no process.

    A widget without a picture, such as a progress bar, is not kept.
    """
    data = output.get("data", {})
    is_widget = data.pop(_WIDGET, None) is not None
    if len(data.get("image/png", "")) > _LARGE:
        data["image/png"] = _with_few_colours(data["image/png"])
    return "image/png" in data or not is_widget


def _with_few_colours(picture: str) -> str:
    out = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        image.convert("RGB").quantize(256).save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        main(Path(name))
