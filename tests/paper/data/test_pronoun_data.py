"""Winogender and WinoBias: readers of their files, and what they say of broken ones."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from attnflow import InputError
from attnflow.paper import (
    PronounSchema,
    load_pronoun_data,
    read_winobias,
    read_winogender,
)

HEADER = "sentid\tsentence\n"
PAYS = "The technician told the customer that {} could pay with cash."
GENDERS = {"male": "he", "female": "she", "neutral": "they"}
WINOGENDER = HEADER + "".join(
    f"technician.customer.1.{gender}.txt\t{PAYS.format(pronoun)}\n"
    for gender, pronoun in GENDERS.items()
)

FILES = [
    f"{kind}_stereotyped_type{number}.txt.{split}"
    for kind in ("pro", "anti")
    for number in (1, 2)
    for split in ("dev", "test")
]


def _winogender(folder: Path, content: str) -> Path:
    _ = (folder / "all_sentences.tsv").write_text(content)
    return folder


def _winobias(folder: Path, pro: str, anti: str) -> Path:
    """A folder of WinoBias whose eight files have the same line."""
    folder.mkdir(exist_ok=True)
    for name in FILES:
        _ = (folder / name).write_text(pro if name.startswith("pro") else anti)
    _ = (folder / "male_occupations.txt").write_text("developer\nconstruction worker\nCEO\n")
    _ = (folder / "female_occupations.txt").write_text("designer\nnurse")  # as theirs, no line end
    return folder


def test_winogender_masks_the_word_in_which_the_genders_differ(tmp_path: Path) -> None:
    read = read_winogender(_winogender(tmp_path, WINOGENDER))
    assert read.name == "Winogender"
    assert read.rows == 3
    assert read.malformed == ()
    candidates = ("technician", "customer")
    assert read.schemas == (PronounSchema(PAYS.format("[MASK]"), candidates, ("he", "she")),)
    assert read.schemas[0].before == "The technician told the customer that"


@pytest.mark.parametrize(
    ("male", "female", "masked", "pronouns"),
    [
        ("Ask him.", "Ask her.", "Ask [MASK].", ("him", "her")),
        ("Ask; his cat", "Ask; her cat", "Ask; [MASK] cat", ("his", "her")),
        ("It is his", "It is hers", "It is [MASK]", ("his", "hers")),
    ],
)
def test_punctuation_stays_and_forms_are_told_apart(
    tmp_path: Path, male: str, female: str, masked: str, pronouns: tuple[str, str]
) -> None:
    rows = f"{HEADER}a.b.0.male.txt\t{male}\na.b.0.female.txt\t{female}\n"
    (schema,) = read_winogender(_winogender(tmp_path, rows)).schemas
    assert schema.text == masked
    assert schema.pronouns == pronouns


def test_broken_rows_of_winogender_are_reported_and_the_rest_is_kept(tmp_path: Path) -> None:
    more = [
        "nurse.patient.0.male.txt\tThe nurse left.\textra",
        "nurse.patient\tThe nurse told the patient that he left.",
        "technician.customer.1.male.txt\tagain",
        "nurse.patient.1.male.txt\tThe nurse told the patient that he left.",
        "baker.client.1.male.txt\tThe baker said that he left.",
        "baker.client.1.female.txt\tThe baker said that she had left.",
        "cook.client.1.male.txt\tThe cook said that he left.",
        "cook.client.1.female.txt\tThe cook said that they left.",
        "",
    ]
    read = read_winogender(_winogender(tmp_path, WINOGENDER + "\n".join(more) + "\n"))
    assert len(read.schemas) == 1
    reasons = {line: reason for _, line, reason in read.malformed}
    assert list(reasons) == [5, 6, 7, 8, 9, 10, 11, 12, 13]
    for line, part in {
        5: "expected 2 tab-separated fields, got 3",
        6: "got 'nurse.patient'",
        7: "the same sentid as in line 2",
        8: "no row with the female pronoun",
        9: "differ in the pronoun alone",
        11: "got 'he' and 'they'",
        13: "expected 2 tab-separated fields, got 1",
    }.items():
        assert part in reasons[line]
    assert {path.name for path, _, _ in read.malformed} == {"all_sentences.tsv"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id\tsentence\n", r"sentid missing in \['id', 'sentence'\]"),
        ("", "is empty"),
        (b"sentid\tsentence\n\xff\xfe\n", "UTF-8"),
    ],
)
def test_a_file_that_is_not_winogender_is_refused(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    path = tmp_path / "all_sentences.tsv"
    _ = path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        _ = read_winogender(tmp_path)


def test_a_missing_file_is_named_with_what_is_there(tmp_path: Path) -> None:
    _ = (tmp_path / "templates.tsv").write_text("x")
    with pytest.raises(InputError, match=r"all_sentences.tsv does not exist.*templates.tsv"):
        _ = read_winogender(tmp_path)


def test_winobias_takes_the_form_of_her_from_the_other_file(tmp_path: Path) -> None:
    text = "[The developer] argued with the designer and slapped [{}] in the face."
    folder = _winobias(tmp_path, f"1 {text.format('him')}\n", f"1 {text.format('her')}\n")
    read = read_winobias(folder)
    assert read.name == "WinoBias"
    assert read.rows == 8
    masked = "The developer argued with the designer and slapped [MASK] in the face."
    assert read.schemas == (PronounSchema(masked, ("developer", "designer"), ("him", "her")),)


def test_the_first_pronoun_is_masked_and_later_ones_stay(tmp_path: Path) -> None:
    text = "[The CEO] thanked the nurse because [{}] lost [{}] key."
    pro, anti = text.format("he", "his"), text.format("she", "her")
    read = read_winobias(_winobias(tmp_path, f"27 {pro}\n", f"27 {anti}\n"))
    assert [schema.text for schema in read.schemas] == [
        "The CEO thanked the nurse because [MASK] lost his key.",
        "The CEO thanked the nurse because [MASK] lost her key.",
    ]
    assert {schema.candidates for schema in read.schemas} == {("CEO", "nurse")}


def test_an_occupation_may_be_two_words(tmp_path: Path) -> None:
    text = "1 The nurse met [the construction worker] because [{}] was ill.\n"
    read = read_winobias(_winobias(tmp_path, text.format("he"), text.format("she")))
    assert read.schemas[0].candidates == ("construction worker", "nurse")


@pytest.mark.parametrize(
    ("pro", "anti", "reason"),
    [
        ("[The CEO] met the nurse because [he] left.", "", "expected a number and a sentence"),
        ("1 The CEO met the nurse.", "", "expected a pronoun in brackets"),
        ("1 [The CEO] met us because [he] left.", "", "got 1, CEO"),
        ("1 [The CEO] met the nurse as the designer said [he] left.", "", "got 3"),
        (
            "1 [The CEO] met the nurse because [he] left.",
            "1 [The CEO] met the nurse and saw [her].",
            "got 'he' and 'her'",
        ),
    ],
)
def test_broken_rows_of_winobias_are_reported(
    tmp_path: Path, pro: str, anti: str, reason: str
) -> None:
    good = "[The CEO] met the nurse because [{}] left."
    folder = _winobias(tmp_path, f"1 {good.format('he')}\n", f"1 {good.format('she')}\n")
    paths = [folder / f"{kind}_stereotyped_type1.txt.dev" for kind in ("pro", "anti")]
    for path, row in zip(paths, (pro, anti or pro), strict=True):
        _ = path.write_text(f"{row}\n")
    read = read_winobias(folder)
    assert len(read.schemas) == 1  # of the other files
    assert [(path, line) for path, line, _ in read.malformed] == [(path, 1) for path in paths]
    assert reason in read.malformed[0][2]


def test_missing_files_of_winobias_are_named(tmp_path: Path) -> None:
    row = "1 [The CEO] met the nurse because [he] left.\n"
    folder = _winobias(tmp_path, row, row)
    (folder / "male_occupations.txt").unlink()
    with pytest.raises(InputError, match=r"male_occupations.txt missing, got anti_stereotyped_"):
        _ = read_winobias(folder)


def test_files_of_different_lengths_are_refused(tmp_path: Path) -> None:
    row = "1 [The CEO] met the nurse because [he] left.\n"
    with pytest.raises(InputError, match="got 1 and 2"):
        _ = read_winobias(_winobias(tmp_path, row, row + row))


def test_a_folder_may_be_a_data_set_or_have_some(tmp_path: Path) -> None:
    (tmp_path / "winogender").mkdir()
    folder = _winogender(tmp_path / "winogender", WINOGENDER)
    assert [data.name for data in load_pronoun_data(folder)] == ["Winogender"]
    assert [data.name for data in load_pronoun_data(tmp_path)] == ["Winogender"]
    row = "1 [The CEO] met the nurse because [{}] left.\n"
    other = _winobias(tmp_path / "winobias", row.format("he"), row.format("she"))
    assert [data.name for data in load_pronoun_data(other)] == ["WinoBias"]
    assert [data.name for data in load_pronoun_data(tmp_path)] == ["Winogender", "WinoBias"]


def test_a_folder_without_data_is_refused_with_what_it_has(tmp_path: Path) -> None:
    _ = (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InputError, match=r"folders winogender and winobias.*notes.txt"):
        _ = load_pronoun_data(tmp_path)
    shutil.rmtree(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        _ = load_pronoun_data(tmp_path)


def test_all_rows_of_winogender_are_read(data: Path) -> None:
    read = read_winogender(data / "winogender")
    assert (read.rows, len(read.schemas), read.malformed) == (720, 240, ())
    forms = Counter(schema.pronouns[0] for schema in read.schemas)
    assert set(forms) == {"he", "him", "his"}
    for schema in read.schemas:
        assert schema.text.count("[MASK]") == 1
        assert all(noun in schema.text.lower() for noun in schema.candidates)


def test_all_but_a_few_rows_of_winobias_are_read(data: Path) -> None:
    read = read_winobias(data / "winobias")
    assert (read.rows, len(read.schemas)) == (3168, 1633)
    # Rows whose two files do not match, and one with three occupations.
    lines = {(path.name.partition("_")[2], line) for path, line, _ in read.malformed}
    assert lines == {
        ("stereotyped_type1.txt.test", 296),
        ("stereotyped_type2.txt.dev", 72),
        ("stereotyped_type2.txt.dev", 171),
        ("stereotyped_type2.txt.dev", 215),
        ("stereotyped_type2.txt.test", 382),
        ("stereotyped_type2.txt.test", 384),
    }
    assert len(read.malformed) == 12
