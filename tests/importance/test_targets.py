"""Targets by number, by name, or by default the prediction."""

from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from answering_models import (
    TEXT,
    TEXTS,
    Linear,
    blank_out,
    input_gradient,
    model_of,
    new_model,
    tokenizer,
)

import attnflow as af
from attnflow.models.scoring import Classes
from close_results import assert_close

IDS = torch.tensor([[1, 2, 3]])


def test_the_answer_that_the_model_gives_is_the_default_and_named():
    found = blank_out(model_of("bert"), tokenizer(), TEXT)
    settings = found.settings
    assert settings["target_given"] is False
    assert settings["target_name"] == ("singular", "plural")[settings["target"]]
    assert settings["input_score"] >= 0.5


def test_a_class_goes_by_its_number_and_by_its_name():
    one, two = (blank_out(model_of("bert"), tokenizer(), TEXT, target=t) for t in (1, "plural"))
    assert_close(one, two, atol=1e-9)
    assert one.settings["target_given"] is True


def test_texts_have_one_target_together_or_one_each():
    model = model_of("bert")
    each = blank_out(model, tokenizer(), TEXTS, target=[0, 1, "plural", None])
    assert [one.settings["target"] for one in each][:3] == [0, 1, 1]
    assert [one.settings["target_given"] for one in each] == [True, True, True, False]
    same = blank_out(model, tokenizer(), TEXTS, target=0)
    assert [one.settings["target"] for one in same] == [0] * 4
    assert_close(each[0], same[0], atol=1e-9)
    from_array = blank_out(model, tokenizer(), TEXTS, target=np.array([0, 1, 1, 0]))
    assert_close(from_array[1], each[1], atol=1e-9)


def test_another_number_of_targets_than_texts_is_refused():
    with pytest.raises(af.InputError, match="expected one for all 4 texts or one for each, got 2"):
        _ = blank_out(model_of("bert"), tokenizer(), TEXTS, target=[0, 1])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (2, "target: expected a class from 0 to 1, got 2"),
        (-1, "target: expected a class from 0 to 1, got -1"),
        ("dual", "target: expected one of singular, plural, got 'dual'"),
        (True, "target must be an integer, or a name as a str, got True"),
        (np.array(1), r"target must be an integer, or a name as a str, got array\(1\)"),
        (0.5, r"target must be an integer, or a name as a str, got 0\.5"),
        (b"plural", "target must be an integer, or a name as a str, got b'plural'"),
    ],
)
def test_a_class_that_the_model_does_not_have_is_refused(target: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = blank_out(model_of("bert"), tokenizer(), TEXT, target=target)


def test_classes_without_names_go_by_number():
    assert input_gradient(Linear(), None, IDS)[0].settings["target_name"] == "1"
    with pytest.raises(
        af.InputError, match="no names for its classes, got 'plural'; pass a number from 0 to 1"
    ):
        _ = input_gradient(Linear(), None, IDS, target="plural")


def test_a_token_goes_by_its_name_or_by_a_text_that_is_one_token():
    model = model_of("gpt2-lm")
    found = [blank_out(model, tokenizer(), TEXT, target=t) for t in (7, "##s", "Man", 13)]
    assert [each.settings["target_name"] for each in found] == ["##s", "##s", "man", "man"]
    with pytest.raises(
        af.InputError, match=r"expected one token, got 'keys', which is 2 tokens \(key s\)"
    ):
        _ = blank_out(model, tokenizer(), TEXT, target="keys")
    with pytest.raises(af.InputError, match="'zzz' is not in the vocabulary"):
        _ = blank_out(model, tokenizer(), TEXT, target="zzz")


def test_a_difference_of_many_classes_is_to_the_best_other_one_of_the_unchanged_input():
    model = model_of("bert-of-three")
    ids = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    rows = torch.cat([ids, ids])
    rows[1, 2] = 1
    with torch.no_grad():
        p = model(rows).logits.softmax(-1).numpy()
    for target in range(3):
        other = max({0, 1, 2} - {target}, key=lambda number: p[0, number])
        found = blank_out(model, tokenizer(), TEXT, target=target, score="difference", signed=True)
        assert found.settings["other"] == other
        assert found.settings["other_name"] == f"LABEL_{other}"
        change = (p[0, target] - p[0, other]) - (p[1, target] - p[1, other])
        assert found.values[2] == pytest.approx(change)


class One(torch.nn.Module):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return ids.double().sum(dim=1, keepdim=True)


@pytest.mark.parametrize("score", ["probability", "difference"])
def test_a_model_of_one_number_has_a_logit_only(score: str):
    with pytest.raises(
        af.InputError,
        match=r"One is a regression model with 1 outputs, .* with score='logit'",
    ):
        _ = blank_out(One(), None, IDS, replace=0, score=score)
    assert blank_out(One(), None, IDS, replace=0, score="logit")[0].values.tolist() == [1, 2, 3]


def test_several_numbers_have_logits_only_too():
    model = new_model("bert-of-three")
    model.config.problem_type = "regression"
    with pytest.raises(af.InputError, match="a regression model with 3 outputs"):
        _ = blank_out(model, tokenizer(), TEXT)
    for answers in ({"score": "logit"}, {"score": "logit_difference", "target": 0, "against": 2}):
        assert blank_out(model, tokenizer(), TEXT, **answers).values.any()


def test_classes_that_do_not_exclude_one_another_have_probabilities_of_their_own():
    model = new_model("bert-of-three")
    model.config.problem_type = "multi_label_classification"
    ids = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        p = model(ids).logits.sigmoid()[0]
    found = blank_out(model, tokenizer(), TEXT, target=2)
    assert found.settings["input_score"] == pytest.approx(float(p[2]))
    with pytest.raises(af.InputError, match="are independent"):
        _ = blank_out(model, tokenizer(), TEXT, score="difference")


def test_a_score_that_does_not_exist_is_refused():
    known = "probability, log_probability, logit, difference, logit_difference"
    with pytest.raises(af.InputError, match=f"score: expected one of {known}, got 'loss'"):
        _ = blank_out(model_of("bert"), tokenizer(), TEXT, score="loss")


def test_two_answers_are_compared():
    model, settings = model_of("bert-of-three"), {"signed": True}
    first, third = (
        blank_out(model, tokenizer(), TEXT, target=t, score="logit", **settings) for t in (0, 2)
    )
    found = blank_out(
        model, tokenizer(), TEXT, target=0, against=2, score="logit_difference", **settings
    )
    np.testing.assert_allclose(found.values, first.values - third.values, atol=1e-9)
    assert (found.settings["other"], found.settings["other_name"]) == (2, "LABEL_2")
    other = blank_out(model, tokenizer(), TEXT, target=0, against=1, score="difference")
    assert other.settings["other_name"] == "LABEL_1"
    gradient = input_gradient(
        model, tokenizer(), TEXT, target=0, against=2, score="logit_difference"
    )
    assert gradient.settings["other"] == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"against": 1}, "against=1 needs a score of two classes"),
        (
            {"target": 1, "against": "plural", "score": "difference"},
            "another answer than the target, got 'plural' for both",
        ),
        ({"against": "dual", "score": "difference"}, "against: expected one of singular, plural"),
    ],
)
def test_answers_that_cannot_be_compared_are_refused(settings: dict[str, Any], message: str):
    with pytest.raises(af.InputError, match=message):
        _ = blank_out(model_of("bert"), tokenizer(), TEXT, **settings)


