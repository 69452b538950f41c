"""Models of one's own with a `BlockLayout`; a wrong one is an error and no wrong result."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any, cast

import literal
import numpy as np
import pytest
import reference
import torch
from edge_models import (
    FAMILIES,
    IMAGES,
    METHODS,
    alti,
    effective,
    hf,
    inputs_for,
    model_of,
    new_model,
    norms,
    one,
    randomized,
    value_zeroing,
)
from own_models import (
    NORM_FIRST,
    NORM_LAST,
    ByNorm,
    FusedMix,
    Mix,
    OwnModel,
    PlainCentered,
    PlainRoot,
)
from unknown_model import UnknownConfig, UnknownModel

import attnflow as af
from attnflow import edges, paper
from attnflow.edges import BlockLayout, Edges
from attnflow.edges._layout import LAYOUTS, known_layout
from attnflow.errors import InputError, UnsupportedModelError
from attnflow.evaluate import EvaluationPlan, explain, measure
from close_results import assert_close

IDS = inputs_for("bert")["input_ids"]
OF_BLOCKS = ["norms", "alti", "value_zeroing", "logit_contributions"]


def _layers(model: Any) -> list[reference.Layer]:
    """The blocks of a model of one's own in the pass over IDS, read by hooks."""
    seen: dict[str, list[Any]] = {"x": [], "out": [], "V": [], "A": []}

    def keep(name: str, value: torch.Tensor) -> None:
        seen[name].append(value[0].detach().clone().double())

    handles: list[Any] = []
    for block in model.steps:
        handles += [
            block.register_forward_pre_hook(lambda _m, args: keep("x", args[0])),
            block.register_forward_hook(lambda _m, _a, out: keep("out", out)),
            block.mix.v.register_forward_hook(lambda _m, _a, out: keep("V", out)),
            block.mix.attn_drop.register_forward_hook(lambda _m, _a, out: keep("A", out)),
        ]
    with torch.no_grad():
        _ = model(IDS)
    for handle in handles:
        handle.remove()
    found: list[reference.Layer] = []
    for number, block in enumerate(model.steps):
        x, out, V, A = (seen[name][number].numpy() for name in ("x", "out", "V", "A"))
        values = V.reshape(len(x), 2, 4).repeat(2, axis=1)
        W = reference.array(block.mix.out.weight.T).reshape(4, 4, 16)
        norm = None if block.first else block.norm_a
        b = reference.array(block.mix.out.bias)
        found.append(reference.Layer(A, values, W, b, x, out, norm))
    return found


@pytest.mark.parametrize(
    ("settings", "layout"),
    [
        ({}, NORM_FIRST),
        ({"in_place": True}, NORM_FIRST),
        ({"first": False}, NORM_LAST),
        ({"norm": torch.nn.RMSNorm}, NORM_FIRST),
        ({"first": False, "norm": torch.nn.RMSNorm}, NORM_LAST),
        ({"first": False, "norm": PlainRoot}, NORM_LAST),
        ({"first": False, "norm": PlainCentered}, NORM_LAST),
    ],
    ids=["norm first", "in place", "norm last", "RMS", "RMS last", "own RMS last", "own last"],
)
def test_a_model_of_ones_own_works_with_its_layout(settings: Any, layout: BlockLayout):
    model = randomized(OwnModel(**settings))
    layers = _layers(model)
    results = [method(model, None, IDS, layout=layout) for method in (norms, alti, effective)]
    for [found], expected in zip(
        results,
        (
            reference.norms,
            lambda layer: reference.alti(layer)[1],
            lambda layer: _with_residual(reference.effective(layer)),
        ),
        strict=True,
    ):
        assert found.n_layers == len(layers) == 3
        for mine, layer in zip(found.layers, layers, strict=True):
            np.testing.assert_allclose(mine, expected(layer), rtol=0, atol=1e-6)


def _with_residual(effective: Any) -> Any:
    shares = reference.rows_to_one(np.maximum(effective.mean(axis=0), 0))
    return (shares + np.eye(len(shares))) / 2


