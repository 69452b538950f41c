"""`run`: an evaluation over a corpus, in parts, which resumes where it was stopped."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from attnflow._internal import checks
from attnflow._internal.display import first_names
from attnflow._internal.files import PathLike, as_path
from attnflow._internal.optional import require
from attnflow._internal.run_folder import folder_names, locked_folder
from attnflow.edges import BlockLayout, check_layout
from attnflow.errors import InputError
from attnflow.evaluate._plan import EvaluationPlan
from attnflow.evaluate._texts import LabelledText
from attnflow.evaluate.corpus._arguments import check_arguments, load_checked
from attnflow.evaluate.corpus._data import Corpus, Part, Scan, open_corpus
from attnflow.evaluate.corpus._engine import Engine, LocalEngine
from attnflow.evaluate.corpus._formats import save_summary
from attnflow.evaluate.corpus._parts import RESULTS, PartFiles
from attnflow.evaluate.corpus._ray import ray_engine
from attnflow.evaluate.corpus._settings import FILE, run_settings, store_settings
from attnflow.evaluate.corpus._summary import Summary, summarize
from attnflow.evaluate.corpus._worker import Load, Worker, WorkerFacts
from attnflow.models import load

EngineName: TypeAlias = Literal["local", "ray"]
_PLAIN = "this is a text of some words"
_CANDIDATES = 16  # texts, of which one of middle length is tried before a run. Chosen
PART_SIZE = 512  # texts. Chosen: some seconds of work, which is what a killed run loses at most


class RunProgress(NamedTuple):
    """How far a run is.

    Attributes
    ----------
    texts, total
        Number of texts that are done, with those of an earlier run, and of all.
    measured, failed
        Number of texts that this run has measured, and of those among them that failed.
    written
        Number of texts whose results are on the disk, which a run that is stopped keeps.
    """

    texts: int
    total: int
    measured: int
    failed: int
    written: int = 0


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that is complete.

    Attributes
    ----------
    folder
        The folder of the run.
    summary
        The statistics of all texts.
    parts, resumed
        Number of parts, and of those that an earlier run had finished.
    damaged
        Names of files whose checksum was wrong; their parts were measured again.
    """

    folder: Path
    summary: Summary
    parts: int
    resumed: int
    damaged: tuple[str, ...]

    @property
    def results(self) -> Path:
        """The folder with the Parquet files."""
        return self.folder / RESULTS

    @property
    def summaries(self) -> tuple[Path, ...]:
        """The files with the summary."""
        return tuple(sorted(self.folder.glob("summary.*")))


