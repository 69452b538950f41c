import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attnflow.cli import _loading, _progress
from attnflow.maxflow import load_kernels

OnTerminal = Callable[..., str]
# The bar or the line comes from a timer. `wait_shown` returns when it has come, and `wait_timer`
# when it has come or is cancelled: nothing depends on how long the steps take.
WORK = """
import threading
from attnflow.cli import _progress
later, shown = _progress._later, threading.Event()
def later_and_note(seconds, action):
    return later(seconds, lambda: (action(), shown.set()))
def wait_shown():
    assert shown.wait(60)
def wait_timer():
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()
_progress._later = later_and_note
with _progress.progress_bar("attention flow", bar_after={after}, line_after={after}) as progress:
    {steps}
"""
SIZE = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}
SOON, NEVER = 0.01, 3600.0  # seconds
# Longer than the first step takes; a passing test does not wait for it.
AFTER_THE_FIRST_STEP = 10.0


def _work(after: float, *steps: str) -> list[str]:
    return [sys.executable, "-c", WORK.format(after=after, steps="; ".join(steps))]


def _no_kernels(folder: Path) -> dict[str, str]:
    """An environment as after an installation, with no compiled kernels."""
    return {"NUMBA_CACHE_DIR": str(folder)}


def test_a_bar_appears_on_a_terminal_when_work_takes_long(on_terminal: OnTerminal) -> None:
    work = _work(SOON, "progress(0, 4)", "wait_shown()", "progress(1, 4)")
    shown = on_terminal(work, stream="stderr", env=SIZE)
    assert "attention flow" in shown
    assert "25%" in shown


def test_until_the_first_report_the_bar_says_what_may_take_so_long(
    on_terminal: OnTerminal, tmp_path: Path
) -> None:
    work = _work(SOON, "wait_shown()", "progress(0, 4)")
    shown = on_terminal(work, stream="stderr", env=SIZE | _no_kernels(tmp_path))
    assert "compiling (once per installation)" in shown
    assert shown.index("compiling") < shown.index("attention flow")


def test_nothing_is_said_to_be_compiled_where_compiled_kernels_are_on_disk(
    on_terminal: OnTerminal,
) -> None:
    load_kernels(1)
    work = _work(SOON, "wait_shown()", "progress(0, 4)")
    shown = on_terminal(work, stream="stderr", env=SIZE)
    assert "starting" in shown
    assert "compiling" not in shown


def test_no_bar_appears_when_work_is_quick(on_terminal: OnTerminal) -> None:
    work = _work(NEVER, "progress(0, 4)", "progress(3, 4)")
    assert on_terminal(work, stream="stderr", env=SIZE) == ""


@pytest.mark.parametrize(
    ("after", "steps", "written"),
    [
        (
            SOON,
            ["wait_shown()", "progress(0, 4)"],
            "attention flow: compiling (once per installation)",
        ),
        # The work goes on after that, but it has begun to report.
        (AFTER_THE_FIRST_STEP, ["progress(0, 4)", "wait_timer()", "progress(1, 4)"], ""),
        (NEVER, ["progress(0, 4)"], ""),
    ],
)
def test_without_a_terminal_a_line_reports_a_long_start(
    after: float, steps: list[str], written: str, tmp_path: Path
) -> None:
    result = subprocess.run(
        _work(after, *steps),
        capture_output=True,
        text=True,
        check=True,
        env=SIZE | _no_kernels(tmp_path),
    )
    assert result.stderr.count("\n") == bool(written)
    assert result.stderr.startswith(written)
    assert result.stdout == ""


def test_without_a_terminal_long_work_writes_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("attnflow.cli._progress._LINE_EVERY", 0.0)
    with _progress.progress_bar("sentences", line_after=NEVER) as progress:
        progress(640, 2000)
        progress(2000, 2000)
    assert capsys.readouterr().err == "sentences: 640 of 2,000\n"


def test_only_a_model_of_the_hub_may_be_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []

    def note(_label: str, *, starting_line: str, **_: object) -> None:
        lines.append(starting_line)

    monkeypatch.setattr(_loading, "progress_bar", note)
    file = tmp_path / "model.gguf"
    file.touch()
    for name in (None, "verb-number", str(tmp_path), str(file)):
        _ = _loading.loading("explaining", name)
    assert lines == ["loading the model"] * 4
    for name in ("nobody/nothing", "n" * 5000):
        _ = _loading.loading("explaining", name)
    assert len(lines) == 6
    assert all("downloaded if" in line for line in lines[4:])
