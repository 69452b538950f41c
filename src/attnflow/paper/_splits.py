"""Which prefixes are trained on and which are measured on, seeded.

The split of a prefix is decided by a hash of its words and a seed, so that the same prefix is on
the same side whichever file it stands in, and on every machine.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attnflow.errors import InputError
from attnflow.paper._prefix import Prefix
from attnflow.paper._read import Read, read_corpus, read_numpred, read_sentences
from attnflow.paper._sentences import generate

ATTRACTORS = range(1, 6)  # numpred.test.1 … .5
GENERATED = "generated sentences"  # how sentences of our own are named among the sources
CORPUS = ("agr_50_mostcommon_10K.tsv", "agr_50_mostcommon_10K.tsv.gz")
_HELD_OUT = 0.1  # of each file, for the test
_VALIDATION = 0.1  # of the natural rows, for choosing among recipes and epochs
_ATTRACTOR_VALIDATION = 0.02  # of each attractor file
_HELD_OUT_AT_LEAST = 100  # rows of each attractor file, the small ones too


@dataclass(frozen=True, slots=True)
class Source:
    """A file by its name, the rows that were read, and how many more could not be."""

    name: str
    rows: int
    malformed: int = 0


@dataclass(frozen=True, slots=True)
class Splits:
    """Prefixes to train on and to measure on; no prefix stands in two of them, or in one twice.

    Parameters
    ----------
    natural, attractors
        For training: in the natural mix, and from files of sentences with attractors.
    validation, attractor_validation
        For decisions while training.
    test, attractor_test
        For the figures at the end; no setting is to be chosen by them.
    cross
        Of another file (wiki-test.txt); not trained on either.
    malformed
        Rows that could not be read: file, line, reason.
    sources
        Where the prefixes come from.
    """

    natural: tuple[Prefix, ...]
    attractors: tuple[Prefix, ...]
    validation: tuple[Prefix, ...]
    attractor_validation: tuple[Prefix, ...]
    test: tuple[Prefix, ...]
    attractor_test: tuple[Prefix, ...]
    cross: tuple[Prefix, ...]
    malformed: tuple[tuple[Path, int, str], ...] = ()
    sources: tuple[Source, ...] = ()

    @property
    def measured(self) -> frozenset[tuple[str, ...]]:
        """The words of every prefix that is measured on: never to be trained on."""
        kept = (
            self.validation,
            self.attractor_validation,
            self.test,
            self.attractor_test,
            self.cross,
        )
        return frozenset(prefix.words for part in kept for prefix in part)

    @property
    def digest(self) -> str:
        """A short name for all that is trained on and measured while training."""
        parts = (self.natural, self.attractors, self.validation, self.attractor_validation)
        known = [[(p.words, p.number, p.attractors, p.subject) for p in part] for part in parts]
        held_out = sorted(self.measured)
        return hashlib.sha256(repr((known, held_out)).encode()).hexdigest()[:16]


def load_splits(folder: str | os.PathLike[str], *, seed: int = 0) -> Splits:
    """The splits of a folder that holds the authors' file, or `linzen/` and `linzen-sentences/`.

    A tenth of the distinct prefixes of each file is for the test, another tenth of the natural ones
    for validation. Rows that cannot be read are left out and told in `Splits.malformed`.

    Parameters
    ----------
    folder
        Holds `agr_50_mostcommon_10K.tsv` or `.tsv.gz`; or else `linzen/numpred.val`,
        `linzen/numpred.test.1` to `.5`, `linzen-sentences/wiki-dev.txt` and `wiki-test.txt`.
    seed
        Another seed gives other splits. The shipped model was trained on those of seed 0.
    """
    folder = Path(folder)
    for name in CORPUS:
        if _there(folder / name):
            return _corpus_splits(read_corpus(folder / name), seed)
    numpred, wiki = folder / "linzen", folder / "linzen-sentences"
    files = [numpred / "numpred.val", *(numpred / f"numpred.test.{k}" for k in ATTRACTORS)]
    files += [wiki / "wiki-dev.txt", wiki / "wiki-test.txt"]
    if missing := [str(file.relative_to(folder)) for file in files if not _there(file)]:
        found = os.path.isdir(folder)  # noqa: PTH112 (False for a name that is too long)
        what = "the folder" if found else "there is no folder"
        raise InputError(
            f"{what} {folder}{' lacks' if found else '; it should hold'} "
            f"{', '.join(missing)}; the other way is the authors' whole file, {CORPUS[0]} or "
            f"{CORPUS[1]}"
        )
    natural = read_numpred(files[0])
    attractors = [
        read_numpred(file, attractors=k) for k, file in zip(ATTRACTORS, files[1:6], strict=True)
    ]
    dev, cross = read_sentences(files[6]), read_sentences(files[7])

    test, validation, train = _split(_distinct(natural.prefixes), seed, _HELD_OUT, _VALIDATION)
    hard: tuple[list[Prefix], list[Prefix], list[Prefix]] = ([], [], [])
    for read in attractors:
        rows = _distinct(read.prefixes)
        share = max(_HELD_OUT, _HELD_OUT_AT_LEAST / max(len(rows), 1))
        for part, found in zip(hard, _split(rows, seed, share, _ATTRACTOR_VALIDATION), strict=True):
            part.extend(found)
    reads = (natural, *attractors, dev, cross)
    parts = [test, _distinct(cross.prefixes), hard[0], validation, hard[1], train, hard[2]]
    parts[5] = _distinct((*train, *dev.prefixes))
    return _assembled(parts, reads)


def _there(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 (False for a name that is too long)


def _corpus_splits(read: Read, seed: int) -> Splits:
    """Splits of the full corpus: one file, in the natural mix.

    Sentences with attractors are not taken more often than they occur, and there is no other file
    to measure on.
    """
    test, validation, train = _split(_distinct(read.prefixes), seed, _HELD_OUT, _VALIDATION)
    return _assembled([test, [], [], validation, [], train, []], (read,))


def generated_splits(count: int, *, seed: int = 0) -> Splits:
    """Splits of about `count` sentences of our own, for where there is no data.

    Sentences that come twice are taken once, so there are fewer. A fifth of them is kept apart.

    Examples
    --------
    >>> splits = generated_splits(1000)
    >>> 700 < len(splits.natural) < 850 and 80 < len(splits.test) < 120
    True
    """
    made = _distinct(generate(count, seed=seed))
    test, validation, train = _split(made, seed, _HELD_OUT, _VALIDATION)
    splits = _assembled([test, [], [], validation, [], train, []], ())
    return replace(splits, sources=(Source(GENERATED, len(made)),))


def _assembled(parts: Sequence[Sequence[Prefix]], reads: Sequence[Read]) -> Splits:
    """Drop from each part what stands in an earlier one, or earlier in it."""
    seen: set[tuple[str, ...]] = set()
    kept: list[tuple[Prefix, ...]] = []
    for part in parts:
        new: list[Prefix] = []
        for prefix in part:
            if prefix.words not in seen:
                seen.add(prefix.words)
                new.append(prefix)
        kept.append(tuple(new))
    test, cross, attractor_test, validation, attractor_validation, natural, attractors = kept
    malformed = tuple((read.path, *row) for read in reads for row in read.malformed)
    return Splits(
        natural,
        attractors,
        validation,
        attractor_validation,
        test,
        attractor_test,
        cross,
        malformed,
        tuple(Source(r.path.name, len(r.prefixes), len(r.malformed)) for r in reads),
    )


def _distinct(prefixes: Iterable[Prefix]) -> list[Prefix]:
    """Each prefix once, with how often it came; the first one's number counts."""
    found: dict[tuple[str, ...], Prefix] = {}
    for prefix in prefixes:
        before = found.get(prefix.words)
        found[prefix.words] = prefix if before is None else replace(before, times=before.times + 1)
    return list(found.values())


def _split(
    prefixes: Sequence[Prefix], seed: int, test: float, validation: float
) -> tuple[list[Prefix], list[Prefix], list[Prefix]]:
    parts: tuple[list[Prefix], list[Prefix], list[Prefix]] = ([], [], [])
    for prefix in prefixes:
        place = _place(prefix.words, seed)
        parts[0 if place < test else 1 if place < test + validation else 2].append(prefix)
    return parts


def _place(words: Sequence[str], seed: int) -> float:
    """A number in [0, 1) that depends on words and seed alone."""
    digest = hashlib.sha256(f"{seed} {' '.join(words)}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
