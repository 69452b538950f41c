"""`--layout`: the blocks of a model of an unknown family, described in a file."""

import copy
import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from attnflow import paper
from attnflow.edges import BlockLayout

Run = Callable[..., Result]
LAYOUT = BlockLayout("attn", "attn.c_proj", "ln_2", norm_first=True)


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands load a copy of the shipped model whose family is in no table."""
    shipped = paper.load()
    model: Any = copy.deepcopy(shipped.model)
    model.config.model_type = "another"
    renamed = dataclasses.replace(shipped, model=model)
    for command in ("_explain", "_view", "_evaluate"):
        monkeypatch.setattr(f"attnflow.cli.{command}.loaded_model", lambda *_: renamed)


@pytest.mark.usefixtures("unknown")
@pytest.mark.parametrize("command", ["explain", "view", "evaluate"])
def test_commands_take_the_layout_of_a_model_of_an_unknown_family(
    run: Run, tmp_path: Path, command: str
) -> None:
    text, data, layout = "the key to the cabinets", tmp_path / "texts.txt", tmp_path / "l.json"
    _ = data.write_text(text, encoding="utf-8")
    _ = layout.write_text(json.dumps(dataclasses.asdict(LAYOUT)), encoding="utf-8")
    arguments = {
        "explain": ("explain", text),
        "view": ("view", text, "--target", "plural", "--out", tmp_path / "page.html"),
        "evaluate": ("evaluate", "mine", data, "--layers", "2", "--out", tmp_path / "run"),
    }[command]
    failed = run(*arguments, "--edges", "norms")
    assert failed.exit_code == 1
    assert "in a JSON file with the fields of a BlockLayout (--layout FILE)" in failed.stderr
    done = run(*arguments, "--edges", "norms", "--layout", layout)
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: .*No such file"),
        ("{", "cannot be read: Expecting property name"),
        ("[]", r"expected a JSON object with attention, output, norm, norm_first, .*, got \[\]"),
        ('{"attention": "attn"}', "of which attention, norm, output are required, got"),
        ('{"attention": "a", "output": "b", "norm": "c", "bias": "d"}', "expected a JSON object"),
        (
            '{"attention": "a", "output": "b", "norm": 3}',
            "BlockLayout: norm must be the name of a module inside a block, .* got 3",
        ),
    ],
)
def test_a_file_that_describes_no_layout_is_an_error_before_any_work(
    run: Run, tmp_path: Path, content: str | None, message: str
) -> None:
    layout = tmp_path / "l.json"
    if content is not None:
        _ = layout.write_text(content, encoding="utf-8")
    result = run(
        "explain", "the key", "--model", "no model", "--edges", "norms", "--layout", layout
    )
    assert result.exit_code == 2
    assert re.search(f"--layout.*{message}", " ".join(result.stderr.split()))


@pytest.mark.parametrize("edges", ["attention", "gradient"])
def test_a_layout_that_edges_do_not_need_is_an_error(run: Run, tmp_path: Path, edges: str) -> None:
    layout, data, page = (tmp_path / name for name in ("l.json", "texts.txt", "page.html"))
    _ = layout.write_text(json.dumps(dataclasses.asdict(LAYOUT)), encoding="utf-8")
    for command in (
        ("explain", "the key"),
        ("view", "the key", "--out", page),
        ("evaluate", "verb-number", data, "--out", tmp_path / "run"),
    ):
        result = run(*command, "--edges", edges, "--layout", layout)
        assert result.exit_code == 2
        assert f"has no meaning with --edges {edges}" in " ".join(result.stderr.split())
