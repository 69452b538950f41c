"""Reader of the WinoBias sentences.

Reference: Zhao, Wang, Yatskar, Ordonez & Chang, "Gender Bias in Coreference Resolution: Evaluation
and Debiasing Methods", NAACL 2018, https://doi.org/10.18653/v1/N18-2003.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from attnflow._internal.files import PathLike
from attnflow.errors import InputError
from attnflow.paper.data._schemas import (
    MASK,
    MalformedError,
    PronounData,
    PronounSchema,
    gendered_pronouns,
    pronoun_pair,
    read_rows,
)

# The two files of each part have the same sentences, with the genders of the pronouns exchanged.
_PARTS = tuple(
    tuple(f"{kind}_stereotyped_type{number}.txt.{split}" for kind in ("pro", "anti"))
    for number in (1, 2)
    for split in ("dev", "test")
)
_OCCUPATIONS = ("male_occupations.txt", "female_occupations.txt")
WINOBIAS_FILES = (*(name for part in _PARTS for name in part), *_OCCUPATIONS)

_ROW = re.compile(r"\s*\d+\s+(\S.*)")
_BRACKETED = re.compile(r"\[([^][]*)\]")


def read_winobias(folder: PathLike) -> PronounData:
    """Read the sentences of WinoBias: the eight files of its two types, and its occupations.

    The first pronoun in brackets is masked. The candidates are the two occupations of the lists
    that the sentence names. A pronoun's form, which "her" alone does not tell, is that of the same
    line in the file with the other gender. Stereotypes are not used.

    Parameters
    ----------
    folder
        The folder of `pro_stereotyped_type1.txt.dev`, …, with rows such as `1 [The developer]
        argued with the designer because [he] did not like the design.`, and of
        `male_occupations.txt` and `female_occupations.txt`, with an occupation in each line.
    """
    folder = Path(folder)
    if missing := [name for name in WINOBIAS_FILES if not (folder / name).is_file()]:
        there = sorted(set(WINOBIAS_FILES).difference(missing))
        raise InputError(
            f"{folder}: expected the {len(WINOBIAS_FILES)} files of WinoBias; {', '.join(missing)} "
            f"missing, got {', '.join(there) or 'none of them'}. Check the path"
        )
    occupations = [
        row.strip() for name in _OCCUPATIONS for row in read_rows(folder / name) if row.strip()
    ]
    n_rows = 0
    schemas: list[PronounSchema] = []
    malformed: list[tuple[Path, int, str]] = []
    for part in _PARTS:
        pro, anti = (read_rows(folder / name) for name in part)
        n_rows += len(pro) + len(anti)
        if len(pro) != len(anti):
            raise InputError(
                f"{folder}: expected as many lines in {part[0]} as in {part[1]}, got {len(pro)} "
                f"and {len(anti)}. Download them again"
            )
        for line, rows in enumerate(zip(pro, anti, strict=True), start=1):
            try:
                schemas += _schemas(rows, occupations)
            except MalformedError as error:
                malformed += [(folder / name, line, str(error)) for name in part]
    return PronounData("WinoBias", n_rows, tuple(dict.fromkeys(schemas)), tuple(malformed))


def _schemas(rows: Sequence[str], occupations: Sequence[str]) -> list[PronounSchema]:
    """Return the schemas of one line in the two files; they are equal but for errors in them."""
    parsed = [_parse(row, occupations) for row in rows]
    pronouns = pronoun_pair(*(pronoun for _, pronoun, _ in parsed))
    return [PronounSchema(text, candidates, pronouns) for text, _, candidates in parsed]


def _parse(row: str, occupations: Sequence[str]) -> tuple[str, str, tuple[str, str]]:
    """Return the sentence with a masked pronoun, the pronoun, and the candidates."""
    numbered = _ROW.fullmatch(row)
    if numbered is None:
        raise MalformedError(f"expected a number and a sentence, got {row[:60]!r}")
    sentence = numbered[1]
    pronoun = next((m for m in _BRACKETED.finditer(sentence) if gendered_pronouns(m[1])), None)
    if pronoun is None:
        raise MalformedError(f"expected a pronoun in brackets such as [she], got {sentence[:60]!r}")
    before, after = sentence[: pronoun.start()], sentence[pronoun.end() :]
    text = MASK.join(_BRACKETED.sub(r"\1", each) for each in (before, after))
    found = tuple(name for name in occupations if _names(text, name))
    if len(found) != 2:
        raise MalformedError(
            f"expected two occupations of the lists, got {len(found)}"
            f"{''.join(f', {name}' for name in found)}"
        )
    return text, pronoun[1], (found[0], found[1])


def _names(text: str, occupation: str) -> bool:
    return re.search(rf"\b{re.escape(occupation)}\b", text, re.IGNORECASE) is not None
