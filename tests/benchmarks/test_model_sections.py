"""The parts that measure models, which a quick run leaves out: small sizes, in this process."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The folder's modules by name, for this test."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        place = getattr(sys.modules[name], "__file__", None) or ""
        if Path(place).parent == BENCHMARKS:
            del sys.modules[name]


def test_segment_rollout_reports_the_memory_of_the_call_and_of_the_process(
    benchmarks: Any, monkeypatch: pytest.MonkeyPatch
):
    part, timing, plan = map(benchmarks, ("segment_rollout", "timing", "plan"))
    peak = part._measure("rollout", 64)
    assert 0 <= peak.call < peak.process
    assert peak.seconds > 0
    measured = {("sdpa", "64"): (10, 100, 1), ("rollout", "64"): (30, 120, 2)}
    monkeypatch.setattr(timing, "in_new_process", lambda _, *run: measured.get(run, (50, 200, 3)))
    found = part.section(plan.QUICK)
    beside = found.findings[0].beside
    assert "10 MB for the call (3.00 times), 100 MB for the process (1.20 times)" in beside
    assert "50 MB for the call, 200 MB for the process" in found.findings[1].attnflow


def test_a_quick_run_measures_no_model(benchmarks: Any):
    run, plan = benchmarks("run"), benchmarks("plan")
    assert not run._of_models(plan.QUICK)
    assert list(run._of_models(plan.FULL)) == [
        "attention from a model",
        "edge weights",
        "rollout of long inputs",
        "the paper's tables",
        "evaluation over a corpus",
        "the local app",
        "the page",
    ]


def test_the_command_reports_wall_and_processor_time_and_that_of_bad_input(
    benchmarks: Any, tmp_path: Path
):
    part = benchmarks("start_up")
    environment = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    wall, cpu, bad = part._command(1, environment)
    assert (wall.what, cpu.what) == (
        "`attnflow explain`, wall time",
        "`attnflow explain`, CPU time",
    )
    for found in (wall, cpu):
        assert " times `import torch, transformers`: " in found.beside
        assert found.floor.startswith("at most 1.3 times and 1 s: ")
    assert bad.what == "`attnflow explain` with a folder that does not exist"
    assert bad.beside.startswith("with whitespace for a text: ")


def test_a_command_that_ends_otherwise_than_expected_is_not_timed(benchmarks: Any):
    timing = benchmarks("timing")
    with pytest.raises(RuntimeError, match="expected exit code 1, got 0"):
        timing.of_process("-c", "", status=1)


def test_the_papers_tables_report_their_time_and_the_share_of_rollout_and_flow(
    benchmarks: Any, monkeypatch: pytest.MonkeyPatch
):
    part, plan = map(benchmarks, ("paper_tables", "plan"))
    run = part._run("table-2", 3)
    assert run.seconds > sum(run.parts.values()) > 0
    measured = {
        "table-1": part.Run(6.0, {"blank_out": 3.0, "rollout": 0.5, "flow": 0.5}),
        "table-2": part.Run(4.0, {"input_gradient": 1.0, "rollout": 0.5, "flow": 0.5}),
    }
    monkeypatch.setattr(part, "_run", lambda table, _samples: measured[table])
    (finding,) = part.section(plan.QUICK).findings
    assert finding.attnflow == "10.0 s for both"
    assert finding.beside == "20% of it in rollout and flow"


def test_a_run_over_a_corpus_is_timed_in_its_parts(benchmarks: Any, tmp_path: Path):
    part = benchmarks("corpus_runs")
    stopped = part.Run(**part.measure(str(tmp_path), 600, 512, 0))
    assert 512 < stopped.measured <= 600
    resumed = part.Run(**part.measure(str(tmp_path), 600, 0, 0))
    assert resumed.measured == 88  # the second part
    assert min(resumed.start, resumed.work, resumed.end) > 0
    assert 0 < resumed.model < resumed.work
    assert 0 < resumed.checked < resumed.start
    assert resumed.served > 0
    assert resumed.result_mb > stopped.result_mb > 0


def test_evaluation_over_a_corpus_reports_speed_memory_resuming_and_ray(
    benchmarks: Any, monkeypatch: pytest.MonkeyPatch
):
    part, runs, plan = map(benchmarks, ("corpus", "corpus_runs", "plan"))
    names = ("start", "work", "end", "peak_mb", "measured")
    measured: dict[tuple[int, int, int], tuple[float, ...]] = {
        (4, 0, 0): (1.0, 7.0, 0.0, 500.0, 4),
        (8, 0, 0): (2.0, 17.0, 1.0, 550.0, 8),
        (8, 4, 0): (2.0, 8.0, 0.0, 500.0, 4),
        (8, 0, 1): (5.0, 20.0, 1.0, 300.0, 8),
        (8, 0, 2): (5.0, 10.0, 1.0, 300.0, 8),
    }
    same = {
        "work_cpu": 20.0, "model": 13.6, "model_cpu": 12.0, "checked": 0.2, "served": 0.8,
        "result_mb": 2.0,
    }  # fmt: skip

    def run(_: str, count: int, *, stop: int = 0, workers: int = 0) -> Any:
        own = dict(zip(names, measured[count, stop, workers], strict=True))
        return runs.Run(**same, **own)

    monkeypatch.setattr(runs, "run", run)
    monkeypatch.setattr(part.importlib.util, "find_spec", lambda _: object())
    found = part.section(plan.QUICK)
    speed, memory, resume, ray = found.findings
    assert speed.attnflow == "0 texts per second"
    assert "20% of the time of the work, 40% of its processor time" in speed.beside
    assert memory.attnflow == "500, 550 MB"
    assert memory.beside == "1.10 times"
    assert (resume.attnflow, resume.beside) == ("200 ms", "1.00% of the run")
    assert ray.beside == "20.0 s (2.00 times)"
    assert "| 8 | 2.00 s | 17.0 s | 1.00 s | 0 | 550 MB | 2,048 kB |" in found.blocks[1]
    # 8 texts in 20 s are 0.4 a second; the driver needs 0.1 s for each.
    assert "10⁸ / 0 s = 69,444 worker hours" in found.blocks[-1]
    assert "keeps up with about 25 workers" in found.blocks[-1]
    assert [f.what for f in part.section(plan.QUICK, ["resume"]).findings] == [resume.what]


def test_the_app_under_load_reports_latency_errors_and_memory(
    benchmarks: Any, monkeypatch: pytest.MonkeyPatch
):
    part = benchmarks("app_load")
    monkeypatch.setattr(part, "_WARM", 2)
    found = part.section(clients=2, seconds=1.0)
    (finding,) = found.findings
    assert finding.what == "the local app, 2 clients for 1 s"
    assert "0 errors" in finding.attnflow
    table = found.blocks[1]
    for what in ("requests", "p95", "answered from the cache", "memory at the end"):
        assert f"| {what} | " in table


def test_the_page_in_a_browser_reports_first_picture_hover_and_flow(benchmarks: Any):
    part = benchmarks("page_speed")
    if not part.is_possible():
        pytest.skip("there is no Chromium here; ATTNFLOW_CHROMIUM may name one")
    found = part.section(tokens=24, layers=3, rounds=2)
    finding, solving = found.findings
    assert finding.what == "the page, 24 tokens, 3 layers: first picture, hover"
    assert "| hover, median | " in found.blocks[1]
    assert "flow of another position" in solving.what
    assert solving.attnflow in found.blocks[1]


def test_edge_weights_are_timed_beside_a_plain_pass_and_norms_and_alti_weighed(
    benchmarks: Any, monkeypatch: pytest.MonkeyPatch
):
    part, timing, plan = map(benchmarks, ("edge_weights", "timing", "plan"))
    peaks = {("norms", "8"): 12, ("alti", "8"): 20, ("norms", "32"): 13, ("alti", "32"): 2000}
    monkeypatch.setattr(timing, "in_new_process", lambda _file, *run: peaks[run])
    found = part.section(plan.QUICK)
    timed = ["effective", "gradient", "norms", "alti", "effective", "value_zeroing"]
    assert [finding.what.split("`")[1] for finding in found.findings] == [
        f"edges.{name}" for name in timed
    ]
    assert found.findings[4].what.endswith(", causal")
    assert "| plain, causal | " in found.blocks[1]
    for row in (
        "| norms | 12 MB | 13 MB |",
        "| alti | 20 MB | 2,000 MB |",
        "| n² vectors of one layer",
    ):
        assert row in found.blocks[3]


def test_the_memory_of_an_edge_weight_is_that_of_the_call(benchmarks: Any):
    assert 0 <= benchmarks("edge_weights")._measure("norms", 8) < 1000


def test_one_command_prints_the_grid_of_edge_weights(
    benchmarks: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
):
    command = ["edge_grid.py", "verb-number", "--texts", "2", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    benchmarks("edge_grid").main()
    printed = capsys.readouterr().out
    *tables, last = printed.split("edges, method")[1:]
    assert len(tables) == 6  # three kinds of importance, and three metrics of faithfulness
    for table in tables:
        names = [line.split("  ")[0] for line in table.splitlines()]
        cells = [name for name in names if name.endswith((", raw", ", rollout", ", flow"))]
        assert len(set(cells)) == 6 * 3
        assert {"random", "blank-out"} <= set(names)
        assert "\nBest: " in table
    assert last.count("\n| ") == 1 + 6 * 3 + 2  # with the line below the head
    assert len(re.findall(r" \| (?:-?\d\.\d\d|nan)", last)) == 6 * (6 * 3 + 2)
    kept = (tmp_path / "verb-number" / "last-layer.md").read_text(encoding="utf-8")
    assert printed.endswith(kept)
    run = tmp_path / "verb-number" / "run"
    assert (run / "summary.svg").is_file()
    assert (run / "summary.md").read_text(encoding="utf-8").count("| edges, method ") == 6
    drawn = tmp_path / "grid.svg"
    command = ["edge_grid_figure.py", str(run.parent), "--out", str(drawn)]
    monkeypatch.setattr(sys, "argv", command)
    benchmarks("edge_grid_figure").main()
    assert "rank correlation with blank-out" in drawn.read_text(encoding="utf-8")


def test_the_grid_prints_and_keeps_the_table_of_atom_mapping(
    benchmarks: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
):
    tables = {True: "all edge weights", False: "attention"}
    monkeypatch.setattr(benchmarks("atom_mapping"), "report_atoms", lambda *, edges: tables[edges])
    monkeypatch.setattr(sys, "argv", ["edge_grid.py", "atom-mapping", "--out", str(tmp_path)])
    benchmarks("edge_grid").main()
    assert capsys.readouterr().out == "all edge weights\n"
    kept = tmp_path / "atom-mapping" / "summary.md"
    assert kept.read_text(encoding="utf-8") == "all edge weights\n"


@pytest.mark.parametrize(("given", "name"), [(".", "model"), ("..", "runs"), ("../x", "x")])
def test_the_grid_names_the_folder_of_a_model_that_is_given_by_dots(
    benchmarks: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str, name: str
):
    folder, part, found = tmp_path / "runs" / "model", benchmarks("edge_grid"), list[Path]()
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)

    def grid(_model: str, _data: Path | None, out: Path, **_settings: Any) -> Any:
        found.append(out)
        raise SystemExit

    monkeypatch.setattr(part, "grid", grid)
    monkeypatch.setattr(sys, "argv", ["edge_grid.py", given, "--out", "out"])
    with pytest.raises(SystemExit):
        part.main()
    assert found == [Path("out") / name]