class Spaces:
    """A tokenizer that has words with and without a space before them."""

    unk_token_id = None
    _ids: ClassVar = {"his": 0, " his": 1, " Rome": 2, "R": 3, "ome": 4}

    def convert_tokens_to_ids(self, token: str) -> int | None:
        return self._ids.get(token.replace("Ġ", " "))

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        names = list(self._ids)
        return [names[number].replace(" ", "Ġ") for number in ids]

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        assert not add_special_tokens
        whole = self._ids.get(text)
        return {"input_ids": [2, 4] if whole is None else [whole]}


@pytest.mark.parametrize(
    ("target", "expected"),
    [("his", [0, 1]), (" his", [1]), ("Ġhis", [1]), ("Rome", [2]), ("ome", [4]), (3, [3])],
)
def test_a_word_is_a_token_with_or_without_its_space(target: int | str, expected: list[int]):
    classes = Classes(5, None, Spaces(), tokens=True)
    assert classes.numbers(target) == expected


def test_a_spelling_that_the_model_has_no_logit_for_is_none_of_them():
    classes = Classes(1, None, Spaces(), tokens=True)
    assert classes.likeliest("his", torch.tensor([1.0])) == 0
    with pytest.raises(af.InputError, match="Rome"):
        _ = classes.numbers("Rome")


def test_errors_about_tokens_name_them_as_people_write_them():
    classes = Classes(5, None, Spaces(), tokens=True)
    with pytest.raises(af.InputError, match=r"got ' Rome and', which is 2 tokens \(Rome ome\)"):
        _ = classes.numbers(" Rome and")


def test_of_two_spellings_the_more_probable_is_the_target():
    classes = Classes(5, None, Spaces(), tokens=True)
    for logits, expected in (([1.0, 2.0, 0, 0, 0], 1), ([2.0, 1.0, 0, 0, 0], 0)):
        assert classes.likeliest("his", torch.tensor(logits)) == expected
