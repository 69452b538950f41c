"""Compiled kernels are those of the sources at hand."""

import sys
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core import config

from attnflow.maxflow._cache import discard_stale_cache, is_compiled


@pytest.fixture(autouse=True)
def _no_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)


def _compiled(folder: Path) -> list[str]:
    return sorted(path.suffix for path in (folder / "__pycache__").iterdir())


def test_compiled_code_goes_when_a_source_changes_and_stays_otherwise(tmp_path: Path) -> None:
    source, code = tmp_path / "_a.py", tmp_path / "__pycache__" / "_a.f-1.py311.nbi"
    _ = source.write_text("x = 1\n")
    discard_stale_cache(tmp_path)
    code.touch()
    discard_stale_cache(tmp_path)
    assert _compiled(tmp_path) == [".nbi", ".stamp"]
    _ = source.write_text("x = 2\n")
    discard_stale_cache(tmp_path)
    assert _compiled(tmp_path) == [".stamp"]


def test_stale_code_and_that_of_another_python_do_not_count_as_compiled(tmp_path: Path) -> None:
    source, cache = tmp_path / "_a.py", tmp_path / "__pycache__"
    _ = source.write_text("x = 1\n")
    assert not is_compiled(tmp_path, "_a.f")
    discard_stale_cache(tmp_path)
    for name in ("_a.f-1.py27.1.nbc", "_a.g-1.py{}{}.1.nbc".format(*sys.version_info)):
        (cache / name).touch()
    assert not is_compiled(tmp_path, "_a.f")
    (cache / "_a.f-1.py{}{}.1.nbc".format(*sys.version_info)).touch()
    assert is_compiled(tmp_path, "_a.f")
    _ = source.write_text("x = 2\n")  # as an upgrade does, which leaves compiled code behind
    assert not is_compiled(tmp_path, "_a.f")


def test_a_folder_that_is_a_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").touch()
    discard_stale_cache(tmp_path)
    assert (tmp_path / "__pycache__").is_file()


def test_kernels_are_where_numba_keeps_them_in_the_folder_that_the_user_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, chosen = tmp_path / "package", str(tmp_path / "chosen")
    package.mkdir()
    source = package / "_a.py"
    _ = source.write_text("def f(x):\n    return x + 1\n")
    monkeypatch.setenv("NUMBA_CACHE_DIR", chosen)
    monkeypatch.setattr(config, "CACHE_DIR", chosen)  # read when Numba was imported
    discard_stale_cache(package)
    assert not is_compiled(package, "_a.f")
    # With the name of a module: Numba pickles all globals of a function without one, builtins too.
    found: dict[str, Any] = {"__name__": "_a"}
    exec(compile(source.read_text(), source, "exec"), found)  # noqa: S102
    assert numba.njit(cache=True)(found["f"])(1) == 2
    assert is_compiled(package, "_a.f")
    _ = source.write_text("def f(x):\n    return x + 2\n")
    discard_stale_cache(package)
    assert [*Path(chosen).rglob("*.nb[ic]")] == []
