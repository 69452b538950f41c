import os
import subprocess
import sys
from collections.abc import Callable

import pytest

OnTerminal = Callable[..., str]
WORK = """
import time
from attnflow.cli._progress import progress_bar
with progress_bar("attention flow", bar_after={after}, line_after={after}) as progress:
    time.sleep({silent})
    for done in range(4):
        progress(done, 4)
        time.sleep({step})
"""
SIZE = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}


def _work(*, after: float, silent: float, step: float = 0.05) -> list[str]:
    return [sys.executable, "-c", WORK.format(after=after, silent=silent, step=step)]


def test_a_bar_appears_on_a_terminal_when_work_takes_long(on_terminal: OnTerminal) -> None:
    shown = on_terminal(_work(after=0.01, silent=0.0), stream="stderr", env=SIZE)
    assert "attention flow" in shown
    assert "%" in shown


def test_until_the_first_report_the_bar_says_what_may_take_so_long(
    on_terminal: OnTerminal,
) -> None:
    shown = on_terminal(_work(after=0.01, silent=1), stream="stderr", env=SIZE)
    assert "starting (the first run compiles)" in shown
    assert shown.index("starting") < shown.index("attention flow")


def test_no_bar_appears_when_work_is_quick(on_terminal: OnTerminal) -> None:
    assert on_terminal(_work(after=30, silent=0.0), stream="stderr", env=SIZE) == ""


@pytest.mark.parametrize(
    ("after", "silent", "step", "written"),
    [
        (0.1, 2, 0, "attention flow: starting; the first run after installing compiles"),
        (1, 0, 0.3, ""),  # the work goes on after that, but it has begun to report
        (30, 0, 0, ""),
    ],
)
def test_without_a_terminal_a_line_reports_a_long_start(
    after: float, silent: float, step: float, written: str
) -> None:
    command = _work(after=after, silent=silent, step=step)
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr.count("\n") == bool(written)
    assert result.stderr.startswith(written)
    assert result.stdout == ""
