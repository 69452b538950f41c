"""Reader of SST-2, sentences of film reviews with their sentiment.

Socher et al., "Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank",
EMNLP 2013, https://aclanthology.org/D13-1170; as in GLUE (Wang et al., 2018).
"""

from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from attnflow._internal.display import first_names
from attnflow._internal.files import PathLike, as_path, check_is_folder, open_regular
from attnflow.errors import InputError

SENTIMENTS = ("negative", "positive")  # by label

Part: TypeAlias = Literal["train", "dev", "test"]
# The test split has no labels; GLUE's own file is test.tsv.
_FILES = {
    "train": ("train.tsv",),
    "dev": ("dev.tsv",),
    "test": ("test.tsv", "test_unlabelled.tsv"),
}
_FOLDERS = ("", "sst2", "SST-2")  # of a folder with several data sets


class Review(NamedTuple):
    """A sentence, or in the training split also a phrase of one, and its label.

    The label is 0 for negative and 1 for positive; None in the test split.
    """

    text: str
    label: int | None


def read_sst2(folder: PathLike, part: Part) -> list[Review]:
    r"""Return the sentences of a split of SST-2 in the order of its file.

    Parameters
    ----------
    folder
        The folder of train.tsv, dev.tsv and test.tsv (or test_unlabelled.tsv), or the folder of
        that folder if its name is sst2 or SST-2.
    part
        "train", "dev" or "test".

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "dev.tsv").write_text("sentence\tlabel\na charming journey \t1\n")
    ...     read_sst2(folder, "dev")
    [Review(text='a charming journey', label=1)]
    """
    if part not in _FILES:
        raise InputError(f"part must be one of {', '.join(_FILES)}, got {part!r}")
    path = _find(as_path(folder), part)
    columns = ("sentence",) if part == "test" else ("sentence", "label")
    with open_regular(path) as file:
        lines = file.read().decode("utf-8-sig", errors="replace").split("\n")
    header = lines[0].rstrip("\r").split("\t")
    if missing := [name for name in columns if name not in header]:
        raise InputError(
            f"{path}: expected a header with the columns {', '.join(columns)}; "
            f"{', '.join(missing)} missing in {header!r}. Check that it is the right file"
        )
    rows = [
        _review(line.rstrip("\r").split("\t"), header, part, f"{path}, line {number}")
        for number, line in enumerate(lines[1:], start=2)
        if line.strip()
    ]
    if not rows:
        raise InputError(f"{path}: expected sentences, got none. Check that the file is complete")
    return rows


def _find(folder: Path, part: str) -> Path:
    check_is_folder(folder)
    for inner in _FOLDERS:
        for name in _FILES[part]:
            if (path := folder / inner / name).exists():
                return path
    names = sorted(path.name for path in folder.iterdir())
    raise InputError(
        f"expected {' or '.join(_FILES[part])} of SST-2 in the folder {folder}, got "
        f"{first_names(names) or 'no files'}. Pass the folder of SST-2 as GLUE has it"
    )


def _review(fields: list[str], header: list[str], part: str, place: str) -> Review:
    if len(fields) != len(header):
        raise InputError(
            f"{place}: expected {len(header)} tab-separated fields, got {len(fields)}. Fix the file"
        )
    row = dict(zip(header, fields, strict=True))
    if not (text := row["sentence"].strip()):
        raise InputError(f"{place}: expected a sentence, got none. Fix the file")
    if part == "test":
        return Review(text, None)
    if row["label"] not in ("0", "1"):
        raise InputError(f"{place}: expected the label 0 or 1, got {row['label']!r}. Fix the file")
    return Review(text, int(row["label"]))
