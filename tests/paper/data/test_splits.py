import itertools
from pathlib import Path

import pytest

from attnflow import InputError
from attnflow.paper import SINGULAR, Prefix, Splits, generated_splits, load_splits

PARTS = (
    "train", "attractor_train", "validation", "attractor_validation", "test", "attractor_test",
    "wiki_test",
)  # fmt: skip
TABLE = "sentence\tsubj_idx\tverb_idx\tverb_pos\tverb\tinflected_verb\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Both kinds of files, a few hundred rows, some of them twice and one malformed."""
    for name in ("linzen", "linzen-sentences"):
        (tmp_path / name).mkdir()
    rows = [f"VBZ\tthe key {i} {i}" for i in range(300)]
    _ = (tmp_path / "linzen" / "numpred.val").write_text("\n".join([*rows, rows[200], "VBD\tx"]))
    for k in range(1, 6):
        some = [f"VBP\tthe keys {k} {i}" for i in range(150)] + rows[:5]
        _ = (tmp_path / "linzen" / f"numpred.test.{k}").write_text("\n".join(some))
    for name in ("wiki-dev.txt", "wiki-test.txt"):
        sentences = [f"the key {name} {i} is here\t1\t4\tVBZ\tis\tare\n" for i in range(20)]
        twice = "the key 7 7 is here\t1\t4\tVBZ\tis\tare\n"  # stands in numpred.val as well
        _ = (tmp_path / "linzen-sentences" / name).write_text(TABLE + "".join(sentences) + twice)
    return tmp_path


def _words(splits: Splits, part: str) -> list[tuple[str, ...]]:
    return [prefix.words for prefix in getattr(splits, part)]


def test_no_prefix_stands_in_two_splits_or_in_one_twice(folder: Path) -> None:
    splits = load_splits(folder)
    for part in PARTS:
        assert len(set(_words(splits, part))) == len(_words(splits, part)) > 0
    for one, other in itertools.combinations(PARTS, 2):
        assert set(_words(splits, one)).isdisjoint(_words(splits, other)), (one, other)


def test_what_is_measured_is_all_but_what_is_trained_on(folder: Path) -> None:
    splits = load_splits(folder)
    trained = {*_words(splits, "train"), *_words(splits, "attractor_train")}
    assert splits.held_out.isdisjoint(trained)
    assert splits.held_out == {words for part in PARTS[2:] for words in _words(splits, part)}


def test_a_prefix_that_comes_twice_is_counted(folder: Path) -> None:
    splits = load_splits(folder)
    counts = {p.words: p.count for part in PARTS for p in getattr(splits, part)}
    assert counts["the", "key", "200", "200"] == 2
    assert counts["the", "key", "201", "201"] == 1


def test_malformed_rows_are_reported_with_file_and_line(folder: Path) -> None:
    splits = load_splits(folder)
    reason = "expected verb tag VBZ or VBP, got 'VBD'"
    assert splits.malformed == ((folder / "linzen" / "numpred.val", 302, reason),)
    assert (splits.files[0].name, splits.files[0].rows) == ("numpred.val", 301)
    assert splits.files[0].malformed == 1


def test_a_seed_gives_the_same_splits_and_another_seed_others(folder: Path) -> None:
    assert load_splits(folder, seed=3) == load_splits(folder, seed=3)
    assert load_splits(folder, seed=3).test != load_splits(folder, seed=4).test
    assert load_splits(folder, seed=3).digest != load_splits(folder, seed=4).digest


def test_a_hundred_rows_of_each_attractor_file_are_held_out(folder: Path) -> None:
    kept = load_splits(folder).attractor_test
    for k in range(1, 6):
        assert 80 < sum(p.attractors == k for p in kept) < 120  # by chance: a hash decides


def test_a_folder_without_the_files_says_which(folder: Path) -> None:
    (folder / "linzen" / "numpred.test.3").unlink()
    (folder / "linzen-sentences" / "wiki-dev.txt").unlink()
    with pytest.raises(
        InputError, match=r"lacks linzen/numpred\.test\.3, linzen-sentences/wiki-dev\.txt\."
    ):
        _ = load_splits(folder)


def test_a_folder_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the folder .* does not exist; check the path"):
        _ = load_splits(tmp_path / "nowhere")


def test_the_authors_file_alone_is_enough(tmp_path: Path) -> None:
    rows = "".join(f"the key {i} is here\tVBZ\t4\t{i % 2}\n" for i in range(200))
    header = "sentence\tverb_pos\tverb_index\tn_diff_intervening\n"
    _ = (tmp_path / "agr_50_mostcommon_10K.tsv").write_text(header + rows)
    splits = load_splits(tmp_path)
    assert len(splits.train) + len(splits.validation) + len(splits.test) == 200
    assert 8 < len(splits.test) < 40
    assert {p.attractors for p in splits.test} == {0, 1}
    assert splits.train[0].rest[0] == "is"


def test_the_digest_knows_the_number_of_a_verb() -> None:
    one = Splits((Prefix(("the", "fish"), SINGULAR),))
    other = Splits((Prefix(("the", "fish"), 1),))
    assert one.digest != other.digest


def test_generated_splits_share_no_sentence() -> None:
    splits = generated_splits(500, seed=1)
    assert splits == generated_splits(500, seed=1)
    parts = [_words(splits, part) for part in ("train", "validation", "test")]
    assert len({words for part in parts for words in part}) == sum(map(len, parts)) > 400
    assert all(p.subject is not None and p.attractors is not None for p in splits.train)


def test_the_splits_of_the_data_are_those_of_the_shipped_model(data_splits: Splits) -> None:
    counts = {part: len(getattr(data_splits, part)) for part in PARTS}
    assert counts == {
        "train": 10515, "attractor_train": 54757, "validation": 1243, "attractor_validation": 1230,
        "test": 1241, "attractor_test": 6358, "wiki_test": 3314,
    }  # fmt: skip
    assert data_splits.malformed == ()


def test_a_file_is_no_folder_of_data(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(InputError, match=r"expected a folder, got the file .*data$"):
        _ = load_splits(tmp_path / "data")


def test_a_folder_whose_name_is_too_long_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        _ = load_splits(tmp_path / ("x" * 300))