@pytest.mark.parametrize("in_place", [False, True])
def test_value_zeroing_of_a_model_of_ones_own_is_that_of_runs_without_a_value(in_place: bool):
    model = randomized(OwnModel(in_place=in_place))
    layer, block = _layers(model)[1], model.steps[1]
    changes = np.zeros((9, 9))
    for j in range(9):

        def zero(_module: Any, _args: Any, output: torch.Tensor, j: int = j) -> None:
            output[0, j] = 0

        handle = block.mix.v.register_forward_hook(zero)
        with torch.no_grad():
            changed = reference.array(block(torch.tensor(layer.x)[None])[0])
        handle.remove()
        for i, (a, b) in enumerate(zip(layer.out, changed, strict=True)):
            changes[i, j] = 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    [found] = value_zeroing(model, None, IDS, layout=NORM_FIRST)
    np.testing.assert_allclose(found.layers[1], reference.rows_to_one(changes), rtol=0, atol=1e-6)


def test_opt_works_with_a_layout_though_its_norm_has_no_batch_axis():
    small = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "ffn_dim": 24}
    small |= {"vocab_size": 400, "max_position_embeddings": 64, "word_embed_proj_dim": 16}
    model, inputs = randomized(hf.OPTForCausalLM(hf.OPTConfig(**small))), inputs_for("gpt2")
    norm = "final_layer_norm"
    layout = BlockLayout("self_attn", "self_attn.out_proj", norm, norm_first=True, final_norm=norm)
    results = [METHODS[name](model, None, inputs, layout=layout) for name in OF_BLOCKS]
    [contributions] = results[OF_BLOCKS.index("logit_contributions")]
    with torch.no_grad():
        logit = float(model(**inputs).logits[0, -1].max())
    rest = sum(contributions.settings["feed_forward"]) + contributions.settings["bias"]
    assert contributions.values.sum() + rest == pytest.approx(logit, abs=1e-6)
    parts = literal.Parts(
        "OPTDecoderLayer", "self_attn.v_proj", "self_attn.out_proj", before="self_attn_layer_norm"
    )
    twin = literal.use_own_attention(model)
    layers = literal.layers_of(twin, parts, inputs)
    assert len(layers) == 3
    for number, layer in enumerate(layers):
        expected = {
            "norms": literal.norms(layer),
            "alti": literal.alti(layer)[1],
            "value_zeroing": literal.value_zeroing(twin, parts, inputs, number, layer),
        }
        for name, mine in zip(OF_BLOCKS, results, strict=True):
            if name in expected:
                layer_of_it = mine[0].layers[number]
                np.testing.assert_allclose(layer_of_it, expected[name], rtol=0, atol=1e-6)


def test_contributions_to_the_logit_of_a_model_of_ones_own_sum_to_it():
    model = randomized(OwnModel())
    [found] = METHODS["logit_contributions"](model, None, IDS, layout=NORM_FIRST, target=1)
    with torch.no_grad():
        logit = float(model(IDS)[0, 1])
    rest = sum(found.settings["feed_forward"]) + found.settings["bias"]
    assert found.values.sum() + rest == pytest.approx(logit, abs=1e-6)


def test_fused_attention_needs_no_value_projection():
    fused, plain = (randomized(OwnModel(mix=mix)) for mix in (FusedMix, Mix))
    without = dataclasses.replace(NORM_FIRST, value="")
    for method in (norms, alti, effective, value_zeroing):
        [found] = method(fused, None, IDS, layout=without)
        [expected] = method(plain, None, IDS, layout=NORM_FIRST)
        assert_close(found.layers, expected.layers)
    found = value_zeroing(fused, None, IDS, layout=NORM_FIRST)
    assert_close(found, value_zeroing(plain, None, IDS, layout=NORM_FIRST))


@pytest.mark.parametrize("method", ["norms", "alti", "effective", "value_zeroing"])
def test_values_that_are_unknown_are_an_error_that_names_the_value_projection(method: str):
    layout = dataclasses.replace(NORM_FIRST, value="")
    with pytest.raises(af.UnsupportedModelError, match="Name its value projection"):
        _ = METHODS[method](OwnModel(), None, IDS, layout=layout)


