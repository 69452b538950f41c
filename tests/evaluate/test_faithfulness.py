"""Faithfulness against its definition, worked out on a model whose probabilities are known."""

from typing import Any

import numpy as np
import pytest
import torch

from attnflow import paper
from attnflow.errors import InputError
from attnflow.evaluate import faithfulness

pytestmark = pytest.mark.floats


class CountsOnes(torch.nn.Module):
    """The logit of class 0 is the number of tokens 1, that of class 1 is zero."""

    rows = 0

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        self.rows += len(ids)
        ones = (ids == 1).sum(dim=1).double()
        return torch.stack([ones, torch.zeros_like(ones)], dim=1)


def _p(ones: int) -> float:
    return 1 / (1 + np.exp(-ones))


def _measure(ids: list[int], scores: Any, **settings: Any) -> Any:
    model = settings.pop("model", CountsOnes())
    [found] = faithfulness(model, None, torch.tensor([ids]), [scores], replace=0, **settings)
    return found


def test_measures_are_the_means_over_bins_of_signed_differences() -> None:
    ids, scores = [1, 1, 1, 2], [4.0, 3.0, 1.0, 2.0]
    found = _measure(ids, scores, bins=[25, 50])
    # The top one, then the top two, are ones; three ones in all.
    without, alone = [_p(2), _p(1)], [_p(1), _p(2)]
    assert found.comprehensiveness == pytest.approx(_p(3) - np.mean(without))
    assert found.sufficiency == pytest.approx(_p(3) - np.mean(alone))
    assert found.log_odds == pytest.approx(np.mean(np.log(without)) - np.log(_p(3)))


def test_a_token_against_the_prediction_gives_a_negative_difference() -> None:
    class Fewer(CountsOnes):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return 2.5 - super().forward(ids)

    found = _measure([1, 2], [1.0, 0.0], bins=[50], model=Fewer(), target=0)
    assert found.comprehensiveness < 0
    assert found.log_odds > 0


@pytest.mark.parametrize(("tokens", "counts"), [(1, [1]), (3, [1, 2]), (10, [1, 2, 5])])
def test_short_texts_keep_every_bin_and_round_up(tokens: int, counts: list[int]) -> None:
    found = _measure([1] * tokens, np.arange(tokens, 0, -1.0), bins=[1, 20, 50])
    sizes = [max(1, int(np.ceil(share / 100 * tokens))) for share in (1, 20, 50)]
    assert sorted(set(sizes)) == counts
    expected = np.mean([_p(tokens) - _p(tokens - size) for size in sizes])
    assert found.comprehensiveness == pytest.approx(expected)


def test_of_equal_scores_the_earlier_token_comes_first() -> None:
    found = _measure([2, 1], [0.5, 0.5], bins=[50])
    assert found.comprehensiveness == pytest.approx(0.0)


def test_rows_keep_their_shape_and_share_variants() -> None:
    model = CountsOnes()
    scores = np.tile([4.0, 3.0, 2.0, 1.0], (3, 2, 1))
    found = _measure([1, 1, 2, 2], scores, model=model, bins=[25, 50])
    assert found.comprehensiveness.shape == found.sufficiency.shape == (3, 2)
    assert np.ptp(found.log_odds) == 0
    # The text, without the first, with only it, and without the first two, with only them.
    assert model.rows == 5


def test_everything_replaced_leaves_the_text_for_sufficiency() -> None:
    found = _measure([1, 2], [1.0, 0.0], bins=[100])
    assert found.sufficiency == pytest.approx(0.0)
    assert found.comprehensiveness == pytest.approx(_p(1) - _p(0))


def test_special_tokens_are_never_replaced_unless_asked_for() -> None:
    shipped = paper.load()
    # CLS has the highest score; without special tokens it does not count.
    scores = [[9.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    model, tokenizer = shipped.model, shipped.tokenizer
    [plain] = faithfulness(model, tokenizer, ["the keys"], [scores])
    assert plain.comprehensiveness[0] == plain.comprehensiveness[1]
    [special] = faithfulness(model, tokenizer, ["the keys"], [scores], special=True)
    assert special.comprehensiveness[0] != special.comprehensiveness[1]
    assert special.settings["special"] is True


def test_a_mask_token_in_the_text_and_special_tokens_of_tensors_do_not_count() -> None:
    shipped = paper.load()
    tokenizer = shipped.tokenizer
    ids = torch.tensor([tokenizer("the [MASK] keys")["input_ids"]])
    scores = [9.0, 0.0, 9.0, 1.0, 9.0]
    [text], [tensors] = (
        faithfulness(shipped.model, tokenizer, given, [scores], bins=[1])
        for given in (["the [MASK] keys"], ids)
    )
    alone = faithfulness(shipped.model, tokenizer, ids, [[0.0, 0.0, 0.0, 1.0, 0.0]], bins=[1])
    for found in (text, tensors):
        assert found.log_odds == pytest.approx(alone[0].log_odds, rel=1e-4)


def test_bins_are_rounded_up_from_exact_products() -> None:
    found = _measure([1] * 100, np.arange(100, 0, -1.0), bins=[7])
    assert found.log_odds == pytest.approx(np.log(_p(93)) - np.log(_p(100)), abs=1e-12)


def test_texts_together_are_as_one_by_one() -> None:
    shipped = paper.load()
    texts = ["the keys", "the key to the cabinets"]
    scores = [np.arange(4.0), np.arange(7.0)]
    together = faithfulness(shipped.model, shipped.tokenizer, texts, scores)
    assert len(together) == 2
    for text, row, found in zip(texts, scores, together, strict=True):
        [alone] = faithfulness(shipped.model, shipped.tokenizer, [text], [row])
        assert found.log_odds == pytest.approx(alone.log_odds, rel=1e-4)


@pytest.mark.parametrize(
    ("scores", "settings", "message"),
    [
        ([[1.0]], {}, "expected a number for each of 2 tokens"),
        ([[1.0, np.nan]], {}, "none of them NaN"),
        ([], {}, "expected an array for each text, got only 0"),
        ([[1.0, 2.0], [1.0, 2.0]], {}, "expected an array for each text, got 2 for 1 text"),
        ([[1.0, 2.0]], {"bins": []}, "bins: expected percents"),
        ([[1.0, 2.0]], {"bins": [0]}, "bins: expected percents"),
        ([[1.0, 2.0]], {"bins": [101]}, "bins: expected percents"),
    ],
)
def test_bad_input_is_an_error(scores: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = faithfulness(CountsOnes(), None, torch.tensor([[1, 2]]), scores, replace=0, **settings)
