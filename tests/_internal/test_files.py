import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow._internal.files import atomic_file


def _attention(n: int = 1) -> af.Attention:
    return af.Attention(np.full((1, 1, n, n), 1 / n))


def test_an_interrupted_write_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "a.npz"
    _attention().save(path)
    before = path.read_bytes()

    def fails_half_way(file: Any, **_: Any) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", fails_half_way)
    with pytest.raises(KeyboardInterrupt):
        _attention(3).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path):
    path = tmp_path / "a.npz"
    _attention().save(path)
    path.chmod(0o640)
    with atomic_file(path) as draft:
        assert stat.S_IMODE(draft.stat().st_mode) == 0o600  # nobody reads what is not ready
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o444)
    _attention(2).save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert af.Attention.load(path).n_tokens == 2


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path):
    _attention().save(tmp_path / "a.npz")
    _ = (tmp_path / "b").write_bytes(b"")
    assert (tmp_path / "a.npz").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_link_stays_and_its_target_is_written(tmp_path: Path):
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link.npz", tmp_path / "there" / "target"
    link.symlink_to(target)
    _attention().save(link)  # to a target that is not there yet
    _attention(2).save(link)
    assert link.is_symlink()
    assert not target.is_symlink()
    assert af.Attention.load(link).n_tokens == 2
    assert [path.name for path in target.parent.iterdir()] == ["target"]


def test_a_device_is_not_replaced(tmp_path: Path):
    link = tmp_path / "link.npz"
    link.symlink_to("/dev/null")
    with pytest.raises(af.InputError, match=r"is a device\. Choose another name"):
        _attention().save(link)
    assert Path("/dev/null").is_char_device()


def test_a_link_to_itself_is_an_input_error(tmp_path: Path):
    link = tmp_path / "link.npz"
    link.symlink_to(link)
    with pytest.raises(af.InputError, match=r"cannot be written"):
        _attention().save(link)
    assert link.is_symlink()


KILLED = """
import os, signal, sys
from attnflow._internal.files import atomic_file
with atomic_file(sys.argv[1]) as draft:
    draft.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_save_removes_what_a_killed_one_left(tmp_path: Path):
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a.npz"], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.suffix == ".part"
    (tmp_path / "my.part").touch()
    _attention().save(tmp_path / "b.npz")  # whatever its name
    assert {path.name for path in tmp_path.iterdir()} == {"b.npz", "my.part"}


def test_a_draft_in_use_is_not_removed(tmp_path: Path):
    with atomic_file(tmp_path / "a.npz") as draft:
        _ = draft.write_bytes(b"half")
        _attention().save(tmp_path / "b.npz")
        assert draft.read_bytes() == b"half"
    assert (tmp_path / "a.npz").read_bytes() == b"half"


def test_a_draft_that_was_taken_for_a_stale_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    opened: list[str] = []
    open_file = os.open

    def opens_and_loses_the_first(path: Any, *arguments: Any) -> int:
        handle = open_file(path, *arguments)
        opened.append(str(path))
        if len(opened) == 1:
            Path(path).unlink()
        return handle

    monkeypatch.setattr(os, "open", opens_and_loses_the_first)
    with atomic_file(tmp_path / "a.npz") as draft:
        assert str(draft) == opened[1]
        _ = draft.write_bytes(b"all")
    assert (tmp_path / "a.npz").read_bytes() == b"all"