def run(
    model: PathLike | Load,
    data: PathLike,
    out: PathLike,
    *,
    plan: EvaluationPlan | None = None,
    name: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    position_column: str | None = None,
    limit: int | None = None,
    part_size: int = PART_SIZE,
    layout: BlockLayout | None = None,
    threads: int | None = None,
    fail_fast: bool = False,
    engine: EngineName = "local",
    address: str | None = None,
    workers: int | None = None,
    gpus: float = 0.0,
    on_progress: Callable[[RunProgress], None] = lambda _: None,
) -> RunResult:
    r"""Evaluate a plan on all texts of a data file, or resume the run in `out`.

    The folder `out` then has `results`, a Parquet dataset with one row for each text, edge weight,
    method, layer, importance and metric; `run.json`, the settings; and the summary as text,
    Markdown, CSV, LaTeX and, with matplotlib, as a figure.

    Parameters
    ----------
    model
        The folder of a Hugging Face model or its id on the hub; or a function without arguments
        that returns a `models.Loaded`, such as `paper.load`.
    data
        A .tsv, .csv, .jsonl or .parquet file; a folder that `save_to_disk` of Hugging Face datasets
        wrote; any other file has one text a line. TSV and CSV have a header. Text is UTF-8.
    out
        A new or empty folder, or that of the same run to resume it.
    plan
        What is computed for every text.
    name
        How results name the model; by default its folder or id.
    text_column
        The column with the texts: by default `text` or `sentence`, else the only one with strings.
    label_column, position_column
        The columns with labels, for a plan with `target="label"`, and with the positions of tokens,
        for the metric "pointing"; by default `label` and `position`.
    limit
        Number of texts to read; by default all.
    part_size
        Number of texts of a part. A run that is killed loses the parts that it is working on.
    layout
        As for `measure`.
    threads
        As for `measure`. For Ray also the number of CPUs of a worker, one by default.
    fail_fast
        Stop at the first text that fails. By default it is recorded with its error.
    engine
        "local" measures in this process, "ray" on a Ray cluster.
    address
        Of the Ray cluster, HOST:PORT; by default that of this machine, which is started if needed.
    workers
        Number of Ray workers, each with a model; by default as many as CPUs and GPUs allow.
    gpus
        GPUs of each Ray worker. A folder or id is loaded there; a function chooses by itself.
    on_progress
        Called when texts are done. An exception that it raises stops the run.

    Notes
    -----
    A part is a pure function of its texts, the settings and the versions of packages. Its file is
    written under another name, flushed and renamed, and its name has a checksum. A run that was
    killed therefore resumes with the same call, measures no finished part again and, on the same
    kind of processor, ends with the same bytes as one that was not. Memory does not grow with the
    number of texts, but for 17 bytes a part.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from attnflow import evaluate, paper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = Path(folder, "texts.txt")
    ...     _ = data.write_text("the key to the cabinets\nthe keys to the cabinet\n")
    ...     done = evaluate.run(paper.load, data, Path(folder, "run"))
    ...     done.summary.texts, sorted(path.name for path in done.folder.glob("*.json"))
    (2, ['run.json'])
    """
    require("pyarrow", need="evaluation over a corpus needs", extra="parquet")
    check_arguments(model, plan, workers, on_progress, fail_fast=fail_fast)
    plan = plan or EvaluationPlan()
    loader = functools.partial(load_checked, _loader(model, gpus))
    worker = Worker(loader, plan, _threads(threads), check_layout(layout))
    corpus = open_corpus(
        data, plan, text_column=text_column, label_column=label_column,
        position_column=position_column, limit=limit, part_size=part_size,
    )  # fmt: skip
    using = _engine(engine, worker, address=address, workers=workers, gpus=gpus)
    return run_corpus(
        corpus, as_path(out), plan, _name(model, name), using, on_progress, fail_fast=fail_fast
    )


def run_corpus(
    corpus: Corpus,
    folder: Path,
    plan: EvaluationPlan,
    name: str,
    using: AbstractContextManager[Engine],
    on_progress: Callable[[RunProgress], None],
    *,
    fail_fast: bool,
) -> RunResult:
    """Measure the texts of a corpus with an engine, or resume the run in a folder."""
    _check_folder(folder)
    with using as engine:
        scan = corpus.scan()  # before anything is written
        with locked_folder(folder, run="evaluation"):
            facts = engine.start()
            _check_labels(corpus, scan, facts)
            if not (folder / FILE).exists():
                _check_a_text(engine, corpus, scan, facts)
            settings = run_settings(name, plan, corpus, scan, facts)
            store_settings(folder, settings)
            files = PartFiles.of(folder, scan.parts, settings)
            damaged = files.verify()
            resumed = int(files.finished.sum())
            _measure_parts(engine, corpus, scan, files, on_progress, fail_fast=fail_fast)
            summary = summarize(files.paths(), settings)
            save_summary(summary, folder)
    return RunResult(folder, summary, scan.parts, resumed, damaged)


