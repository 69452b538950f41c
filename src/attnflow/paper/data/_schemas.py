"""Pronoun schemas: sentences with a masked pronoun, two candidates and two possible pronouns."""

import re
from dataclasses import dataclass
from pathlib import Path

from attnflow._internal.display import first_names
from attnflow.errors import InputError

# The position of the pronoun in a sentence, whatever the mask token of a model is.
MASK = "[MASK]"

# The masculine and the feminine of each form.
PRONOUNS = (("he", "she"), ("him", "her"), ("his", "her"), ("his", "hers"), ("himself", "herself"))

_WORDS = "|".join(dict.fromkeys(word for pair in PRONOUNS for word in pair))
_GENDERED = re.compile(rf"\b({_WORDS})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PronounSchema:
    """A sentence with a masked pronoun, whose candidates have no grammatical gender.

    Parameters
    ----------
    text
        The sentence, with [MASK] at the position of the pronoun.
    candidates
        The two nouns that the pronoun may refer to, as they are written inside a sentence and
        without their articles.
    pronouns
        The masculine and the feminine pronoun of the form that the sentence needs.

    Examples
    --------
    >>> text = "The technician told the customer that [MASK] could pay with cash."
    >>> schema = PronounSchema(text, ("technician", "customer"), ("he", "she"))
    >>> schema.before
    'The technician told the customer that'
    """

    text: str
    candidates: tuple[str, str]
    pronouns: tuple[str, str]

    @property
    def before(self) -> str:
        """The words before the pronoun."""
        return self.text.partition(MASK)[0].rstrip()


@dataclass(frozen=True, slots=True)
class PronounData:
    """The distinct schemas of a data set.

    Parameters
    ----------
    name
        The name of the data set.
    rows
        The number of rows in its files, without headers.
    schemas
        Its sentences, without repetitions, each with a masked pronoun.
    malformed
        (path, line, reason) for each row that was skipped.
    """

    name: str
    rows: int
    schemas: tuple[PronounSchema, ...]
    malformed: tuple[tuple[Path, int, str], ...] = ()


class MalformedError(ValueError):
    """The reason why a row cannot be read."""


def pronoun_pair(one: str, other: str) -> tuple[str, str]:
    """Return two pronouns, the masculine first, if they are the genders of one form.

    >>> pronoun_pair("her", "his")
    ('his', 'her')
    """
    for pair in PRONOUNS:
        if {one.lower(), other.lower()} == set(pair):
            return pair
    raise MalformedError(
        f"expected the masculine and the feminine of a pronoun, got {one!r} and {other!r}"
    )


def gendered_pronouns(text: str) -> list[str]:
    """Return the pronouns of a text that have a gender.

    >>> gendered_pronouns("[MASK] cut his hair")
    ['his']
    """
    return _GENDERED.findall(text)


def read_rows(path: Path) -> list[str]:
    """Return the lines of a file; raise an InputError if it cannot be read or has none."""
    try:
        rows = path.read_text("utf-8-sig").splitlines()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; {names_inside(path.parent)}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}. It must be a text in UTF-8") from error
    if not any(row.strip() for row in rows):
        raise InputError(f"{path} is empty. Download it again")
    return rows


def names_inside(folder: Path) -> str:
    """Return what a folder has, for an error message."""
    if not folder.is_dir():
        return f"there is no folder {folder}. Check the path"
    names = sorted(path.name for path in folder.iterdir())
    return f"the folder has {first_names(names) or 'no files'}. Check the path"