WRONG = {
    "value": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, value="mix.k"),
        "not the sum.* value='mix.k'",
    ),
    "output": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, output="mix.q"),
        "not the sum.* output='mix.q'",
    ),
    "norm": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, norm="norm_a"),
        "not the sum.* norm='norm_a'",
    ),
    "scale": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, scale="mix.out.bias"),
        "not the sum.* scale='mix.out.bias'",
    ),
    "last is first": (
        OwnModel(first=False),
        dataclasses.replace(NORM_LAST, norm_first=True, final_norm="end"),
        r"norm_first=True, and .* as with norm_first=False\. Correct norm_first=True or attention=",
    ),
    "first is last": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, norm_first=False),
        "norm_first=False, and the input of its attention is not the input of the block",
    ),
    "name": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, norm="norm_c"),
        r"no module has the parts norm='norm_c'\.",
    ),
    "parameter": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, norm="mix.out.weight"),
        r"no module has the parts norm='mix\.out\.weight'\.",
    ),
    "scale that is none": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, scale="gamma"),
        r"no module has the parts scale='gamma'\.",
    ),
    "module that is not called": (
        OwnModel(mix=FusedMix),
        dataclasses.replace(NORM_FIRST, attention="mix.attn_drop"),
        r"layer 1 of OwnModel .*: no attention input was seen in it\. Correct attention='mix.attn",
    ),
    "width": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, norm="feed.1"),
        "shapes that do not fit. Correct norm='feed.1'",
    ),
    "width of the projection": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, output="feed.0"),
        "shapes that do not fit. Correct output='feed.0'",
    ),
    "width of the values": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, value="feed.0"),
        "shapes that do not fit. Correct value='feed.0'",
    ),
    "shape of the scale": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, scale="mix.q.weight"),
        "shapes that do not fit. Correct scale='mix.q.weight'",
    ),
    "no projection": (
        OwnModel(),
        dataclasses.replace(NORM_FIRST, output="mix.attn_drop"),
        "output='mix.attn_drop': expected an output projection with a weight .*, got Dropout",
    ),
}


