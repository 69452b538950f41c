"""Edge weights of real models against loops straight from the formulas."""

import copy
import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import literal
import numpy as np
import pytest
import reference
import torch
from pictures import noise
from real_models import SENTENCE, marked

import attnflow as af
from attnflow import edges
from attnflow.edges._effective_weights import effective_weights

Load = Callable[[str], tuple[Any, Any]]
made: Any = edges  # without the types of one text or several

MODELS = marked(["minilm", "smollm2", "dinov2", "cloneguard"])
# Float error of a pass in single precision, as a share of a row or of the largest number.
TOLERANCE = 1e-4


@dataclass(eq=False)
class Case:
    """A real model with logits, and inputs for it."""

    model: Any
    family: str
    sum_norm: str  # in a block: the norm whose input is the sum of attention and residual
    few: dict[str, torch.Tensor]  # few positions, for loops
    many: dict[str, torch.Tensor]  # more positions than a head has dimensions

    @property
    def parts(self) -> literal.Parts:
        """Where a block keeps its parts."""
        return reference.PARTS[self.family]

    @functools.cached_property
    def twin(self) -> Any:
        """The same model with our own attention."""
        return literal.use_own_attention(_copy(self.model))

    @functools.cached_property
    def layers(self) -> list[literal.Layer]:
        """The blocks in the pass over few positions."""
        return literal.layers_of(self.twin, self.parts, self.few)


def _copy(model: Any) -> Any:
    """A copy of a model with the same parameters, so that it takes no memory."""
    return copy.deepcopy(model, {id(parameter): parameter for parameter in model.parameters()})


def _with_head(kind: Any, name: str, encoder: Any) -> Any:
    """A classifier on top of an encoder without one; its head is random."""
    encoder = _copy(encoder)
    _ = torch.manual_seed(0)
    model = kind(encoder.config)
    setattr(model, name, encoder)
    return model.eval()


def _case(name: str, model: Any, tokenizer: Any) -> Case:
    if name == "dinov2":
        from transformers import Dinov2WithRegistersForImageClassification

        model = _with_head(
            Dinov2WithRegistersForImageClassification, "dinov2_with_registers", model
        )
        few, many = ({"pixel_values": noise(side)} for side in (28, 112))  # 4 and 64 patches
        return Case(model, "dinov2-with-registers", "norm2", few, many)
    ids = tokenizer(" ".join([SENTENCE] * 6), return_tensors="pt").input_ids
    if name == "smollm2":
        model = _copy(model)
        model.model.layers = model.model.layers[:3]  # of 30, to save time
        model.config.num_hidden_layers = 3
        few, many = ({"input_ids": ids[:, :count]} for count in (6, 70))
        return Case(model, "llama", "post_attention_layernorm", few, many)
    if name == "minilm":
        from transformers import BertForSequenceClassification

        model = _with_head(BertForSequenceClassification, "bert", model)
    few, many = ({"input_ids": ids[:, :count]} for count in (6, 40))
    return Case(model, "bert", "attention.output.LayerNorm", few, many)


@pytest.fixture(scope="module")
def case_of(real: Load) -> Callable[[str], Case]:
    """The case by the name of its model."""

    @functools.cache
    def made_once(name: str) -> Case:
        return _case(name, *real(name))

    return made_once


Cases = Callable[[str], Case]


def _close(found: Any, expected: Any) -> None:
    size = float(np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * size)


@pytest.mark.parametrize("name", MODELS)
def test_parts_add_up_to_what_the_block_computes(case_of: Cases, name: str):
    case = case_of(name)
    sums: list[Any] = []
    outputs: list[Any] = []

    def read(_module: Any, args: Any, output: torch.Tensor) -> None:
        sums.append(literal.array(args[0][0]))
        outputs.append(literal.array(output[0]))

    blocks = literal.blocks_of(case.model, case.parts)
    handles = [block.get_submodule(case.sum_norm).register_forward_hook(read) for block in blocks]
    with torch.no_grad():
        _ = case.model(**case.few)
    for handle in handles:
        handle.remove()
    assert len(case.layers) == len(sums) >= 3
    for layer, total, output in zip(case.layers, sums, outputs, strict=True):
        _close(layer.v.sum(axis=1) + layer.b, total)
        if layer.norm is None:
            continue
        beta = literal.array(layer.norm.bias)
        for i, row in enumerate(layer.v):
            parts = [layer.after_norm(vector, i) for vector in (*row, layer.b)]
            _close(np.sum(parts, axis=0) + beta, output[i])


