import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow.types import Importance


def importance(**changes: Any) -> Importance:
    fields: dict[str, Any] = {
        "values": [0.1, -0.2, 0.3, 0.4],
        "tokens": ["[CLS]", "the", "key", "##s"],
        "method": "blank_out",
        "settings": {"target": 1, "score": "probability"},
        "origin": af.Origin(spans=(None, (0, 3), (4, 7), (7, 8))),
    }
    return Importance(**(fields | changes))


def test_values_are_float64_and_read_only():
    found = importance(values=np.array([1, 2, 3, 4], dtype=np.float32))
    assert found.values.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 1.0
    assert repr(found) == "Importance('blank_out', tokens=4)"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": []}, r"one number per token, got shape \(0,\)"),
        ({"values": [[1, 2], [3, 4]]}, r"shape \(2, 2\)"),
        ({"values": [1, 2, np.nan, 4]}, r"values must be finite, got values\[2\] = nan"),
        ({"values": [np.inf, 2, 3, 4]}, r"values\[0\] = inf"),
        ({"tokens": ["a"]}, "tokens: expected 4, one per position, got 1"),
        ({"method": ""}, "method must be a name such as blank_out, got ''"),
        ({"method": None}, "method must be a name such as blank_out, got None"),
        ({"settings": {"x": object()}}, "cannot be written as JSON"),
        ({"origin": af.Origin(spans=(None,))}, "expected 4 spans, one per position, got 1"),
    ],
)
def test_what_is_no_importance_is_refused(changes: dict[str, Any], message: str):
    with pytest.raises(af.InputError, match=message):
        _ = importance(**changes)


def test_without_signs_only_the_size_is_left():
    found = importance().absolute()
    assert found.values.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert found.settings["absolute"] is True


@pytest.mark.parametrize("known", [True, False], ids=["spans", "no spans"])
def test_words_have_the_sum_of_their_pieces(known: bool):
    found = importance() if known else importance(origin=None)
    words = found.to_words("The keys")
    assert words.tokens == ("[CLS]", "The", "keys")
    np.testing.assert_allclose(words.values, [0.1, -0.2, 0.7])
    assert words.origin == af.Origin(spans=(None, (0, 3), (4, 8)))
    assert words.settings["words"] == "sum"


def test_words_are_those_of_token_attention():
    found = importance()
    t = af.TokenAttention(np.ones((1, 1, 4)), found.tokens, [1], [0], "raw", origin=found.origin)
    assert t.to_words("The keys").tokens == found.to_words("The keys").tokens


def test_words_of_another_text_are_refused():
    text: Any = 3
    with pytest.raises(af.InputError, match="spans of another text"):
        _ = importance().to_words("The")
    with pytest.raises(af.InputError, match="got 3"):
        _ = importance().to_words(text)


def test_the_text_that_the_origin_keeps_need_not_be_given_again():
    origin = af.Origin(spans=(None, (0, 3), (4, 7), (7, 8)), text="The keys")
    words = importance(origin=origin).to_words()
    assert words == importance(origin=origin).to_words("The keys")
    assert words.origin is not None
    assert words.origin.text == "The keys"
    with pytest.raises(af.InputError, match="text must be the text that was tokenized, got None"):
        _ = importance().to_words()


def test_words_that_the_model_wrote_stay_counted():
    origin = af.Origin(spans=(None, (0, 3), (4, 7), (7, 8)), generated=2)
    words = importance(origin=origin).to_words("The keys")
    assert words.origin is not None
    assert words.origin.generated == 1


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize(
    "changes", [{}, {"origin": None}, {"settings": None}], ids=["all", "no origin", "no settings"]
)
def test_a_file_holds_all_of_it(tmp_path: Path, suffix: str, changes: dict[str, Any]):
    path, found = tmp_path / f"importance{suffix}", importance(**changes)
    found.save(path)
    assert Importance.load(path) == found


def test_a_file_of_another_kind_says_which(tmp_path: Path):
    path = tmp_path / "scores.npz"
    af.TokenAttention(np.ones((1, 1, 2)), ["a", "b"], [1], [0], "raw").save(path)
    with pytest.raises(af.InputError, match=r"TokenAttention\.load reads it"):
        _ = Importance.load(path)


def test_copies_are_equal_and_read_only():
    found = importance()
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):  # noqa: S301 (our own)
        assert other == found
        assert hash(other) == hash(found)
        assert not other.values.flags.writeable
    assert found != importance(values=[0, 0, 0, 0])
    assert found != "importance"


def test_the_table_of_a_notebook_is_escaped_and_cut():
    html = importance(tokens=["<s>", "a", "b", "c"])._repr_html_()
    assert "&lt;s&gt;" in html
    assert "blank_out" in html
    long = Importance(np.arange(50.0), map(str, range(50)), "blank_out")._repr_html_()
    assert "the first 30 of 50" in long
    assert long.count("<tr>") == 31
