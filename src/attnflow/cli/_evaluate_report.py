"""What `attnflow evaluate` prints of a run that is complete."""

import json
from typing import Any

import typer

from attnflow._internal.columns import nan_to_none
from attnflow._internal.display import first_names
from attnflow._internal.settings import thaw_settings
from attnflow.cli._notes import print_note
from attnflow.errors import InputError
from attnflow.evaluate import RunResult


def print_run(done: RunResult, *, as_json: bool) -> None:
    """Print the summary, as text or JSON, and on stderr what the run wrote.

    A run whose texts all failed is then an InputError.
    """
    if done.damaged:
        names = first_names(done.damaged, 3)
        print_note(f"{len(done.damaged)} damaged files were computed again: {names}")
    earlier = f", of earlier runs: {done.resumed}" if done.resumed else ""
    typer.echo(
        f"wrote {done.folder}: results (parts: {done.parts}{earlier}), "
        f"run.json and {', '.join(path.name for path in done.summaries)}",
        err=True,
    )
    typer.echo(json.dumps(_document(done)) if as_json else done.summary.text(), nl=as_json)
    if done.summary.failed == done.summary.texts:
        raise InputError(f"all texts failed, the first: {done.summary.errors[0][1]}")


def _document(done: RunResult) -> dict[str, Any]:
    summary = done.summary
    return {
        "out": str(done.folder),
        "texts": summary.texts,
        "failed": summary.failed,
        "errors": [{"text_id": number, "error": error} for number, error in summary.errors],
        "parts": done.parts,
        "resumed": done.resumed,
        "damaged": list(done.damaged),
        "cells": [
            {
                **item.cell._asdict(),
                **dict(zip(("mean", "std", "low", "high"), nan_to_none(item[1:5]), strict=True)),
                "defined": item.defined,
                "undefined": item.undefined,
            }
            for item in summary.cells
        ],
        "clipped": dict(summary.clipped),
        "settings": thaw_settings(summary.settings),
    }