@pytest.mark.parametrize("name", MODELS)
def test_norms_and_alti_are_those_of_the_literal_vectors(case_of: Cases, name: str):
    case = case_of(name)
    [norms] = made.norms(case.model, None, case.few)
    [alti] = made.alti(case.model, None, case.few)
    expected = [literal.alti(layer) for layer in case.layers]
    assert norms.n_layers == alti.n_layers == len(case.layers)
    for number, layer in enumerate(case.layers):
        _close(norms.layers[number], literal.norms(layer))
        _close(alti.layers[number], expected[number][1])
    signed = np.concatenate([distances.ravel() for distances, _ in expected])
    clipped = -signed[signed < 0].sum() / np.abs(signed).sum()
    assert alti.settings["clipped"] == pytest.approx(clipped, abs=TOLERANCE)


@pytest.mark.parametrize("name", MODELS)
def test_effective_attention_leaves_the_output_of_the_model_as_it_is(case_of: Cases, name: str):
    case = case_of(name)
    layers = literal.layers_of(case.twin, case.parts, case.many)
    weights = [torch.tensor(layer.A, dtype=torch.float32) for layer in layers]
    removed = [
        effective_weights(own, torch.tensor(layer.V, dtype=torch.float32).transpose(0, 1)) - own
        for own, layer in zip(weights, layers, strict=True)
    ]
    assert all(float(each.abs().max()) > 0.01 for each in removed)
    added = [each.float()[None] for each in removed]
    with torch.no_grad():
        _, before = literal.run(case.twin, case.many)
        _, after = literal.run(case.twin, case.many, added)
        # The same numbers at the wrong keys: so that a change would show.
        _, other = literal.run(case.twin, case.many, [each.roll(1, dims=-1) for each in added])
    _close(after.logits.numpy(), before.logits.numpy())
    change, wrong = ((run.logits - before.logits).abs().max() for run in (after, other))
    assert wrong > 30 * change
    [found] = made.effective(case.model, None, case.many)
    assert found.settings["equals_attention"] is False
    layer = layers[1]
    last = dataclasses.replace(layer, A=layer.A[:, -2:])  # two queries, to save time
    shares = literal.rows_to_one(np.maximum(literal.effective(last).mean(axis=0), 0))
    own = np.eye(len(layer.x))[-2:]
    np.testing.assert_allclose(
        found.layers[1][-2:], shares / 2 + own / 2, rtol=0, atol=10 * TOLERANCE
    )


@pytest.mark.parametrize("against", [None, 0])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_plain_autograd(case_of: Cases, name: str, against: int | None):
    case = case_of(name)
    [found] = made.gradient(case.model, None, case.few, target=1, against=against, identity=False)
    expected = literal.gradients(case.twin, case.few, 1, against)
    assert found.n_layers == len(expected) == len(case.layers)
    for mine, (A, slope) in zip(found.layers, expected, strict=True):
        _close(mine, np.maximum(A * slope, 0).mean(axis=0))
        assert mine.any()


@pytest.mark.parametrize("name", MODELS)
def test_value_zeroing_is_that_of_passes_without_a_value(case_of: Cases, name: str):
    case = case_of(name)
    [found] = made.value_zeroing(case.model, None, case.few)
    expected = literal.value_zeroing(case.twin, case.parts, case.few, 1, case.layers[1])
    assert found.n_layers == len(case.layers)
    _close(found.layers[1], expected)


def test_contributions_to_a_logit_of_smollm2_sum_to_it(case_of: Cases):
    case = case_of("smollm2")
    [found] = made.logit_contributions(case.model, None, case.few, target=1)
    with torch.no_grad():
        logit = float(case.model(**case.few).logits[0, -1, 1])
    rest = sum(found.settings["feed_forward"]) + found.settings["bias"]
    size = np.abs(found.values).sum() + np.abs(found.settings["feed_forward"]).sum()
    assert found.values.sum() + rest == pytest.approx(logit, abs=TOLERANCE * size)
    # By loops: what attention adds at the position that is read, along the contributions below.
    head = literal.array(case.model.lm_head.weight[1] * case.model.model.norm.weight)
    stream = case.layers[-1].out[-1]
    direction = head / np.sqrt((stream**2).mean() + case.model.model.norm.variance_epsilon)
    values = np.zeros(len(case.layers[0].x))
    values[-1] = case.layers[0].x[-1] @ direction
    composed = np.eye(len(values))
    for layer in case.layers:
        for j, k in np.ndindex(composed.shape):
            values[k] += layer.T[-1, j] @ direction * composed[j, k]
        composed = literal.alti(layer)[1] @ composed
    np.testing.assert_allclose(found.values, values, rtol=0, atol=TOLERANCE * size)


@pytest.mark.real
def test_the_logit_of_cloneguard_is_no_sum_over_layers(case_of: Cases):
    # It normalises after every block, and its head reads the mean over positions.
    case = case_of("cloneguard")
    with pytest.raises(af.UnsupportedModelError, match="needs blocks that normalise first"):
        _ = made.logit_contributions(case.model, None, case.few)
