"""The settings of a run: what its results depend on, in run.json and in every file of results."""

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, cast

from attnflow._internal.files import parse_json
from attnflow._internal.run_folder import folder_names, replace_file
from attnflow.errors import InputError
from attnflow.evaluate._plan import EvaluationPlan
from attnflow.evaluate.corpus._data import Corpus, Scan
from attnflow.evaluate.corpus._parts import RESULTS
from attnflow.evaluate.corpus._worker import WorkerFacts

FILE = "run.json"
_FORMAT = 3  # of the files of a run and the meaning of their values


def run_settings(
    name: str, plan: EvaluationPlan, corpus: Corpus, scan: Scan, facts: WorkerFacts
) -> dict[str, Any]:
    """Return all that the results of a run depend on, as JSON values.

    Folders are left out, so that data and models may be moved; digests say which they are.
    """
    return {
        "format": _FORMAT,
        "model": {"name": name, "digest": facts.model},
        "data": {
            "name": corpus.source.path.absolute().name,
            "text_column": corpus.text_column,
            "label_column": corpus.label_column,
            "position_column": corpus.position_column,
            "limit": corpus.limit,
            "texts": scan.texts,
            "digest": scan.digest,
        },
        "plan": plan.to_dict(),
        "layout": facts.layout,
        "part_size": corpus.part_size,
        "threads": facts.threads,
        "device": facts.device,
        "versions": {**facts.versions, "pyarrow": metadata.version("pyarrow")},
    }


def store_settings(folder: Path, settings: dict[str, Any]) -> None:
    """Write the settings of a new run; those of another run are an InputError with differences.

    Settings of a run that has no results yet, as if its first text failed, are replaced.
    """
    path = folder / FILE
    stored = read_settings(folder) if path.exists() else None
    if stored is None or (stored.get("format") == _FORMAT and not folder_names(folder / RESULTS)):
        replace_file(path, (json.dumps(settings, indent=2) + "\n").encode())
        return
    before, now = dict(_flat(stored)), dict(_flat(settings))
    differences = [
        f"{name} was {json.dumps(before.get(name))}, got {json.dumps(now.get(name))}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    ]
    if differences:
        raise InputError(
            f"{folder} holds another run: {'; '.join(differences)}. Choose another folder, or "
            "resume with the same settings, data and versions"
        )


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of the run in a folder."""
    path = folder / FILE
    try:
        stored: object = parse_json(path.read_text("utf-8"))
    except FileNotFoundError as reason:
        raise InputError(f"expected the folder of a run, with {FILE}, got {folder}") from reason
    except (OSError, ValueError) as reason:
        raise InputError(f"{path} cannot be read: {reason}. Choose another folder") from reason
    if not isinstance(stored, dict):
        raise InputError(f"{path}: expected a JSON object. Choose another folder")
    return cast("dict[str, Any]", stored)


def _flat(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield names such as plan.metrics, and values."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(cast("dict[str, Any]", value), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
