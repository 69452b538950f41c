"""Importing does nothing, dependencies point down, and every public name is there."""

import ast
import importlib
import inspect
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import attnflow
from strict_python import STRICT_PYTHON

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "attnflow"
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(attnflow.__path__, prefix="attnflow.")
)
HEAVY = [
    "anywidget", "fastapi", "igraph", "matplotlib", "networkx", "numba", "ortools", "pandas",
    "rich", "safetensors", "scipy", "torch", "transformers", "typer", "uvicorn",
]  # fmt: skip


def _loaded_after(statement: str) -> list[str]:
    """The heavy packages that a new process has loaded after the statement, warnings as errors."""
    code = f"{statement}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    result = subprocess.run(
        [*STRICT_PYTHON, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_importing_attnflow_loads_no_heavy_package() -> None:
    assert _loaded_after("import attnflow") == []


def test_raw_and_rollout_load_no_heavy_package() -> None:
    assert (
        _loaded_after(
            "import attnflow as af\n"
            "a = af.Attention([[[[1.0, 0.0], [0.5, 0.5]]]])\n"
            "assert af.raw(a).scores.shape == af.rollout(a).scores.shape == (1, 2, 2)"
        )
        == []
    )


def test_the_flow_of_a_sentence_loads_no_compiler() -> None:
    code = "import attnflow as af; f = af.flow(af.random_attention(6, 2, 32), queries=[0])\n"
    code += "assert f.scores.shape == (6, 1, 32)"
    assert _loaded_after(code) == []


def test_lazy_names_are_the_same_objects_however_they_are_reached() -> None:
    import attnflow.evaluate
    import attnflow.models

    assert attnflow.explain is attnflow.evaluate.explain
    assert attnflow.attend is attnflow.models.attend
    assert attnflow.load is attnflow.models.load


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = getattr(attnflow, "nothing")  # noqa: B009


def test_help_needs_typer_alone() -> None:
    assert _loaded_after("import attnflow.cli._app") == ["typer"]


def test_the_command_handles_ctrl_c_before_anything_slow_is_imported() -> None:
    assert _loaded_after("import attnflow.cli, sys; assert 'numpy' not in sys.modules") == []


def test_a_lazy_name_is_looked_up_once() -> None:
    code = "import attnflow as af; assert 'flow' not in vars(af)\n"
    code += "assert af.types.Attention is af.Attention; from attnflow import *\n"
    assert _loaded_after(code + "assert flow is vars(af)['flow'] is af.methods.flow") == []


def test_a_loaded_package_would_be_seen() -> None:
    assert _loaded_after("import safetensors") == ["safetensors"]


def test_the_public_names_are_those_of_the_design() -> None:
    assert set(attnflow.__all__) == {
        "Attention", "EncoderDecoderAttention", "AttentionGraph", "TokenAttention", "MaxFlow",
        "FlowSplit", "Grid", "Importance", "Origin", "Sink", "Explanation",
        "raw", "rollout", "flow", "flow_split", "max_flow", "attend", "explain", "load",
        "random_attention",
        "edges", "evaluate", "importance", "models", "paper", "plot", "view",
        "AttnflowError", "InputError", "UnsupportedModelError", "MissingDependencyError",
        "SolverError", "__version__",
    }  # fmt: skip


def test_the_functions_of_types_and_importance_are_public() -> None:
    functions = {
        name: {n for n in module.__all__ if inspect.isfunction(getattr(module, n))}
        for name, module in (("types", attnflow.types), ("importance", attnflow.importance))
    }
    assert functions == {
        "types": {"random_attention"},
        "importance": {
            "blank_out", "input_gradient", "integrated_gradients", "leave_span_out", "predict",
            "predict_among",
        },
    }  # fmt: skip


@pytest.mark.parametrize("name", ["attnflow", *MODULES])
def test_every_name_in_all_exists_and_is_listed_once(name: str) -> None:
    module = importlib.import_module(name)
    names: list[str] = getattr(module, "__all__", [])
    assert [n for n in names if not hasattr(module, n)] == []
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "path",
    sorted(SOURCES.rglob("*.py")),
    ids=lambda path: str(path.relative_to(SOURCES)),
)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "package",
    sorted(path.parent for path in SOURCES.glob("[a-z]*/__init__.py")),
    ids=lambda p: p.name,
)
def test_files_inside_a_package_carry_an_underscore(package: Path) -> None:
    assert [path.name for path in package.glob("*.py") if not path.name.startswith("_")] == []


def test_the_root_has_at_most_16_entries() -> None:
    entries = {p.name for p in SOURCES.iterdir()} - {"__pycache__", "py.typed"}
    assert 0 < len(entries) <= 16, sorted(entries)


def _private_imports(path: Path, package: str) -> list[str]:
    """Private modules of other packages that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [
        name
        for name in names
        if name.startswith("attnflow.")
        and not name.startswith((f"attnflow.{package}.", "attnflow._internal."))
        and any(part.startswith("_") and not part.startswith("__") for part in name.split(".")[2:])
    ]


def test_no_private_module_is_imported_by_another_package() -> None:
    found = {
        str(path.relative_to(SOURCES)): names
        for path in SOURCES.rglob("*.py")
        if (names := _private_imports(path, path.relative_to(SOURCES).parts[0]))
    }
    assert found == {}


def test_a_private_import_would_be_seen(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    _ = file.write_text("from attnflow.models._load import load\n", encoding="utf-8")
    assert _private_imports(file, "models") == []
    assert _private_imports(file, "paper") == ["attnflow.models._load.load"]


def _lint_imports(sources: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            Path(sys.executable).with_name("lint-imports"),
            "--config", ROOT / "pyproject.toml", "--no-cache",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=sources,
        env={**os.environ, "PYTHONPATH": str(sources)},
    )  # fmt: skip


def test_dependencies_point_down_only() -> None:
    result = _lint_imports(ROOT / "src")
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("types/_graph.py", "import attnflow.methods", "Dependencies point down only"),
        ("models/_attend.py", "import attnflow.importance", "Dependencies point down only"),
        ("stray.py", "", "Dependencies point down only"),
        ("types/_graph.py", "import torch", "The lower layers need NumPy and Numba"),
        ("types/_graph.py", "import numba", "Numba stays in maxflow"),
        ("types/_attention.py", "import safetensors", "safetensors stays in storage"),
    ],
)
def test_the_contracts_can_fail(tmp_path: Path, module: str, line: str, contract: str) -> None:
    sources = shutil.copytree(SOURCES, tmp_path / "attnflow")
    with (sources / module).open("a", encoding="utf-8") as file:
        _ = file.write(f"\n\ndef _late() -> None:\n    {line or 'pass'}\n")
    result = _lint_imports(tmp_path)
    assert result.returncode == 1, result.stdout
    broken = [line for line in result.stdout.splitlines() if line.endswith("BROKEN")]
    assert [line for line in broken if line.startswith(contract)]