@pytest.mark.parametrize("method", ["norms", "alti", "value_zeroing"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_layout_is_an_error(wrong: str, method: str):
    model, layout, message = WRONG[wrong]
    with pytest.raises(af.UnsupportedModelError, match=message):
        _ = METHODS[method](randomized(model), None, IDS, layout=layout)


@pytest.mark.parametrize("changed", [{"value": "mix.k"}, {"output": "mix.q"}])
def test_a_wrong_projection_is_an_error_for_effective_attention(changed: Any):
    layout = dataclasses.replace(NORM_FIRST, **changed)
    message = (
        f"the input of {layout.output} is not .* times the output of {layout.value}. "
        f"Correct value='{layout.value}' or output='{layout.output}'"
    )
    with pytest.raises(af.UnsupportedModelError, match=message):
        _ = effective(randomized(OwnModel()), None, IDS, layout=layout)


def test_a_projection_that_is_not_called_is_an_error_for_effective_attention():
    model = randomized(OwnModel())
    for step in model.steps:
        step.unused = torch.nn.Linear(16, 8)
    layout = dataclasses.replace(NORM_FIRST, value="unused")
    with pytest.raises(af.UnsupportedModelError, match="not every attention has a value"):
        _ = effective(model, None, IDS, layout=layout)


@pytest.mark.parametrize("factor", [1, 1e4])
def test_a_wrong_layout_shows_in_a_large_residual_stream_too(factor: float):
    model, layout = randomized(OwnModel()).float(), dataclasses.replace(NORM_FIRST, value="mix.k")
    with torch.no_grad():
        _ = model.words.weight[:, 3].mul_(factor)
    assert len(norms(model, None, IDS, layout=NORM_FIRST)) == 1
    with pytest.raises(af.UnsupportedModelError, match="not the sum"):
        _ = norms(model, None, IDS, layout=layout)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_rms_norm_without_epsilon_has_that_of_pytorch(dtype: torch.dtype):
    # The sum after attention is as small as the epsilon.
    model = randomized(OwnModel(first=False, norm=torch.nn.RMSNorm)).to(dtype)
    with torch.no_grad():
        for parameter in (model.words.weight, *model.steps[0].mix.parameters()):
            _ = parameter.mul_(1e-3)
    [found] = norms(model, None, IDS, layout=NORM_LAST)
    assert found.n_layers == 3


def test_a_norm_that_is_neither_is_an_error():
    model = randomized(OwnModel(first=False, norm=ByNorm))
    for method in (norms, alti):
        with pytest.raises(af.UnsupportedModelError, match="ByNorm is not LayerNorm or RMSNorm"):
            _ = method(model, None, IDS, layout=NORM_LAST)


@pytest.mark.parametrize("method", OF_BLOCKS)
def test_an_unknown_architecture_is_an_error_that_shows_a_layout(method: str):
    for model in (UnknownModel(UnknownConfig()), OwnModel()):
        with pytest.raises(af.UnsupportedModelError, match="Describe its blocks") as raised:
            _ = METHODS[method](model, None, IDS)
        shown = str(raised.value).partition("layout=attnflow.edges.")[2]
        assert eval(shown, {"BlockLayout": BlockLayout}).norm_first is True  # noqa: S307 (ours)


@pytest.mark.parametrize("method", OF_BLOCKS)
def test_an_encoder_decoder_is_an_error_that_names_what_supports_it(method: str):
    model = model_of("bart")
    layout = BlockLayout(
        "self_attn", "self_attn.out_proj", "self_attn_layer_norm", norm_first=True,
        final_norm="layer_norm",
    )  # fmt: skip
    with pytest.raises(af.UnsupportedModelError, match="BartForConditionalGeneration"):
        _ = METHODS[method](model, None, inputs_for("bart"))
    if method != "logit_contributions":  # which finds no last norm
        with pytest.raises(af.UnsupportedModelError, match="is an encoder-decoder"):
            _ = METHODS[method](model, None, inputs_for("bart"), layout=layout)


def test_vision_models_have_the_layout_of_the_installed_transformers():
    assert set(IMAGES) == {"vit", "dinov2", "dinov2-with-registers"}
    for family in IMAGES:
        model = model_of(family)
        names = {name for name, _ in model.named_modules()}
        layout = known_layout(model)
        assert layout is not None
        assert any(name.endswith(layout.output) for name in names)


def test_every_known_layout_is_tested():
    tested = {model_of(family).config.model_type for family in FAMILIES}
    # The classes of these two are those of RoBERTa under another name.
    assert set(LAYOUTS) == tested | {"camembert", "xlm-roberta"}


@pytest.mark.parametrize("method", ["norms", "alti", "value_zeroing", "effective"])
@pytest.mark.parametrize("family", ["bert", "llama", "mpnet", "dinov2"])
def test_half_precision_gives_the_same_but_for_rounding(family: str, method: str):
    model, given = new_model(family).to(torch.bfloat16), inputs_for(family)
    inputs = {k: v.to(torch.bfloat16) if v.is_floating_point() else v for k, v in given.items()}
    [found] = METHODS[method](model, None, inputs)
    expected = one(METHODS[method], family)
    assert found.n_layers == 3
    for mine, own in zip(found.layers, expected.layers, strict=True):
        np.testing.assert_allclose(mine, own, rtol=0, atol=0.1)


@pytest.mark.parametrize("method", [*OF_BLOCKS, "effective"])
@pytest.mark.parametrize("layout", ["bert", {}, 0])
def test_a_layout_of_another_type_is_an_input_error(method: str, layout: Any):
    with pytest.raises(af.InputError, match="layout: expected a BlockLayout or None"):
        _ = one(METHODS[method], "gpt2", layout=layout)


@pytest.mark.parametrize("name", edges.EDGES)
def test_a_layout_of_another_type_is_an_error_for_every_choice_of_edges(name: Edges):
    shipped, wrong = paper.load(), cast("Any", {"attention": "attn"})
    given = shipped.model, shipped.tokenizer
    text, plan = "the key", EvaluationPlan(edges=(name,), methods=("rollout",))
    calls: list[Callable[[], Any]] = [
        lambda: edges.edge_graph(*given, text, name, layout=wrong),
        lambda: explain(*given, text, edges=name, layout=wrong),
        lambda: measure(*given, [text], plan, layout=wrong),
    ]
    for call in calls:
        with pytest.raises(af.InputError, match="layout: expected a BlockLayout or None"):
            call()


@pytest.mark.parametrize("name", [*OF_BLOCKS, "effective"])
def test_a_result_can_be_computed_again_with_the_layout_in_its_settings(name: str):
    model = randomized(OwnModel())
    [found] = METHODS[name](model, None, IDS, layout=NORM_FIRST)
    layout = BlockLayout(**found.settings["layout"])
    assert layout == NORM_FIRST
    assert_close(METHODS[name](model, None, IDS, layout=layout), [found])
    assert "layout" not in one(METHODS[name], "gpt2").settings


def _renamed_model() -> tuple[Any, Any]:
    """The shipped model with a model type that is not in the table."""
    shipped = paper.load()
    model: Any = copy.deepcopy(shipped.model)
    model.config.model_type = "another"
    return model, shipped.tokenizer


@pytest.mark.parametrize("name", ["norms", "alti", "value_zeroing"])
def test_explain_and_measure_take_a_layout(name: Edges):
    model, tokenizer = _renamed_model()
    layout: Any = LAYOUTS["attnflow-verb-number"]
    shipped, text = paper.load(), "the key to the cabinets"
    expected = explain(shipped.model, tokenizer, text, edges=name)
    found = explain(model, tokenizer, text, edges=name, layout=layout)
    assert [*found.scores] == [*expected.scores]
    for method, scores in expected.scores.items():
        assert_close(found.scores[method].scores, scores.scores)
    plan = EvaluationPlan(edges=(name,), methods=("rollout",))
    with pytest.raises(UnsupportedModelError, match=r"layout=attnflow.edges.BlockLayout\("):
        _ = measure(model, tokenizer, [text], plan, fail_fast=True)
    measured = measure(model, tokenizer, [text], plan, layout=layout, fail_fast=True)
    assert_close(
        measured.texts[0].values, measure(shipped.model, tokenizer, [text], plan).texts[0].values
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attention": 3}, "BlockLayout: attention must be the name of a module .* block, .* 3"),
        ({"output": None}, r"output must be .*, as block\.named_modules\(\) prints it, got None"),
        ({"attention": " "}, "attention must be the name of a module .* got ' '"),
        ({"norm": ""}, "norm must be the name of a module inside a block, .* got ''"),
        ({"value": None}, "value must be the name of a module .*, or empty, got None"),
        ({"scale": 1}, r"scale must be the name of a parameter .* block\.named_parameters\(\)"),
        ({"final_norm": 1}, "final_norm must be .* inside the one that contains the blocks, .* 1"),
        ({"norm_first": []}, r"norm_first must be a bool, got \[\]"),
    ],
)
def test_a_layout_of_other_things_than_names_is_an_error(settings: Any, message: str):
    with pytest.raises(InputError, match=message):
        _ = BlockLayout(
            **({"attention": "attn", "output": "attn.proj", "norm": "norm2"} | settings)
        )


@pytest.mark.parametrize("method", ["norms", "alti", "value_zeroing"])
def test_a_model_of_zeros_fits_the_layout_of_its_family(method: str):
    model = new_model("llama")
    with torch.no_grad():
        for parameter in model.parameters():
            _ = parameter.zero_()
    [found] = METHODS[method](model, None, inputs_for("llama"))
    assert_close(np.array(found.layers), np.tile(np.eye(9), (3, 1, 1)))


@pytest.mark.parametrize(("field", "message"), [("norm", "norm output"), ("value", "values")])
def test_a_module_that_returns_a_tuple_is_an_error_that_names_the_field(field: str, message: str):
    layout = dataclasses.replace(cast("Any", LAYOUTS["bert"]), **{field: "attention"})
    with pytest.raises(
        af.UnsupportedModelError,
        match=f"{message}: expected a tensor .* Correct {field}='attention'",
    ):
        _ = one(norms, "bert", layout=layout)
    if field == "value":
        with pytest.raises(af.UnsupportedModelError, match=r"no tensor. Correct value='attention'"):
            _ = one(effective, "bert", layout=layout)
