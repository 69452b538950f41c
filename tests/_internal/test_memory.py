"""What is read of the system about memory."""

import sys
from pathlib import Path

import pytest

from attnflow._internal import memory

GIB = 2**30


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for /proc and /sys/fs/cgroup, and no limit of the address space."""
    monkeypatch.setattr(memory, "_PROC", tmp_path)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    monkeypatch.setattr(memory, "_of_address_space", lambda: None)
    return tmp_path


def _write(file: Path, text: str) -> None:
    _ = file.write_text(text, encoding="ascii")


def _meminfo(folder: Path) -> None:
    lines = ["MemTotal: 16777216 kB", "MemAvailable:    4194304 kB", "SwapFree:   1048576 kB"]
    _write(folder / "meminfo", "\n".join(lines) + "\nHugePages_Total:       0\n")


def test_available_memory_and_free_swap_count(system: Path):
    _meminfo(system)
    assert memory.available_bytes() == 5 * GIB


def test_a_container_has_what_its_limit_leaves_and_cached_files_do_not_count(system: Path):
    _meminfo(system)
    _write(system / "memory.max", f"{3 * GIB}\n")
    _write(system / "memory.current", f"{2 * GIB}\n")
    _write(system / "memory.stat", f"anon {GIB}\nfile {GIB // 2}\n")
    assert memory.available_bytes() == GIB + GIB // 2
    _write(system / "memory.max", "max\n")
    assert memory.available_bytes() == 5 * GIB


def test_without_proc_it_is_the_memory_of_the_machine(
    system: Path, monkeypatch: pytest.MonkeyPatch
):
    assert not list(system.iterdir())
    values = {"SC_PHYS_PAGES": 2**20, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(memory.os, "sysconf", values.__getitem__, raising=False)
    assert memory.available_bytes() == 4 * GIB


def test_where_nothing_is_known_it_is_none(system: Path, monkeypatch: pytest.MonkeyPatch):
    assert not list(system.iterdir())
    monkeypatch.delattr(memory.os, "sysconf", raising=False)
    assert memory.available_bytes() is None


@pytest.mark.skipif(sys.platform == "win32", reason="does not apply: Windows has no such limit")
def test_a_limit_of_the_address_space_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import resource

    monkeypatch.setattr(memory, "_PROC", tmp_path)
    (tmp_path / "self").mkdir()
    pages = GIB // resource.getpagesize()
    _write(tmp_path / "self" / "statm", f"{pages} 200 100 1 0 50 0\n")
    _meminfo(tmp_path)
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (3 * GIB, 3 * GIB))
    assert memory.available_bytes() == 2 * GIB
    unlimited = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (unlimited, unlimited))
    assert memory.available_bytes() == 5 * GIB


def test_this_machine_has_some():
    found = memory.available_bytes()
    assert found is None or found > 0
