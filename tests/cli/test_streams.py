import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import attnflow as af
from attnflow.types import random_attention
from waiting import until

OnTerminal = Callable[..., str]
COMMAND = Path(sys.executable).with_name("attnflow")
# Where nothing stands between print and the system; the empty text is Python's "no".
UNBUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"])


@pytest.fixture
def long_output(tmp_path: Path) -> list[str | Path]:
    """A command that prints some 160 KB, more than a pipe holds at a time."""
    path = tmp_path / "big.npz"
    random_attention(2, 1, 64).save(path)
    return [COMMAND, "compute", path, "--method", "rollout", "--json"]


def test_a_reader_that_goes_away_ends_the_command_quietly(attention_file: Path) -> None:
    process = subprocess.Popen(
        [COMMAND, "compute", attention_file, "--method", "raw"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 141
    assert errors == ""


@pytest.mark.parametrize("arguments", ["--help", "compute --help", "--version"])
def test_a_reader_of_the_help_that_goes_away_ends_it_quietly(arguments: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [COMMAND, *arguments.split()]
    result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (result.returncode, result.stderr) == (141, b"")


def test_wrong_usage_is_not_printed_on_stdout_where_stderr_is_closed() -> None:
    command = f'"{COMMAND}" compute x.npz 2>&-'
    result = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False)
    assert (result.returncode, result.stdout) == (2, b"")


def test_a_token_that_the_terminal_cannot_show_is_spelled_out(tmp_path: Path) -> None:
    path = tmp_path / "attention.npz"
    af.Attention(np.ones((1, 1, 1, 1)), ["日the"]).save(path)
    result = subprocess.run(
        [COMMAND, "compute", path, "--method", "raw"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )
    assert rb"\u65e5the" in result.stdout


@UNBUFFERED
def test_a_slow_reader_gets_everything(
    long_output: list[str | Path], unbuffered: str, request: pytest.FixtureRequest
) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    reader, writer = os.pipe()
    process = subprocess.Popen(long_output, stdout=writer, env=environment)
    request.addfinalizer(process.kill)

    def full_or_ended() -> bool:
        return process.poll() is not None or not select.select([], [writer], [], 0)[1]

    parts: list[bytes] = []
    until(full_or_ended)
    while process.poll() is None:  # a little is read each time that the command has to wait
        parts.append(os.read(reader, 16384))
        until(full_or_ended)
    assert len(parts) > 1, "the command had to wait"
    os.close(writer)
    while part := os.read(reader, 16384):
        parts.append(part)
    os.close(reader)
    assert process.returncode == 0
    assert np.shape(json.loads(b"".join(parts))["scores"]) == (2, 64, 64)


@UNBUFFERED
def test_output_that_is_cut_short_is_an_error(
    long_output: list[str | Path], tmp_path: Path, unbuffered: str
) -> None:
    # At the limit the system writes a part of what it is given; only the next write fails.
    with (tmp_path / "out.json").open("wb") as out:
        result = subprocess.run(
            ["bash", "-c", 'ulimit -f 64 && exec "$@"', "bash", *long_output],  # noqa: S607 - bash, wherever it is
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert result.stderr == "error: the output cannot be written: File too large\n"
    assert result.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@UNBUFFERED
@pytest.mark.parametrize("arguments", [["--help"], ["compute", "attention.npz", "--method", "raw"]])
def test_a_full_disk_is_an_error_of_one_line(
    attention_file: Path, arguments: list[str], unbuffered: str
) -> None:
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [COMMAND, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=attention_file.parent,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert result.stderr == "error: the output cannot be written: No space left on device\n"
    assert result.returncode == 1


def test_only_a_terminal_cuts_a_wide_table(tmp_path: Path, on_terminal: OnTerminal) -> None:
    path = tmp_path / "wide.npz"
    random_attention(1, 1, 40).save(path)
    command = [COMMAND, "compute", path, "--method", "raw", "--queries", "0"]
    environment = {**os.environ, "COLUMNS": "80"}
    shown = on_terminal(command, stream="stdout", env=environment)
    assert "(the 5 highest scores of each query" in shown
    piped = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert len(piped.stdout.splitlines()[2].split()) == 1 + 40


@pytest.mark.parametrize(
    "arguments",
    ["compute {} --method raw", "compute {} --method flow --json", "explain key",
     "explain - --json", "reproduce table-1", "reproduce gradient-sum"],
)  # fmt: skip
def test_a_closed_stdout_is_an_error_before_any_work(attention_file: Path, arguments: str) -> None:
    command = f'"{COMMAND}" {arguments.format(attention_file)} >&-'
    result = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith(b"error: standard output is closed; ")
    assert result.stderr.count(b"\n") == 1


def test_a_closed_stdout_does_not_matter_to_a_result_in_a_file(
    attention_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "scores.npz"
    command = f'"{COMMAND}" compute "{attention_file}" --method raw --out "{out}" >&-'
    result = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, check=True)
    assert result.stderr == b""
    assert af.TokenAttention.load(out).method == "raw"


def test_a_closed_stderr_does_not_lose_the_result(attention_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.npz"
    command = f'"{COMMAND}" compute "{attention_file}" --method flow --out "{out}" 2>&-'
    result = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False)
    assert result.returncode == 0
    assert af.TokenAttention.load(out).method == "flow"
