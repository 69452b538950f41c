"""Names of tokens as people write them."""

import pytest

from attnflow._internal.display import token_names


@pytest.mark.parametrize(
    ("tokens", "names"),
    [
        # WordPiece
        (["[CLS]", "play", "##ing", "[UNK]", "[SEP]"], ["[CLS]", "play", "ing", "[UNK]", "[SEP]"]),
        (["##", "key", "##s"], ["##", "key", "s"]),
        # byte-level BPE
        (["<s>", "Paris", "Ġis", "ĠRome", "</s>"], ["<s>", "Paris", "is", "Rome", "</s>"]),
        (["Ġcaf", "Ã©", "ĠâĢĻ"], ["caf", "é", "\N{RIGHT SINGLE QUOTATION MARK}"]),
        (["ä½ł", "å¥½"], ["你", "好"]),  # without any space
        (["ĠðŁĺ", "Ĭ"], ["😊", "😊"]),  # two tokens of one character
        (["<|im_start|>", "user", "Ċ", "ĠĠ"], ["<|im_start|>", "user", "⏎", "␣␣"]),
        (["user", "Ċ"], ["user", "⏎"]),
        (["###", "Ġhead"], ["###", "head"]),
        # SentencePiece
        (["▁the", "▁", "key", "s", "</s>"], ["the", "␣", "key", "s", "</s>"]),
        (["▁a", "<0x0A>"], ["a", "⏎"]),
        # marked ends and breaks
        (["the</w>", "key</w>"], ["the", "key"]),
        (["cafÃ©</w>", "key</w>"], ["café", "key"]),
        (["café</w>", "key</w>"], ["café", "key"]),
        (["key@@", "s"], ["key", "s"]),
        # plain words
        (["café", "naïve", "日本"], ["café", "naïve", "日本"]),
        (["Ġorġ", "key"], ["Ġorġ", "key"]),  # a Maltese name: ġ would be a control character
        (["[CLS]", "človek", "[SEP]"], ["[CLS]", "človek", "[SEP]"]),  # č: a carriage return
        (["[CLS]", "dağ", "evi", "[SEP]"], ["[CLS]", "dağ", "evi", "[SEP]"]),  # ğ: a separator
        (["reč"], ["reč"]),
        (["the old key", "<?>", "0"], ["the old key", "<?>", "0"]),
        # white space and control characters
        ([" ", "  ", "", "\t", "\x1b[2J"], ["␣", "␣␣", "", "⇥", r"\x1b[2J"]),
        (["\ud800a", "b\u202e"], [r"\ud800a", r"b\u202e"]),
        (["👩\u200d🔬"], ["👩\u200d🔬"]),
    ],
)
def test_names_have_no_marks_and_visible_spaces(tokens: list[str], names: list[str]) -> None:
    assert token_names(tokens) == tuple(names)


def test_names_that_people_write_stay_as_they_are() -> None:
    names = token_names(["<s>", "Ġthe", "Ġ", "Ġkey", "s"])
    assert token_names(names) == names
