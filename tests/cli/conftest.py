import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from typer.testing import CliRunner, Result

from attnflow.cli._app import app
from attnflow.types import random_attention

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


def _on_terminal(
    command: list[str | Path], *, stream: Literal["stdout", "stderr"], env: dict[str, str]
) -> str:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        command,
        env=env,
        stdout=follower if stream == "stdout" else None,
        stderr=follower if stream == "stderr" else None,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:  # the end, as Linux reports it
            break
        if not part:
            break
        shown += part
    os.close(leader)
    assert process.wait() == 0
    return shown.decode()


@pytest.fixture
def on_terminal() -> Callable[..., str]:
    """Run a command with one of its streams on a terminal; gives what the terminal shows."""
    return _on_terminal
