"""Ctrl-C: exit code 130 and one line, whatever the program does at that moment."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attnflow.types import random_attention
from waiting import until

COMMAND = [str(Path(sys.executable).with_name("attnflow"))]
MODULE = [sys.executable, "-m", "attnflow"]
# As the entry points, but it says when so many audit events have come since Ctrl-C is handled: a
# measure of how far the program is, however fast the machine. What comes earlier is the start of
# the interpreter, which no program can handle.
READY = [
    sys.executable,
    "-c",
    """
import os, sys
from attnflow.cli import _interrupt, main
handle, left = _interrupt.handle_ctrl_c, int(sys.argv.pop(1))
def count(*_):
    global left
    if left == 0:
        os.write(1, b"ready\\n")
    left -= 1
_interrupt.handle_ctrl_c = lambda: (handle(), sys.addaudithook(count))
main()
""",
]


def _start(command: list[str], cache: Path) -> "subprocess.Popen[str]":
    """Start a command that has to compile the kernels of flow."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def _check_interrupted(process: "subprocess.Popen[str]") -> None:
    _, errors = process.communicate(timeout=60)
    lines = errors.splitlines()
    assert (process.returncode, lines[-1:]) == (130, ["interrupted"]), errors
    # Compiling takes long, and the command says so.
    compiling = "compiling (once per installation)"
    said = (f"attention flow: {compiling}", f"attnflow: {compiling}, ")
    assert [line for line in lines[:-1] if not line.startswith(said)] == []


@pytest.fixture
def large_file(tmp_path: Path) -> Path:
    """More tokens than are solved without compiled kernels."""
    path = tmp_path / "attention.npz"
    random_attention(3, 1, 80, seed=1).save(path)
    return path


# Chosen: importing has some ten thousand events, and compiling a hundred thousand from there, so
# that the command has not ended after the largest of these.
@pytest.mark.parametrize(
    "events", [0, 30, 100, 300, 1000, 2000, 3500, 5000, 7000, 10_000, 20_000, 30_000]
)
def test_ctrl_c_at_any_time_gives_130_and_one_line(
    large_file: Path, tmp_path: Path, events: int
) -> None:
    command = [*READY, str(events), "compute", str(large_file), "--method", "flow"]
    with _start(command, tmp_path / "cache") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _check_interrupted(process)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="there is no /proc")
@pytest.mark.parametrize("command", [COMMAND, MODULE], ids=["attnflow", "python -m attnflow"])
def test_ctrl_c_while_numpy_is_imported_gives_130_and_one_line(
    attention_file: Path, tmp_path: Path, command: list[str]
) -> None:
    command = [*command, "compute", str(attention_file), "--method", "flow"]
    with _start(command, tmp_path / "cache") as process:
        maps = Path(f"/proc/{process.pid}/maps")
        until(
            lambda: process.poll() is not None or "_multiarray_umath" in maps.read_text(),
            every=0.001,
        )
        process.send_signal(signal.SIGINT)
        _check_interrupted(process)


@pytest.mark.parametrize(
    "swallowing",
    [
        "try: signal.raise_signal(2)\nexcept BaseException: pass",
        "try: signal.raise_signal(2)\nexcept BaseException: raise RuntimeError('compiled')",
        "try: signal.raise_signal(2)\nexcept BaseException: raise af.InputError('wrong')",
        "class Late:\n    def __del__(self): signal.raise_signal(2)\nLate()\nwhile True: pass",
    ],
)
def test_ctrl_c_is_not_swallowed(swallowing: str) -> None:
    code = f"""
import signal, sys
import attnflow as af
from attnflow.cli import _compute, main
def swallow(*_, **__):
    exec({swallowing!r})
_compute.file_path = swallow
_compute.positions = _compute._read = lambda *_, **__: sys.exit(0)
sys.argv = ["attnflow", "compute", "x.npz", "--method", "raw"]
main()
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (result.returncode, result.stderr) == (130, "interrupted\n")


def test_a_program_in_the_background_ignores_ctrl_c(attention_file: Path) -> None:
    # As a shell starts it with &.
    ignoring = ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    command = [*ignoring, *READY, "0", "compute", str(attention_file), "--method", "raw"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")
