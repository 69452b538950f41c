"""Ctrl-C: exit code 130 and one line, whatever the program does at that moment."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [str(Path(sys.executable).with_name("attnflow"))]
MODULE = [sys.executable, "-m", "attnflow"]
# As the entry points, but it says when Ctrl-C is handled. What comes earlier is the start of the
# interpreter, which no program can handle.
READY = [
    sys.executable,
    "-c",
    """
import sys
from attnflow.cli import _interrupt, main
handle = _interrupt.handle_ctrl_c
_interrupt.handle_ctrl_c = lambda: (handle(), print("ready", flush=True))
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
    assert [line for line in lines[:-1] if not line.startswith("attention flow: starting; ")] == []


# Chosen: importing takes up to a second, and compiling half a minute from there, so that the
# command has not ended after the longest of these times.
@pytest.mark.parametrize("seconds", [0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.2, 1.8, 2.5])
def test_ctrl_c_at_any_time_gives_130_and_one_line(
    attention_file: Path, tmp_path: Path, seconds: float
) -> None:
    command = [*READY, "compute", str(attention_file), "--method", "flow"]
    with _start(command, tmp_path / "cache") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _check_interrupted(process)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="there is no /proc")
@pytest.mark.parametrize("command", [COMMAND, MODULE], ids=["attnflow", "python -m attnflow"])
def test_ctrl_c_while_numpy_is_imported_gives_130_and_one_line(
    attention_file: Path, tmp_path: Path, command: list[str]
) -> None:
    command = [*command, "compute", str(attention_file), "--method", "flow"]
    with _start(command, tmp_path / "cache") as process:
        while "_multiarray_umath" not in Path(f"/proc/{process.pid}/maps").read_text():
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        _check_interrupted(process)


@pytest.mark.parametrize(
    "swallowing",
    [
        "try: signal.raise_signal(2)\nexcept BaseException: pass",
        "try: signal.raise_signal(2)\nexcept BaseException: raise RuntimeError('compiled')",
        "try: signal.raise_signal(2)\nexcept BaseException: raise af.InputError('wrong')",
        "class Late:\n    def __del__(self): signal.raise_signal(2)\nLate(); time.sleep(30)",
    ],
)
def test_ctrl_c_is_not_swallowed(swallowing: str) -> None:
    code = f"""
import signal, sys, time
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
    command = [*ignoring, *READY, "compute", str(attention_file), "--method", "raw"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")
