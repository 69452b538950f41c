from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from attnflow.cli._app import app
from attnflow.synthetic import random_attention

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process; what is not an exit code is raised here."""
    monkeypatch.setenv("COLUMNS", "100")

    def invoke(*arguments: object) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def attention_file(tmp_path: Path) -> Path:
    """Four tokens, three layers, two heads."""
    path = tmp_path / "attention.npz"
    random_attention(3, 2, 4, seed=1, tokens=["[CLS]", "the", "key", "the"]).save(path)
    return path
