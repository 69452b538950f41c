"""Reader of the Winogender schemas.

Reference: Rudinger, Naradowsky, Leonard & Van Durme, "Gender Bias in Coreference Resolution", NAACL
2018, https://doi.org/10.18653/v1/N18-2002.
"""

import re
from pathlib import Path

from attnflow._internal.files import PathLike
from attnflow.errors import InputError
from attnflow.paper.data._schemas import (
    MASK,
    MalformedError,
    PronounData,
    PronounSchema,
    pronoun_pair,
    read_rows,
)

WINOGENDER_FILE = "all_sentences.tsv"

_COLUMNS = ("sentid", "sentence")
_GENDERS = ("male", "female", "neutral")
_WORD = re.compile(r"[^\W\d_]+")


def read_winogender(folder: PathLike) -> PronounData:
    r"""Read the sentences of Winogender, `all_sentences.tsv` in a folder.

    A sentence is there with "he", "she" and "they". The first two give the position of the pronoun
    and its form; the third is read and not used. A row whose sentence lacks one of the first two is
    in `malformed`.

    Parameters
    ----------
    folder
        The folder of `all_sentences.tsv`: a header with the columns sentid and sentence, and rows
        such as `technician.customer.1.male.txt`, a tab, and the sentence.

    Examples
    --------
    >>> import tempfile
    >>> rows = [
    ...     "sentid\tsentence",
    ...     "nurse.patient.0.male.txt\tThe nurse told the patient that his shift was over.",
    ...     "nurse.patient.0.female.txt\tThe nurse told the patient that her shift was over.",
    ... ]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "all_sentences.tsv").write_text("\n".join(rows))
    ...     data = read_winogender(folder)
    >>> data.schemas[0].text, data.schemas[0].pronouns
    ('The nurse told the patient that [MASK] shift was over.', ('his', 'her'))
    """
    path = Path(folder) / WINOGENDER_FILE
    header, *rows = read_rows(path)
    columns = header.split("\t")
    if missing := [name for name in _COLUMNS if name not in columns]:
        raise InputError(
            f"{path}: expected a header with the columns {', '.join(_COLUMNS)}; "
            f"{', '.join(missing)} missing in {columns!r}. Check that it is the right file"
        )
    malformed: list[tuple[Path, int, str]] = []
    sentences: dict[tuple[str, ...], dict[str, tuple[int, str]]] = {}
    for line, row in enumerate(rows, start=2):
        try:
            (*key, gender), sentence = _fields(row, columns)
        except MalformedError as error:
            malformed.append((path, line, str(error)))
            continue
        known = sentences.setdefault(tuple(key), {})
        if gender in known:
            malformed.append((path, line, f"the same sentid as in line {known[gender][0]}"))
        else:
            known[gender] = line, sentence
    schemas: list[PronounSchema] = []
    for (occupation, participant, _), known in sentences.items():
        try:
            text, pronouns = _masked(known)
            schemas.append(PronounSchema(text, (occupation, participant), pronouns))
        except MalformedError as error:
            malformed += [(path, line, str(error)) for line, _ in known.values()]
    distinct = tuple(dict.fromkeys(schemas))
    return PronounData("Winogender", len(rows), distinct, tuple(sorted(malformed)))


def _fields(row: str, columns: list[str]) -> tuple[list[str], str]:
    """Return occupation, participant, answer and gender of a row, and its sentence."""
    fields = row.split("\t")
    if len(fields) != len(columns):
        raise MalformedError(f"expected {len(columns)} tab-separated fields, got {len(fields)}")
    values = dict(zip(columns, fields, strict=True))
    name = values["sentid"].removesuffix(".txt").split(".")
    if len(name) != 4 or name[-1] not in _GENDERS:
        raise MalformedError(
            "expected a sentid such as technician.customer.1.male.txt, got "
            f"{values['sentid'][:60]!r}"
        )
    return name, values["sentence"]


def _masked(known: dict[str, tuple[int, str]]) -> tuple[str, tuple[str, str]]:
    """Return the sentence with a masked pronoun, and the pronoun's two genders."""
    if missing := [gender for gender in _GENDERS[:2] if gender not in known]:
        raise MalformedError(f"this sentence has no row with the {missing[0]} pronoun")
    one, other = known["male"][1], known["female"][1]
    for word, its_other in zip(_WORD.finditer(one), _WORD.finditer(other), strict=False):
        if word[0] != its_other[0]:
            masked = [
                f"{each.string[: each.start()]}{MASK}{each.string[each.end() :]}"
                for each in (word, its_other)
            ]
            if masked[0] == masked[1]:
                return masked[0], pronoun_pair(word[0], its_other[0])
            break
    raise MalformedError("expected the sentences of both genders to differ in the pronoun alone")
