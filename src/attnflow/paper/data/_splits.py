"""Training, validation and test splits of the agreement sentences.

A hash of its words and a seed decides the split of a prefix. The same prefix is therefore in the
same split in every file and on every machine.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attnflow._internal.files import PathLike, as_path, check_is_folder
from attnflow.errors import InputError
from attnflow.paper.data._generate import generate
from attnflow.paper.data._prefix import Prefix
from attnflow.paper.data._read import ParsedFile, read_corpus, read_numpred, read_sentences

CORPUS = ("agr_50_mostcommon_10K.tsv", "agr_50_mostcommon_10K.tsv.gz")
_GENERATED = "generated sentences"  # the name of generated sentences in `Splits.files`
_ATTRACTORS = range(1, 6)  # numpred.test.1 … .5
_TEST = 0.1  # share of each file
_VALIDATION = 0.1  # share of the natural rows
_ATTRACTOR_VALIDATION = 0.02  # share of each attractor file
_MIN_TEST = 100  # rows of each attractor file, the small ones too


@dataclass(frozen=True, slots=True)
class DataFile:
    """The name of a data file, its number of rows, and the number of rows that were skipped."""

    name: str
    rows: int
    malformed: int = 0


@dataclass(frozen=True, slots=True)
class Splits:
    """Prefixes for training, validation and test; every prefix occurs once, in one split.

    Parameters
    ----------
    train, attractor_train
        For training: prefixes in their natural mix, and prefixes from attractor files.
    validation, attractor_validation
        For choosing settings and checkpoints.
    test, attractor_test
        For the final accuracies; no setting is chosen on them.
    wiki_test
        The prefixes of another file, wiki-test.txt; not trained on either.
    malformed
        Rows that could not be read: file, line, reason.
    files
        The files that the prefixes come from.
    """

    train: tuple[Prefix, ...] = ()
    attractor_train: tuple[Prefix, ...] = ()
    validation: tuple[Prefix, ...] = ()
    attractor_validation: tuple[Prefix, ...] = ()
    test: tuple[Prefix, ...] = ()
    attractor_test: tuple[Prefix, ...] = ()
    wiki_test: tuple[Prefix, ...] = ()
    malformed: tuple[tuple[Path, int, str], ...] = ()
    files: tuple[DataFile, ...] = ()

    @property
    def held_out(self) -> frozenset[tuple[str, ...]]:
        """The words of every validation and test prefix: never trained on."""
        tests = (*self.test, *self.attractor_test, *self.wiki_test)
        return frozenset(p.words for p in (*self.validation, *self.attractor_validation, *tests))

    @property
    def generated(self) -> bool:
        """Whether the sentences are generated, not read from files."""
        return any(file.name == _GENERATED for file in self.files)

    @property
    def digest(self) -> str:
        """A short hash of everything that a training run uses."""
        parts = (self.train, self.attractor_train, self.validation, self.attractor_validation)
        known = [[(p.words, p.number, p.attractors, p.subject) for p in part] for part in parts]
        return hashlib.sha256(repr((known, sorted(self.held_out))).encode()).hexdigest()[:16]


def load_splits(folder: PathLike, *, seed: int = 0) -> Splits:
    """Return the splits of a folder with the authors' file, or `linzen/` and `linzen-sentences/`.

    The test split is a tenth of the distinct prefixes of each file, the validation split another
    tenth of the natural ones. Rows that cannot be read are skipped and listed in
    `Splits.malformed`.

    Parameters
    ----------
    folder
        Contains `agr_50_mostcommon_10K.tsv` or `.tsv.gz`; or else `linzen/numpred.val`,
        `linzen/numpred.test.1` to `.5`, `linzen-sentences/wiki-dev.txt` and `wiki-test.txt`.
    seed
        Another seed gives other splits. The shipped model was trained on those of seed 0.
    """
    folder = as_path(folder)
    check_is_folder(folder)
    for name in CORPUS:
        if (folder / name).exists():
            corpus = read_corpus(folder / name)
            return _assemble(_natural_splits(corpus.prefixes, seed), (corpus,))
    numpred, wiki = folder / "linzen", folder / "linzen-sentences"
    paths = [numpred / "numpred.val", *(numpred / f"numpred.test.{k}" for k in _ATTRACTORS)]
    paths += [wiki / "wiki-dev.txt", wiki / "wiki-test.txt"]
    if missing := [str(path.relative_to(folder)) for path in paths if not path.exists()]:
        raise InputError(
            f"the folder {folder} lacks {', '.join(missing)}. The alternative is the authors' "
            f"complete file, {CORPUS[0]} or {CORPUS[1]}"
        )
    natural, dev, wiki_test = read_numpred(paths[0]), *map(read_sentences, paths[6:])
    attractors = [
        read_numpred(path, attractors=k) for k, path in zip(_ATTRACTORS, paths[1:6], strict=True)
    ]
    splits = _natural_splits(natural.prefixes, seed)
    splits["train"] = _distinct((*splits["train"], *dev.prefixes))
    splits["wiki_test"] = _distinct(wiki_test.prefixes)
    for file in attractors:
        rows = _distinct(file.prefixes)
        test = max(_TEST, _MIN_TEST / max(len(rows), 1))
        for name, part in _split(rows, seed, test, _ATTRACTOR_VALIDATION).items():
            splits.setdefault(f"attractor_{name}", []).extend(part)
    return _assemble(splits, (natural, *attractors, dev, wiki_test))


def generated_splits(count: int, *, seed: int = 0) -> Splits:
    """Return splits of at most `count` generated sentences, for use without data files.

    Duplicates are dropped. A fifth of the sentences is held out.

    Examples
    --------
    >>> splits = generated_splits(1000)
    >>> 700 < len(splits.train) < 850 and 80 < len(splits.test) < 120
    True
    """
    made = _distinct(generate(count, seed=seed))
    splits = _assemble(_natural_splits(made, seed), ())
    return replace(splits, files=(DataFile(_GENERATED, len(made)),))


def _natural_splits(prefixes: Iterable[Prefix], seed: int) -> dict[str, list[Prefix]]:
    return _split(_distinct(prefixes), seed, _TEST, _VALIDATION)


def _split(
    prefixes: Sequence[Prefix], seed: int, test: float, validation: float
) -> dict[str, list[Prefix]]:
    splits: dict[str, list[Prefix]] = {"test": [], "validation": [], "train": []}
    for prefix in prefixes:
        digest = hashlib.sha256(f"{seed} {prefix.text}".encode()).digest()
        uniform = int.from_bytes(digest[:8], "big") / 2**64  # in [0, 1)
        held_out = "test" if uniform < test else "validation"
        splits[held_out if uniform < test + validation else "train"].append(prefix)
    return splits


# A prefix that is in several splits stays in the first of these.
_PRIORITY = (
    "test", "wiki_test", "attractor_test", "validation", "attractor_validation", "train",
    "attractor_train",
)  # fmt: skip


def _assemble(splits: Mapping[str, Sequence[Prefix]], files: Sequence[ParsedFile]) -> Splits:
    """Keep every prefix once, in one split."""
    kept: dict[tuple[str, ...], tuple[str, Prefix]] = {}
    for name in _PRIORITY:
        for prefix in splits.get(name, ()):
            _ = kept.setdefault(prefix.words, (name, prefix))
    parts: dict[str, list[Prefix]] = {name: [] for name in _PRIORITY}
    for name, prefix in kept.values():
        parts[name].append(prefix)
    return Splits(
        **{name: tuple(part) for name, part in parts.items()},
        malformed=tuple((file.path, *row) for file in files for row in file.malformed),
        files=tuple(
            DataFile(file.path.name, len(file.prefixes), len(file.malformed)) for file in files
        ),
    )


def _distinct(prefixes: Iterable[Prefix]) -> list[Prefix]:
    """Return each prefix once with its count; of equal prefixes the first one's number counts."""
    found: dict[tuple[str, ...], Prefix] = {}
    for prefix in prefixes:
        first = found.get(prefix.words)
        found[prefix.words] = prefix if first is None else replace(first, count=first.count + 1)
    return list(found.values())
