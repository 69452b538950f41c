"""Models with every weight from a file: one that stayed random is an error."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def from_folder(kind: Any, folder: Path, *, left_out: Iterable[str] = (), **options: Any) -> Any:
    """A model of this class, read by transformers.

    `left_out`: beginnings of the names that the file has and the model does not want, such as heads
    for other tasks. Anything else that the two do not share is an error.
    """
    model, report = kind.from_pretrained(
        folder, output_loading_info=True, local_files_only=True, **options
    )
    wrong = [*report["mismatched_keys"], *report["error_msgs"]]
    _check(report["missing_keys"], report["unexpected_keys"], left_out, wrong)
    return model.eval()


def from_weights(model: Any, weights: Mapping[str, Any], *, left_out: Iterable[str] = ()) -> Any:
    """`model` with these weights, which go by the names of its own; see `from_folder`."""
    report = model.load_state_dict(weights, strict=False)  # another shape is an error there
    _check(report.missing_keys, report.unexpected_keys, left_out)
    return model.eval()


def _check(
    missing: Iterable[str],
    unexpected: Iterable[str],
    left_out: Iterable[str],
    wrong: Iterable[object] = (),
) -> None:
    extra = sorted(name for name in unexpected if not name.startswith(tuple(left_out)))
    if sorted(missing) or extra or list(wrong):
        raise ValueError(
            f"not in the file: {sorted(missing)}; not in the model: {extra}; wrong: {list(wrong)}"
        )
