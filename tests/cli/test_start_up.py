"""What the command imports: little for an error, and no modelling code for the shipped model."""

import os
import subprocess
import sys

import pytest

TEXT = "the key to the cabinets"
# Runs the command, then prints which of the modules named first were imported.
_PROGRAM = """
import sys
modules, sys.argv = sys.argv[1].split(), ["attnflow", *sys.argv[2:]]
from attnflow.cli import main
try:
    main()
finally:
    print("IMPORTED", *(name for name in modules if name in sys.modules))
"""


def _imported(modules: str, *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    result = subprocess.run(
        [sys.executable, "-c", _PROGRAM, modules, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    *_, last = result.stdout.splitlines()
    assert last.startswith("IMPORTED"), result.stderr
    return result, last.split()[1:]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([" "], "TEXT is empty"),
        (["\n\t "], "TEXT is empty"),
        ([TEXT, "--model", "./no-such-folder"], "there is no folder './no-such-folder'"),
        ([TEXT, "--model", "/no/such/folder"], "there is no folder '/no/such/folder'"),
        ([TEXT, "--model", "no-such-folder"], "neither a folder here nor in the cache of the hub"),
        ([TEXT, "--model", "no such folder"], "no such folder cannot be loaded: Repo id must"),
    ],
)
def test_bad_input_is_answered_before_torch_is_imported(arguments: list[str], message: str) -> None:
    result, imported = _imported("numpy torch transformers numba", "explain", *arguments)
    assert result.returncode == 1
    assert message in result.stderr
    assert imported == ["numpy"]


def test_explain_imports_no_compiler_and_no_modelling_code_of_transformers() -> None:
    heavy = "numba sympy scipy torch._dynamo torch.distributed.tensor transformers.modeling_utils"
    result, imported = _imported(f"torch {heavy}", "explain", TEXT)
    assert result.returncode == 0, result.stderr
    assert "flow" in result.stdout
    assert imported == ["torch"]
