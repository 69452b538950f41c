"""The sum of a gradient over dimensions says nothing behind a LayerNorm."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from answering_models import TEXT, TEXTS, Linear, input_gradient, model_of, new_model, tokenizer
from torch import Tensor, nn

import attnflow as af

BEHIND_LAYER_NORM = ["bert", "distilbert", "roberta", "albert", "gpt2", "gpt2-lm", "bart-lm"]
PRECISIONS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


class Tiny(nn.Module):
    """Embeddings, with or without a LayerNorm after them, weighed by their place, two classes."""

    def __init__(self, *, normed: bool) -> None:
        super().__init__()
        _ = torch.manual_seed(0)
        self.table, self.head = nn.Embedding(18, 4), nn.Linear(4, 2)
        self.norm = nn.LayerNorm(4) if normed else nn.Identity()

    def forward(self, ids: Tensor) -> Tensor:
        at = torch.arange(1.0, ids.shape[1] + 1, dtype=self.head.weight.dtype)
        return self.head((self.norm(self.table(ids)) * at[None, :, None]).mean(dim=1))


def tiny(*, normed: bool) -> Tiny:
    return Tiny(normed=normed).double().eval()


def gradient_of(model: Tiny, ids: Tensor) -> Any:
    """The gradient (position, width) of p(t) − p(o), straight from autograd."""
    found: list[Tensor] = []

    def catch(*given: Any) -> Tensor:
        found.append(given[2].detach().requires_grad_())
        return found[0]

    handle = model.table.register_forward_hook(catch)
    p = model(ids).softmax(-1)[0]
    handle.remove()
    (slopes,) = torch.autograd.grad(p.max() - p.min(), found[0])
    return slopes[0].numpy()


def test_without_layer_norm_the_default_is_the_papers_sum():
    model, ids = tiny(normed=False), torch.tensor([[5, 6, 7]])
    [found] = input_gradient(model, None, ids)
    assert found.settings["reduce"] == "sum"
    np.testing.assert_allclose(found.values, np.abs(gradient_of(model, ids).sum(-1)), rtol=1e-12)
    assert [found] == input_gradient(model, None, ids, reduce="sum")


def test_a_model_is_probed_once_and_again_when_it_changed():
    model, ids = tiny(normed=True), torch.tensor([[5, 6, 7]])
    passes: list[tuple[int, ...]] = []
    _ = model.register_forward_pre_hook(lambda _, given: passes.append(tuple(given[0].shape)))

    def chosen() -> str:
        passes.clear()
        return input_gradient(model, None, ids)[0].settings["reduce"]

    assert (chosen(), passes) == ("norm", [(1, 3), (1, 8)])
    assert (chosen(), passes) == ("norm", [(1, 3)])
    model.norm = nn.Identity()
    assert (chosen(), passes) == ("sum", [(1, 3), (1, 8)])
    with torch.no_grad():
        _ = model.head.weight.mul_(2)
    assert (chosen(), passes) == ("sum", [(1, 3), (1, 8)])


def test_behind_a_layer_norm_the_default_is_the_norm():
    model, ids = tiny(normed=True), torch.tensor([[5, 6, 7]])
    slopes = gradient_of(model, ids)
    np.testing.assert_allclose(slopes.sum(-1), 0, atol=1e-15)
    [found] = input_gradient(model, None, ids)
    assert found.settings["reduce"] == "norm"
    np.testing.assert_allclose(found.values, np.linalg.norm(slopes, axis=-1), rtol=1e-12)
    assert [found] == input_gradient(model, None, ids, reduce="norm")


@pytest.mark.parametrize("normed", [True, False])
def test_asking_for_the_sum_is_an_error_only_behind_a_layer_norm(normed: bool):
    model, ids = tiny(normed=normed), torch.tensor([[5, 6, 7]])
    if not normed:
        assert input_gradient(model, None, ids, reduce="sum", signed=True)[0].values.any()
        return
    with pytest.raises(af.InputError, match=r"of Tiny sums to zero.*use reduce=.norm. or reduce="):
        _ = input_gradient(model, None, ids, reduce="sum")


def test_a_sign_is_nothing_that_a_norm_could_have():
    model, ids = tiny(normed=True), torch.tensor([[5, 6, 7]])
    with pytest.raises(af.InputError, match=r"the sum says nothing; use reduce=.input.$"):
        _ = input_gradient(model, None, ids, signed=True)
    assert input_gradient(model, None, ids, signed=True, reduce="input")[0].values.any()


@pytest.mark.parametrize("normed", [True, False])
def test_texts_of_all_lengths_are_reduced_as_they_are_one_by_one(normed: bool):
    model = tiny(normed=normed)
    together = input_gradient(model, tokenizer(), [*TEXTS, *TEXTS[:2]], batch_size=2)
    for text, found in zip([*TEXTS, *TEXTS[:2]], together, strict=True):
        alone = input_gradient(model, tokenizer(), text)
        assert found.settings["reduce"] == alone.settings["reduce"] == ("norm" if normed else "sum")
        np.testing.assert_allclose(found.values, alone.values, rtol=1e-12)


class NormedNowAndThen(Tiny):
    """Leaves its LayerNorm out for inputs that begin with token 3; the probe does not."""

    def forward(self, ids: Tensor) -> Tensor:
        read = self.table(ids)
        return self.head(torch.where(ids[:, :1, None] == 3, read, self.norm(read)).mean(dim=1))


@pytest.mark.parametrize("normed", [True, False])
def test_the_model_decides_and_not_the_other_texts(normed: bool):
    model = NormedNowAndThen(normed=normed).double()
    rows = torch.tensor([[3, 6, 7], [5, 6, 7], [3, 3, 3], [1, 8, 3]])
    alone = [input_gradient(model, None, row[None])[0] for row in rows]
    assert {found.settings["reduce"] for found in alone} == {"norm" if normed else "sum"}
    for order in ([0, 1, 2, 3], [1, 0, 3, 2], [0, 2], [3, 1]):
        for number, found in zip(order, input_gradient(model, None, rows[order]), strict=True):
            assert found.settings == alone[number].settings
            np.testing.assert_allclose(found.values, alone[number].values, rtol=1e-12)
            assert found.values.shape == (3,)
            assert found.values.all(), "rounding is not importance"


class OfThree(Tiny):
    """Takes three tokens and no other number, as no probe of another length can have."""

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids.reshape(-1, 3))


@pytest.mark.parametrize("normed", [True, False])
def test_where_eight_ids_do_not_fit_the_model_the_probe_has_the_shape_of_the_input(normed: bool):
    model = OfThree(normed=normed).double()
    rows = torch.tensor([[2, 6, 7], [5, 6, 7]])
    found = input_gradient(model, None, rows)
    assert [item.settings["reduce"] for item in found] == ["norm" if normed else "sum"] * 2
    for item, row in zip(found, rows, strict=True):
        np.testing.assert_allclose(item.values, input_gradient(model, None, row[None])[0].values)


class EndsWithOne(Tiny):
    """Needs one end token, id 2, which no fixed ids have."""

    def forward(self, ids: Tensor) -> Tensor:
        if ids.ndim == 2 and not bool(((ids == 2).sum(dim=1) == 1).all()):
            raise ValueError("expected one end token")
        return super().forward(ids)


@pytest.mark.parametrize("normed", [True, False])
def test_where_no_fixed_ids_run_the_input_itself_is_the_probe(normed: bool):
    model = EndsWithOne(normed=normed).double()
    [found] = input_gradient(model, None, torch.tensor([[5, 6, 7, 2]]))
    assert found.settings["reduce"] == ("norm" if normed else "sum")
    assert found.values.all()


class OfEmbeddings(nn.Module):
    """Reads embeddings, and has no table; weights sum to zero where a row begins with zero."""

    def forward(self, embeddings: Tensor) -> Tensor:
        read = embeddings.sum(dim=1)
        zero, other = torch.tensor([[[1.0, -1.0], [-2.0, 2.0]], [[2.0, 1.0], [1.0, 3.0]]])
        return torch.where(embeddings[:, 0, :1] == 0, read @ zero.T, read @ other.T)


def test_a_model_of_embeddings_alone_is_reduced_in_one_way_whatever_the_rows():
    rows = torch.tensor([[[1.0, 2.0], [0.5, 1.0]], [[0.0, 2.0], [0.5, 1.0]]])
    for order in ([0, 1], [1, 0], [0], [1]):
        found = input_gradient(OfEmbeddings(), None, rows[order], score="logit")
        assert {item.settings["reduce"] for item in found} == {"sum"}


class Constant(Linear):
    def forward(self, ids: Tensor) -> Tensor:
        return 0 * super().forward(ids)


def test_a_model_that_never_changes_its_answer_has_sums_of_zero():
    for reduce in (None, "sum"):
        [found] = input_gradient(Constant(), None, torch.tensor([[1, 2, 3]]), reduce=reduce)
        assert found.settings["reduce"] == "sum"
        assert not found.values.any()


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("family", BEHIND_LAYER_NORM)
def test_families_behind_a_layer_norm_have_a_norm_and_no_sum(family: str, dtype: torch.dtype):
    model = copy.deepcopy(model_of(family)).to(dtype)
    with pytest.raises(af.InputError, match=r"through LayerNorm.*use reduce=.norm. or reduce="):
        _ = input_gradient(model, tokenizer(), TEXT, reduce="sum")
    found = input_gradient(model, tokenizer(), TEXT)
    assert found.settings["reduce"] == "norm"
    assert found.values.any()


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("family", ["llama", "llama-lm", "t5-lm"])
def test_models_without_layer_norm_have_sums(family: str, dtype: torch.dtype):
    found = input_gradient(copy.deepcopy(model_of(family)).to(dtype), tokenizer(), TEXT)
    assert found.settings["reduce"] == "sum"
    assert found.values.shape == (9,)
    assert found.values.all()


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta", "gpt2"])
def test_the_answer_stays_when_the_same_is_added_to_all_dimensions(family: str):
    model = new_model(family)
    table: Any = model.get_input_embeddings()
    inputs = tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        before = model(inputs).logits
        _ = table.weight.add_(torch.randn(len(table.weight), 1, dtype=torch.float64))
        torch.testing.assert_close(model(inputs).logits, before)


def test_the_sum_of_a_token_with_a_path_around_all_layer_norms_is_kept():
    model = new_model("gpt2")
    model.transformer.ln_f = (
        torch.nn.Identity()
    )  # so that the last token has a path without LayerNorm
    found = input_gradient(model, tokenizer(), TEXT).values
    assert found[-1] > 0
    assert not found[:-1].any(), "rounding is not importance"
