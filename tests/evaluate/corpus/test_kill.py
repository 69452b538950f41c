"""A run that is killed at any moment, again and again, ends with the bytes of an unbroken one."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from stand_in import contents, run_stand_in, write_texts

HERE = Path(__file__).parent
# Counts the lines of the package and of the files it writes with, and is killed before one of them:
# a moment that does not depend on the machine.
PROGRAM = """
import os, signal, sys
sys.path.insert(0, {here!r})
from pathlib import Path
from stand_in import run_stand_in

lines, last = 0, {last}

def trace(frame, event, argument):
    global lines
    name = frame.f_code.co_filename
    if "corpus" not in name and "_internal" not in name:
        return None
    lines += event == "line"
    if lines == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return trace

data, out = map(Path, sys.argv[1:])
sys.settrace(trace)
run_stand_in(data, out)
sys.settrace(None)
print(lines)
"""


def _run(data: Path, out: Path, last: int) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(here=str(HERE), last=last)
    command = [sys.executable, "-c", program, data, out]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_texts(tmp_path_factory.mktemp("data") / "texts.txt")


@pytest.fixture(scope="module")
def unbroken(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], int]:
    """The files of a run that nothing stops, and its number of lines."""
    out = tmp_path_factory.mktemp("unbroken") / "run"
    result = _run(data, out, last=-1)
    assert result.returncode == 0, result.stderr
    return contents(out), int(result.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_killed_run_ends_with_the_same_bytes(
    seed: int, data: Path, unbroken: tuple[dict[str, bytes], int], tmp_path: Path
) -> None:
    expected, lines = unbroken
    moments = random.Random(seed)  # noqa: S311 - moments, not secrets
    for _ in range(2):  # the second is killed while it resumes, or has less to do and ends
        result = _run(data, tmp_path / "run", moments.randrange(1, lines))
        assert result.returncode in (-signal.SIGKILL, 0), result.stderr
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("run/results/*")}
    done = run_stand_in(data, tmp_path / "run")
    assert done.resumed == len(before)
    assert done.damaged == ()
    found = contents(tmp_path / "run")
    assert found == expected
    after = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("run/results/*")}
    assert before.items() <= after.items()  # no finished part was written again


def test_a_moment_of_the_run_is_a_kill(
    data: Path, unbroken: tuple[dict[str, bytes], int], tmp_path: Path
) -> None:
    _, lines = unbroken
    assert _run(data, tmp_path / "run", lines // 2).returncode == -signal.SIGKILL
    assert 0 < len(list(tmp_path.glob("run/results/*"))) < 6
