import gzip
from pathlib import Path

import pytest

from attnflow import InputError
from attnflow.paper import PLURAL, SINGULAR, read_corpus, read_numpred, read_sentences

CORPUS = (
    "sentence\torig_sentence\tverb_pos\tverb_index\tn_diff_intervening\n"
    "the key to the doors is here\tx\tVBZ\t6\t1\n"
    "the keys are here\tx\tVBP\tthree\t0\n"
    "the keys are here\tx\tVBP\t9\t0\n"
)


def test_malformed_rows_are_reported_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "numpred.val"
    _ = path.write_text("VBZ\tthe key\nVBD\tthe key\nVBP the keys\nVBP\t\n\nVBP\tthe keys\n")
    read = read_numpred(path, attractors=0)
    assert [p.words for p in read.prefixes] == [("the", "key"), ("the", "keys")]
    assert [p.number for p in read.prefixes] == [SINGULAR, PLURAL]
    assert {p.attractors for p in read.prefixes} == {0}
    assert [line for line, _ in read.malformed] == [2, 3, 4, 5]
    assert read.malformed[0][1] == "expected verb tag VBZ or VBP, got 'VBD'"
    assert read.malformed[1][1] == "expected 2 tab-separated fields, got 1"
    assert read.malformed[2][1] == "expected at least one word, got none"


def test_a_prefix_that_is_longer_than_the_model_takes_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "numpred.val"
    _ = path.write_text(f"VBZ\t{'a ' * 62}\nVBZ\t{'a ' * 63}\n")
    read = read_numpred(path)
    assert len(read.prefixes) == 1
    assert read.malformed == ((2, "expected at most 62 words before the verb, got 63"),)


def test_a_file_with_windows_line_ends_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "numpred.val"
    _ = path.write_bytes(b"VBZ\tthe key\r\nVBP\tthe keys\r\n")
    assert [p.words[-1] for p in read_numpred(path).prefixes] == ["key", "keys"]


@pytest.mark.parametrize("name", ["agr_50_mostcommon_10K.tsv", "agr_50_mostcommon_10K.tsv.gz"])
def test_the_full_corpus_counts_verbs_from_one_and_may_be_gzipped(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    content = CORPUS.encode()
    _ = path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    read = read_corpus(path)
    assert read.prefixes[0].words == ("the", "key", "to", "the", "doors")
    assert read.prefixes[0].rest[0] == "is"
    assert read.prefixes[0].attractors == 1
    assert read.malformed == (
        (3, "verb_index must be an integer, got 'three'"),
        (4, "expected verb_index from 2 to 4 (the number of words), got 9"),
    )


def test_sentences_give_prefix_and_subject(tmp_path: Path) -> None:
    path = tmp_path / "wiki.txt"
    _ = path.write_text(
        "sentence\tsubj_idx\tverb_idx\tverb_pos\tverb\tinflected_verb\n"
        "the key is here .\t1\t2\tVBZ\tis\tare\nthe key\t1\t9\tVBZ\tis\tare\n"
    )
    read = read_sentences(path)
    assert read.prefixes[0].words == ("the", "key")
    assert read.prefixes[0].subject == 1
    reason = (
        "expected 0 <= subj_idx < verb_idx < 2 (the number of words), got subj_idx 1 and verb_idx 9"
    )
    assert read.malformed == ((3, reason),)


def test_a_table_without_a_column_says_which(tmp_path: Path) -> None:
    path = tmp_path / "wiki.txt"
    _ = path.write_text("sentence\tverb_idx\nthe key is\t2\n")
    with pytest.raises(InputError, match=r"subj_idx, verb_pos missing in .*'sentence', 'verb_idx'"):
        _ = read_sentences(path)


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"numpred\.val does not exist"):
        _ = read_numpred(tmp_path / "numpred.val")


def test_what_is_not_gzipped_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "agr_50_mostcommon_10K.tsv.gz"
    _ = path.write_text(CORPUS)
    with pytest.raises(InputError, match="cannot be read"):
        _ = read_corpus(path)


def test_a_gzipped_file_that_is_cut_off_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "agr_50_mostcommon_10K.tsv.gz"
    _ = path.write_bytes(gzip.compress(CORPUS.encode())[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        _ = read_corpus(path)


def test_the_mark_that_some_editors_begin_a_file_with_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "numpred.val"
    _ = path.write_text("VBZ\tthe key\n", encoding="utf-8-sig")
    assert read_numpred(path).prefixes[0].words == ("the", "key")


def test_a_path_may_be_a_string(tmp_path: Path) -> None:
    path = tmp_path / "numpred.val"
    _ = path.write_text("VBZ\tthe key\n")
    assert read_numpred(str(path)).path == path
