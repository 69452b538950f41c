"""A run over a corpus: what it writes, what it refuses, and how it resumes."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.dataset
import pytest
import torch
from pyarrow import parquet
from stand_in import CELLS, PART_SIZE, StandIn, contents, run_stand_in, write_texts

from attnflow.errors import InputError
from attnflow.evaluate import EvaluationPlan, LabelledText, RunProgress, run
from attnflow.evaluate.corpus import _run
from attnflow.models import Loaded

N_TEXTS = 22
N_PARTS = 6  # the last has two texts


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts.txt", N_TEXTS)


@pytest.fixture
def complete(data: Path, tmp_path: Path) -> Path:
    """A run that nothing has stopped."""
    return run_stand_in(data, tmp_path / "complete").folder


class StoppedError(Exception):
    """What stops a run in these tests."""


def _stopped(data: Path, out: Path, after: int) -> Path:
    """A run that is stopped when so many texts are committed."""

    def stop(progress: RunProgress) -> None:
        if progress.texts == after:
            raise StoppedError

    with pytest.raises(StoppedError):
        _ = run_stand_in(data, out, on_progress=stop)
    return out


def test_results_have_a_row_for_each_text_and_cell(complete: Path, data: Path) -> None:
    found = pyarrow.dataset.dataset(complete / "results").to_table().to_pylist()
    texts = data.read_text("utf-8").splitlines()
    assert len(found) == N_TEXTS * len(CELLS)
    rows = iter(found)
    for number, text in enumerate(texts):
        expected = StandIn().measure([LabelledText(text)])
        for cell, value in zip(CELLS, expected.values[0], strict=True):
            row = next(rows)
            assert (row["text_id"], row["text"], row["n_tokens"]) == (
                number, text, len(text.split()),
            )  # fmt: skip
            assert {name: row[name] for name in cell._fields} == cell._asdict()
            assert row["value"] == (None if np.isnan(value) else pytest.approx(value))
            assert row["error"] == expected.errors[0]


def test_every_file_of_results_has_the_settings(complete: Path) -> None:
    files = sorted((complete / "results").iterdir())
    assert len(files) == N_PARTS
    settings = json.loads((complete / "run.json").read_text("utf-8"))
    for file in files:
        metadata = parquet.read_schema(file).metadata
        assert json.loads(metadata[b"attnflow"]) == settings
        assert json.loads(metadata[b"measured"]) == {"made": "by a stand-in"}
    assert settings["plan"] == EvaluationPlan().to_dict()
    assert settings["model"] == {"name": "stand-in", "digest": "0" * 64}
    assert settings["data"]["name"] == "texts.txt"
    assert settings["data"]["texts"] == N_TEXTS
    assert settings["versions"].keys() == {"attnflow", "pyarrow"}
    assert str(complete.parent) not in (complete / "run.json").read_text("utf-8")


def test_the_name_of_a_file_has_its_checksum(complete: Path) -> None:
    for number, file in enumerate(sorted((complete / "results").iterdir())):
        checksum = hashlib.sha256(number.to_bytes(8, "big") + file.read_bytes()).hexdigest()[:16]
        assert file.name == f"part-{number:08}-{checksum}.parquet"


def test_two_runs_have_the_same_bytes(complete: Path, data: Path, tmp_path: Path) -> None:
    again = run_stand_in(data, tmp_path / "again")
    assert contents(again.folder) == contents(complete)
    assert (again.parts, again.resumed, again.damaged) == (N_PARTS, 0, ())


@pytest.mark.parametrize("after", [0, 4, 20, 22])
def test_a_stopped_run_resumes_where_it_was(
    complete: Path, data: Path, tmp_path: Path, after: int
) -> None:
    out = _stopped(data, tmp_path / "run", after)
    worker = StandIn()
    done = run_stand_in(data, out, worker)
    finished = -(-after // PART_SIZE)
    assert done.resumed == finished
    assert worker.calls == N_PARTS - finished
    assert contents(out) == contents(complete)


def test_a_finished_run_measures_nothing_and_writes_its_summary_again(
    complete: Path, data: Path
) -> None:
    before = contents(complete)
    (complete / "summary.md").unlink()
    worker = StandIn()
    assert run_stand_in(data, complete, worker).resumed == N_PARTS
    assert worker.calls == 0
    assert contents(complete) == before


def test_a_damaged_part_is_measured_again(complete: Path, data: Path) -> None:
    before = contents(complete)
    files = sorted((complete / "results").iterdir())
    _ = files[1].write_bytes(files[1].read_bytes()[:-1] + b"?")
    _ = files[3].write_bytes(b"")
    worker = StandIn()
    done = run_stand_in(data, complete, worker)
    assert done.damaged == (files[1].name, files[3].name)
    assert (done.resumed, worker.calls) == (N_PARTS - 2, 2)
    assert contents(complete) == before


def test_a_file_that_was_copied_to_another_part_is_damaged(complete: Path, data: Path) -> None:
    before = contents(complete)
    files = sorted((complete / "results").iterdir())
    copied = files[0].with_name(files[0].name.replace("part-00000000", "part-00000001"))
    _ = copied.write_bytes(files[0].read_bytes())
    assert run_stand_in(data, complete).damaged == (copied.name,)
    assert contents(complete) == before


def test_progress_counts_texts_of_earlier_runs_and_failures(data: Path, tmp_path: Path) -> None:
    out = _stopped(data, tmp_path / "run", 20)
    seen: list[RunProgress] = []
    _ = run_stand_in(data, out, on_progress=seen.append)
    assert seen[0] == (20, N_TEXTS, 0, 0, 20)
    assert seen[-1] == (N_TEXTS, N_TEXTS, 2, 0, N_TEXTS)
    seen.clear()
    _ = run_stand_in(data, tmp_path / "other", on_progress=seen.append)
    assert seen[0] == (0, N_TEXTS, 0, 0, 0)
    assert seen[-1] == (N_TEXTS, N_TEXTS, N_TEXTS, 1, N_TEXTS)


def test_texts_of_a_part_that_is_not_written_are_not_counted_as_written(
    data: Path, tmp_path: Path
) -> None:
    class Reporting(StandIn):
        def measure(self, texts: Any, _progress: Any = None) -> Any:
            _progress(len(texts), len(texts))
            return super().measure(texts)

    out, seen = tmp_path / "run", list[tuple[int, int, int]]()

    def on_progress(progress: RunProgress) -> None:
        files = len(list((out / "results").iterdir()))
        seen.append((progress.texts, progress.written, files))

    _ = run_stand_in(data, out, Reporting(), on_progress=on_progress)
    assert seen[:4] == [(0, 0, 0), (4, 0, 0), (4, 4, 1), (8, 4, 1)]
    assert seen[-1] == (N_TEXTS, N_TEXTS, N_PARTS)


def test_the_last_part_may_be_the_one_that_is_finished(data: Path, tmp_path: Path) -> None:
    out = run_stand_in(data, tmp_path / "run").folder
    min((out / "results").iterdir()).unlink()
    seen: list[RunProgress] = []
    _ = run_stand_in(data, out, on_progress=seen.append)
    assert seen[0].texts == N_TEXTS - PART_SIZE
    assert seen[-1] == (N_TEXTS, N_TEXTS, PART_SIZE, 1, N_TEXTS)


def test_a_failed_text_stops_the_run_only_if_asked(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="text_id 2 failed: it fails"):
        _ = run_stand_in(data, tmp_path / "run", fail_fast=True)
    assert list((tmp_path / "run" / "results").iterdir()) == []
    done = run_stand_in(data, tmp_path / "run")
    assert done.summary.failed == 1
    assert done.summary.errors == ((2, "it fails"),)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"plan": EvaluationPlan(k=2)}, "plan.k was 3, got 2"),
        ({"plan": EvaluationPlan(layers=(1,))}, r"plan.layers was null, got \[1\]"),
        ({"worker": StandIn("1" * 64)}, 'model.digest was "0000.*got "1111'),
        ({"worker": StandIn(device="cuda")}, 'device was "cpu", got "cuda"'),
        ({"part_size": 3}, r"holds another run: part_size was 4, got 3\. Choose"),
        ({"limit": 3}, "data.limit was null, got 3; data.texts was 22, got 3; data.digest was"),
    ],
)
def test_another_run_in_the_same_folder_is_an_error_that_names_the_differences(
    complete: Path, data: Path, changed: dict[str, Any], message: str
) -> None:
    before = contents(complete)
    with pytest.raises(InputError, match=message):
        _ = run_stand_in(data, complete, **changed)
    assert contents(complete) == before


def test_a_run_without_results_is_replaced_by_one_with_other_settings(
    data: Path, tmp_path: Path
) -> None:
    class Wrong(StandIn):
        def measure(self, texts: Any, _progress: Any = None) -> Any:  # noqa: ARG002
            raise InputError("layers must be 1 to 2, got 9")

    out, plan = tmp_path / "run", EvaluationPlan(layers=(1, 2))
    with pytest.raises(InputError, match="layers must be"):
        _ = run_stand_in(data, out, Wrong(), plan=EvaluationPlan(layers=(9,)))
    assert run_stand_in(data, out, plan=plan).parts == N_PARTS
    assert contents(out) == contents(run_stand_in(data, tmp_path / "new", plan=plan).folder)


def test_a_run_json_of_another_program_is_left_alone(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    _ = (out / "run.json").write_text('{"name": "theirs"}', encoding="utf-8")
    with pytest.raises(InputError, match="holds another run"):
        _ = run_stand_in(data, out)
    assert (out / "run.json").read_text("utf-8") == '{"name": "theirs"}'


def test_another_version_is_an_error_that_names_it(complete: Path, data: Path) -> None:
    path = complete / "run.json"
    settings = json.loads(path.read_text("utf-8"))
    settings["versions"]["attnflow"] = "0.0.1"
    _ = path.write_text(json.dumps(settings), encoding="utf-8")
    message = 'versions.attnflow was "0.0.1", got "0.0.0"'
    with pytest.raises(InputError, match=message):
        _ = run_stand_in(data, complete)


def test_values_of_an_earlier_format_are_not_continued(complete: Path, data: Path) -> None:
    path = complete / "run.json"
    settings = json.loads(path.read_text("utf-8"))
    _ = path.write_text(json.dumps({**settings, "format": 2}), encoding="utf-8")
    with pytest.raises(InputError, match=r"holds another run: format was 2, got 3\. Choose"):
        _ = run_stand_in(data, complete)


def test_changed_data_is_an_error(complete: Path, data: Path) -> None:
    _ = data.write_text(data.read_text("utf-8") + "one more\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"data\.texts was 22, got 23; data\.digest was"):
        _ = run_stand_in(data, complete)


def test_data_may_be_moved(complete: Path, data: Path) -> None:
    (data.parent / "elsewhere").mkdir()
    moved = data.rename(data.parent / "elsewhere" / data.name)
    assert run_stand_in(moved, complete).resumed == N_PARTS


def test_two_runs_at_once_are_refused(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"

    def second(progress: RunProgress) -> None:
        if progress.texts == PART_SIZE:
            with pytest.raises(InputError, match="another evaluation is using the folder"):
                _ = run_stand_in(data, out)
            raise StoppedError

    with pytest.raises(StoppedError):
        _ = run_stand_in(data, out, on_progress=second)
    assert run_stand_in(data, out).resumed == 1


@pytest.mark.parametrize("name", ["notes.txt", "results"])
def test_a_folder_with_other_files_is_left_alone(data: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).touch()
    with pytest.raises(InputError, match=f"not empty and not a run to resume: it contains {name}"):
        _ = run_stand_in(data, tmp_path / "run")
    assert list(contents(tmp_path / "run")) == [name]


def test_a_file_in_the_place_of_the_folder_is_an_error(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a folder, got the file"):
        _ = run_stand_in(data, data)
    with pytest.raises(InputError, match="cannot be a folder"):
        _ = run_stand_in(data, data / "run")
    assert not (tmp_path / "run").exists()


def test_a_file_of_another_run_among_the_results_is_an_error(complete: Path, data: Path) -> None:
    stray = complete / "results" / f"part-{N_PARTS:08}-{0:016x}.parquet"
    stray.touch()
    with pytest.raises(InputError, match=f"contains {stray.name}, which is not a part"):
        _ = run_stand_in(data, complete)
    assert stray.exists()


def test_broken_settings_are_an_error(complete: Path, data: Path) -> None:
    for content, message in (("{", "cannot be read"), ("[]", "expected a JSON object")):
        _ = (complete / "run.json").write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            _ = run_stand_in(data, complete)


def test_broken_data_leaves_no_folder(tmp_path: Path) -> None:
    data = tmp_path / "texts.txt"
    _ = data.write_bytes(b"good\n\xff\n")
    with pytest.raises(InputError, match="line 2: byte 1"):
        _ = run_stand_in(data, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_label_that_the_model_does_not_have_is_an_error_before_work(tmp_path: Path) -> None:
    data = tmp_path / "texts.tsv"
    _ = data.write_text("text\tlabel\na\tplural\nb\t1\nc\tdual\n", encoding="utf-8")
    worker = StandIn(labels=("singular", "plural"))
    plan = EvaluationPlan(target="label")
    message = r"line 4: expected a label of the model \(singular, plural, or 0 to 1\), got 'dual'"
    with pytest.raises(InputError, match=message):
        _ = run_stand_in(data, tmp_path / "run", worker, plan=plan)
    assert worker.calls == 0
    assert run_stand_in(data, tmp_path / "run", worker, plan=plan, limit=2).parts == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="does not apply: root may write everywhere")
def test_a_folder_that_may_not_be_written_is_an_error(data: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o500)
    with pytest.raises(InputError, match="cannot be written to: Permission denied"):
        _ = run_stand_in(data, tmp_path / "run")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory, which only root can make."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
    try:
        _ = subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a file system cannot be mounted here: {error}")
    yield folder
    _ = subprocess.run(["umount", folder], check=True)  # noqa: S607 - wherever it is


def _remount(folder: Path, options: str) -> None:
    _ = subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)  # noqa: S607


@pytest.mark.skipif(sys.platform != "linux", reason="does not apply: mounts as Linux has them")
def test_a_run_on_a_full_disk_resumes_when_there_is_space(
    complete: Path, data: Path, mounted: Path
) -> None:
    out = mounted / "run"

    def fill(progress: RunProgress) -> None:
        if progress.texts == 2 * PART_SIZE:
            with suppress(OSError), (mounted / "filler").open("wb", buffering=0) as file:
                while True:
                    _ = file.write(bytes(1024))

    message = "cannot be written to: No space left on device. Finished parts are kept"
    with pytest.raises(InputError, match=message):
        _ = run_stand_in(data, out, on_progress=fill)
    assert len(list((out / "results").iterdir())) == 2
    (mounted / "filler").unlink()
    assert run_stand_in(data, out).resumed == 2
    assert contents(out) == contents(complete)


@pytest.mark.skipif(sys.platform != "linux", reason="does not apply: mounts as Linux has them")
def test_a_read_only_folder_is_an_error(data: Path, mounted: Path) -> None:
    out = run_stand_in(data, mounted / "run").folder
    _remount(mounted, "ro")
    for folder in (out, mounted / "new"):
        with pytest.raises(InputError, match="cannot be written to: Read-only file system"):
            _ = run_stand_in(data, folder)
    _remount(mounted, "rw")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"engine": "spark"}, "engine must be 'local' or 'ray', got 'spark'"),
        ({"address": "a:1"}, "address must be left out without engine='ray', got 'a:1'"),
        ({"workers": 2}, "workers must be left out without engine='ray', got 2"),
        ({"threads": 0}, "threads must be 1 to 1024, got 0"),
        ({"workers": 0}, "workers must be 1 or more, got 0"),
        ({"fail_fast": "x"}, "fail_fast must be a bool, got 'x'"),
        ({"on_progress": None}, "on_progress: expected a function of a RunProgress, got None"),
        ({"plan": "raw"}, "plan: expected an EvaluationPlan, .* got 'raw'"),
        ({"plan": {"methods": ["raw"]}}, "plan: expected an EvaluationPlan, .* got {'methods'"),
        ({"plan": {}}, "plan: expected an EvaluationPlan, .* got {}"),
    ],
)
def test_settings_of_engines_are_checked(
    data: Path, tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _ = run("nowhere", data, tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_a_folder_is_loaded_on_the_gpus_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(_run, "load", lambda _, device: seen.append(device))
    for gpus in (0.0, 0.5):
        _ = _run._loader("model", gpus)()
    assert seen == [None, "cuda"]


@pytest.mark.parametrize(
    ("model", "found"),
    [
        (None, "NoneType"),
        (3, "int"),
        (torch.nn.Linear(1, 1), "Linear"),
        (Loaded(cast("Any", torch.nn.Linear(1, 1)), None), "Loaded"),
        (lambda: (torch.nn.Linear(1, 1), None), "one that returns tuple"),
    ],
)
def test_a_model_of_another_type_is_an_error_that_says_what_to_pass(
    data: Path, tmp_path: Path, model: Any, found: str
) -> None:
    message = f"model: expected the folder or id of a model, or a function .*, got {found}. For a"
    with pytest.raises(InputError, match=message):
        _ = run(model, data, tmp_path / "run")
    assert not (tmp_path / "run" / "run.json").exists()