def _measure_parts(
    engine: Engine,
    corpus: Corpus,
    scan: Scan,
    files: PartFiles,
    on_progress: Callable[[RunProgress], None],
    *,
    fail_fast: bool,
) -> None:
    """Measure and commit the parts that are not finished."""
    earlier = int(files.finished.sum()) * corpus.part_size
    if files.finished[-1]:  # the last part may be smaller
        earlier -= scan.parts * corpus.part_size - scan.texts
    measured = failed = 0

    def report(more: int = 0) -> None:
        done, written = measured + more, earlier + measured
        on_progress(RunProgress(earlier + done, scan.texts, done, failed, written))

    report()
    todo = (part for part in corpus.parts(scan) if not files.finished[part.number])
    for part, found in engine.results(todo, lambda done, _: report(done)):
        errors = {part.first + at: error for at, error in enumerate(found.errors) if error}
        if fail_fast and errors:
            raise InputError("text_id {} failed: {}".format(*next(iter(errors.items()))))
        files.write(part, found)
        measured += len(part.texts)
        failed += len(errors)
        report()


def _engine(
    name: EngineName, worker: Worker, *, address: str | None, workers: int | None, gpus: float
) -> AbstractContextManager[Engine]:
    if name == "ray":
        require("ray", need="engine='ray' needs", extra="ray")
        return ray_engine(worker, address=address, workers=workers, gpus=gpus)
    if name != "local":
        raise InputError(f"engine must be 'local' or 'ray', got {name!r}")
    for argument, value in (("address", address), ("workers", workers), ("gpus", gpus)):
        if value:
            raise InputError(f"{argument} must be left out without engine='ray', got {value!r}")
    return nullcontext(LocalEngine(worker))


def _check_folder(folder: Path) -> None:
    """Raise an InputError unless a folder is new, empty or of a run."""
    # A run that was killed before it wrote its settings leaves nothing but a draft of them.
    names = {name for name in folder_names(folder) if not name.endswith(".part")}
    if names and FILE not in names:
        raise InputError(
            f"the folder {folder} is not empty and not a run to resume: it contains "
            f"{first_names(sorted(names))}. Choose a new or empty folder"
        )


def _check_labels(corpus: Corpus, scan: Scan, facts: WorkerFacts) -> None:
    """Raise an InputError about a label that the classifier does not have."""
    if facts.labels is None:
        return
    known = {*facts.labels, *range(len(facts.labels))}
    for label, number in scan.labels.items():
        if label not in known:
            raise InputError(
                f"{corpus.source.place(number)}: expected a label of the model "
                f"({', '.join(facts.labels)}, or 0 to {len(facts.labels) - 1}), got {label!r}"
            )


def _check_a_text(engine: Engine, corpus: Corpus, scan: Scan, facts: WorkerFacts) -> None:
    """Raise the error of a model or setting with which every text would fail.

    That is one with which a text of the corpus and a plain text of a few words fail alike.
    """
    first = next(corpus.parts(scan)).texts[:_CANDIDATES]
    sample = sorted(first, key=lambda text: len(text.text))[len(first) // 2]
    plain = f"{_PLAIN} {facts.mask_token or ''}"
    position = None if sample.position is None else 0
    texts = (sample, LabelledText(plain, sample.label, position))
    [(_, found)] = engine.results(iter([Part(0, 0, texts)]), lambda _done, _total: None)
    if found.errors[0] is not None and found.errors[0] == found.errors[1]:
        raise InputError(found.errors[0])


def _loader(model: PathLike | Load, gpus: float) -> Load:
    if callable(model):
        return model
    return functools.partial(load, model, device="cuda" if gpus else None)


def _name(model: PathLike | Load, name: str | None) -> str:
    """Return the name of a model, without the folders above its own."""
    if name is not None:
        return name
    if callable(model):
        return getattr(model, "__qualname__", type(model).__name__)
    return Path(model).absolute().name if os.path.isdir(model) else str(model)  # noqa: PTH112


def _threads(threads: int | None) -> int | None:
    if threads is None:
        return None
    return checks.as_int(threads, "threads", least=1, most=checks.MAX_THREADS)
