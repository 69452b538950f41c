"""Inputs that people have: sentence pairs, chats, images and pipelines."""

import copy
import inspect
from typing import Any, cast

import numpy as np
import pytest
import torch
import transformers
from PIL import Image

import attnflow as af
from attnflow import evaluate, importance, models, view
from attnflow.evaluate import EvaluationPlan, explain
from attnflow.importance import blank_out

hf: Any = transformers
PAIR = ("Mary saw John", "her house")


def _alike(one: Any, other: Any) -> None:
    assert one.tokens == other.tokens
    np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=1e-6)


# ---- pairs ----------------------------------------------------------------------------------


def test_a_tuple_is_a_sentence_pair(small_bert: models.Loaded) -> None:
    model, tokenizer = small_bert.model, small_bert.tokenizer
    found: Any = af.attend(model, tokenizer, PAIR)
    [ready] = af.attend(model, tokenizer, tokenizer(*PAIR, return_tensors="pt"))
    _alike(found, ready)
    assert found.origin.text == "Mary saw John\nher house"
    spans = [span for span in found.origin.spans if span is not None]
    pieces = [found.origin.text[slice(*span)] for span in spans]
    assert pieces == ["Mary", "saw", "John", "her", "house"]
    words = af.rollout(found).to_words().tokens
    assert [word for word in words if not word.startswith("[")] == pieces


def test_a_list_holds_several_pairs(small_bert: models.Loaded) -> None:
    model, tokenizer = small_bert.model, small_bert.tokenizer
    one: Any = af.attend(model, tokenizer, PAIR)
    both = af.attend(model, tokenizer, [PAIR, ("the author", "his book")])
    assert len(both) == 2
    _alike(both[0], one)
    assert len(blank_out(model, tokenizer, [PAIR, PAIR], position=1)) == 2


def test_a_pair_is_one_text_of_importance_and_of_explain(small_bert: models.Loaded) -> None:
    model, tokenizer = small_bert.model, small_bert.tokenizer
    pair = ("Mary saw John", "at [MASK] house")
    blanked = blank_out(model, tokenizer, pair)
    found = explain(model, tokenizer, pair, methods=["rollout"])
    assert found.text == "Mary saw John\nat [MASK] house"
    assert found.tokens == blanked.tokens
    assert found.tokens[found.query] == "[MASK]"
    graph = af.edges.norms(model, tokenizer, pair)
    assert isinstance(graph, af.AttentionGraph)


@pytest.mark.parametrize("given", [("a", "b", "c"), ("a",), (), ("a", 3), ("a", None, None)])
def test_another_tuple_is_an_error(small_bert: models.Loaded, given: Any) -> None:
    model, tokenizer = small_bert.model, small_bert.tokenizer
    for ask in (af.attend, blank_out, models.rollout_segments, af.edges.norms):
        with pytest.raises(af.InputError, match=r"a sentence pair, got .* as a list"):
            _ = ask(model, tokenizer, given)


def test_both_texts_of_a_pair_have_words(small_bert: models.Loaded) -> None:
    with pytest.raises(af.InputError, match="at least one word"):
        _ = af.attend(small_bert.model, small_bert.tokenizer, ("Mary saw John", " "))


# ---- chats ----------------------------------------------------------------------------------

TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}author :{% endif %}"
)
CHAT = [{"role": "john", "content": "Mary saw her house"}]


@pytest.fixture
def chatting(small_gpt: models.Loaded) -> models.Loaded:
    tokenizer: Any = copy.deepcopy(small_gpt.tokenizer)
    tokenizer.chat_template = TEMPLATE
    return models.Loaded(small_gpt.model, tokenizer)


def test_messages_are_what_the_chat_template_writes(chatting: models.Loaded) -> None:
    model, tokenizer = chatting.model, chatting.tokenizer
    found: Any = af.attend(model, tokenizer, CHAT)
    assert found.origin.text == "john : Mary saw her house author :"
    ids = tokenizer(found.origin.text, add_special_tokens=False, return_tensors="pt")["input_ids"]
    [ready] = af.attend(model, tokenizer, ids)
    _alike(found, ready)
    answered = [*CHAT, {"role": "assistant", "content": "his book"}]
    both = af.attend(model, tokenizer, [CHAT, answered])
    _alike(both[0], found)
    assert both[1].origin.text == "john : Mary saw her house assistant : his book "  # pyright: ignore[reportOptionalMemberAccess]
    assert explain(model, tokenizer, CHAT, methods=["raw"]).text == found.origin.text


def test_chats_that_cannot_be_written_are_errors(
    chatting: models.Loaded, small_gpt: models.Loaded
) -> None:
    with pytest.raises(af.InputError, match="a chat template, and this one has none"):
        _ = af.attend(small_gpt.model, small_gpt.tokenizer, CHAT)
    wrong: Any = [{"role": "john"}]
    with pytest.raises(af.InputError, match=r"expected messages such as .* got {'role': 'john'}"):
        _ = af.attend(chatting.model, chatting.tokenizer, wrong)
    for mixed in ([*CHAT, "b"], [[]], [[*CHAT, "b"]], [["b"]]):
        with pytest.raises(
            af.InputError, match=r"a list of nothing but messages .* got (list|dict)"
        ):
            _ = af.attend(chatting.model, chatting.tokenizer, cast("Any", mixed))
    chatting.tokenizer.chat_template = "{{ raise_exception('no author') }}"
    with pytest.raises(af.InputError, match="does not take these messages: ValueError: no author"):
        _ = af.attend(chatting.model, chatting.tokenizer, CHAT)


# As models that also read images have it: a string has no parts, and is left out.
PARTS = (
    "{% for m in messages %}{{ m['role'] }} :"
    "{% for part in m['content'] %}{% if part['type'] == 'text' %} {{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}{% if add_generation_prompt %} author :{% endif %}"
)


@pytest.mark.parametrize("template", [TEMPLATE, PARTS])
@pytest.mark.parametrize("owner", ["processor", "tokenizer"])
def test_the_chat_template_is_that_of_the_processor_or_of_its_tokenizer(
    small_gpt: models.Loaded, owner: str, template: str
) -> None:
    class TextProcessor(hf.ProcessorMixin):
        def __init__(self, tokenizer: Any) -> None:
            super().__init__(tokenizer)

    processor: Any = TextProcessor(copy.deepcopy(small_gpt.tokenizer))
    (processor if owner == "processor" else processor.tokenizer).chat_template = template
    found: Any = af.attend(small_gpt.model, processor, CHAT)
    assert found.origin.text == "john : Mary saw her house author :"


@pytest.mark.parametrize(
    ("rewritten", "content", "expected"),
    [
        ("content | tojson", 'Mary saw "her" house', '"Mary saw \\"her\\" house"'),
        ("content | upper", "Mary saw her house", "MARY SAW HER HOUSE"),
        ("content | replace('her', 'his')", "Mary saw her house", "Mary saw his house"),
        ("content[:4]", "Mary saw her house", "Mary"),
        ("content", "0", "0"),
        # The first part: a string has none.
        ("content[0]['text']", "Mary saw her house", "Mary saw her house"),
    ],
)
def test_chat_templates_may_rewrite_what_is_said(
    chatting: models.Loaded, rewritten: str, content: str, expected: str
) -> None:
    chatting.tokenizer.chat_template = TEMPLATE.replace("m['content']", f"m.{rewritten}")
    said = [{"role": "john", "content": content}]
    found: Any = af.attend(chatting.model, chatting.tokenizer, said)
    assert found.origin.text == f"john : {expected} author :"


# ---- images ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vit() -> Any:
    _ = torch.manual_seed(0)
    small = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    return hf.ViTModel(hf.ViTConfig(**small, intermediate_size=16, image_size=16, patch_size=4))


class Processor:
    """Does what the processors of transformers do, which may need torchvision."""

    model_input_names = ("pixel_values",)

    def __call__(self, images: list[Any], return_tensors: str) -> dict[str, torch.Tensor]:
        assert return_tensors == "pt"
        arrays = [np.asarray(image.resize((16, 16))) / 255 for image in images]
        return {"pixel_values": torch.tensor(np.stack(arrays)).permute(0, 3, 1, 2).double()}


IMAGE = Image.effect_noise((20, 30), 50)  # in shades of grey


def test_an_image_goes_through_the_processor(vit: Any) -> None:
    found: Any = af.attend(vit, Processor(), IMAGE)
    pixels = Processor()([IMAGE.convert("RGB")], return_tensors="pt")["pixel_values"]
    [ready] = af.attend(vit, None, {"pixel_values": pixels.float()})
    _alike(found, ready)
    assert found.origin.grid == af.Grid(4, 4, 1)
    assert af.rollout(found, queries=0).to_grid().shape[-2:] == (4, 4)
    both = af.attend(vit, Processor(), [IMAGE, IMAGE.rotate(90)])
    assert len(both) == 2
    _alike(both[0], found)


def test_an_image_goes_through_an_image_processor_of_transformers(vit: Any) -> None:
    # The one that needs no torchvision; AutoImageProcessor falls back on it.
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    read: Any = ViTImageProcessorPil
    processor = read(size={"height": 16, "width": 16}, image_mean=[0.4] * 3, image_std=[0.2] * 3)
    found: Any = af.attend(vit, processor, IMAGE)
    resized = np.asarray(IMAGE.convert("RGB").resize((16, 16), Image.Resampling.BILINEAR))
    pixels = torch.tensor((resized / 255 - 0.4) / 0.2).permute(2, 0, 1).float()
    [ready] = af.attend(vit, None, {"pixel_values": pixels[None]})
    _alike(found, ready)
    assert found.origin.grid == af.Grid(4, 4, 1)


def test_edges_of_an_image_are_one_graph_and_of_a_list_a_list(vit: Any) -> None:
    for weigh in (af.edges.attention, af.edges.norms, af.edges.value_zeroing):
        graph: Any = weigh(vit, Processor(), IMAGE)
        assert isinstance(graph, af.AttentionGraph)
        several: Any = weigh(vit, Processor(), [IMAGE])
        assert [found.tokens for found in several] == [graph.tokens]


def test_explain_names_what_takes_an_image(vit: Any) -> None:
    given: Any = hf.ViTForImageClassification(vit.config), Processor(), IMAGE
    with pytest.raises(af.InputError, match=r"got Image\..* attnflow\.edges\.gradient to attnflow"):
        _ = explain(*given)
    assert len(af.rollout(af.edges.gradient(*given)).tokens) == 17
    assert "<html" in view.to_html(af.attend(*given))


def test_importance_takes_no_images(vit: Any) -> None:
    for given in (IMAGE, [IMAGE]):
        with pytest.raises(af.InputError, match="Importance is computed for tokens"):
            _ = blank_out(vit, Processor(), given)  # pyright: ignore[reportCallIssue, reportArgumentType]


@pytest.mark.parametrize("processor", [None, "tokenizer"])
def test_an_image_needs_a_processor(vit: Any, small_bert: models.Loaded, processor: Any) -> None:
    given = None if processor is None else small_bert.tokenizer
    with pytest.raises(af.InputError, match="an image needs the image processor of the model"):
        _ = af.attend(vit, given, IMAGE)


# ---- pipelines ------------------------------------------------------------------------------


def test_a_pipeline_is_a_model_with_its_tokenizer(small_bert: models.Loaded) -> None:
    model, tokenizer = small_bert.model, small_bert.tokenizer
    # With its type, so that type checkers see which calls there are.
    pipe: transformers.Pipeline = hf.pipeline(
        "fill-mask", model=model, tokenizer=tokenizer, device="cpu"
    )
    text = "Mary saw [MASK] house"
    _alike(af.attend(pipe, text), af.attend(model, tokenizer, text))
    _alike(af.attend(small_bert, text), af.attend(model, tokenizer, text))
    assert len(af.attend(pipe, [text, text])) == 2
    blanked = blank_out(pipe, text=text)
    assert blanked == blank_out(model, tokenizer, text)
    found = explain(pipe, text, methods=["raw"], edges=["attention", "norms"])
    assert found.importance["blank_out"] == blanked
    assert models.rollout_segments(pipe, text).tokens == blanked.tokens
    assert af.edges.edge_graph(pipe, text, "norms") == found.graphs["norms"]


_TEXT = "Mary saw [MASK] house"
_SCORES = [[0.0, 0.1, 0.2, 0.3, 0.4, 0.0]]
# Every public function of a model, a tokenizer and a text, with what follows the text.
_OF_MODELS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "attend": (af.attend, (), {}),
    "rollout_segments": (models.rollout_segments, (), {}),
    **{f"edges.{name}": (getattr(af.edges, name), (), {}) for name in af.edges.EDGES},
    "edges.effective_heads": (af.edges.effective_heads, (), {}),
    "edge_graph": (af.edges.edge_graph, ("norms",), {}),
    "logit_contributions": (af.edges.logit_contributions, (), {}),
    "blank_out": (importance.blank_out, (), {}),
    "leave_span_out": (importance.leave_span_out, ([(0, 4)],), {}),
    "input_gradient": (importance.input_gradient, (), {}),
    "integrated_gradients": (importance.integrated_gradients, (), {"steps": 4}),
    "predict": (importance.predict, (), {}),
    "predict_among": (importance.predict_among, (["John"],), {}),
    "explain": (explain, (), {"methods": ["raw"]}),
    "faithfulness": (evaluate.faithfulness, ([_SCORES],), {}),
    "measure": (evaluate.measure, (EvaluationPlan(methods=["raw"]),), {}),
}


def test_every_public_function_of_a_model_and_a_tokenizer_is_among_those_tested() -> None:
    packages: tuple[Any, ...] = (models, af.edges, importance, evaluate)
    public = [(name, getattr(package, name)) for package in packages for name in package.__all__]
    of_models = {
        name
        for name, found in public
        if inspect.isfunction(found)
        and list(inspect.signature(found).parameters)[:2] == ["model", "tokenizer"]
    }
    assert of_models == {name.removeprefix("edges.") for name in _OF_MODELS}


@pytest.mark.parametrize("name", _OF_MODELS)
def test_a_pipeline_or_what_load_returns_needs_no_tokenizer_in_the_call(
    small_bert: models.Loaded, name: str
) -> None:
    function, more, settings = _OF_MODELS[name]
    model, tokenizer, task = small_bert.model, small_bert.tokenizer, "fill-mask"
    if name == "logit_contributions":  # it needs blocks that normalise first
        config = hf.GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=2, n_head=2)
        model, task = hf.GPT2LMHeadModel(config).eval(), "text-generation"
    pipe = hf.pipeline(task, model=model, tokenizer=tokenizer, device="cpu")
    loaded = models.Loaded(model, tokenizer)
    text: Any = [_TEXT] if name in ("faithfulness", "measure") else _TEXT
    third, *others = [*inspect.signature(function).parameters][2:]
    named = {third: text, **dict(zip(others, more, strict=False)), **settings}
    expected = repr(function(model, tokenizer, text, *more, **settings))
    for found in (
        function(pipe, text, *more, **settings),
        function(pipe, None, text, *more, **settings),
        function(pipe, tokenizer, text, *more, **settings),
        function(pipe, **named),
        function(model=pipe, **named),
        function(pipe, tokenizer=tokenizer, **named),
        function(loaded, text, *more, **settings),
        function(loaded, tokenizer, text, *more, **settings),
        function(model=loaded, **named),
    ):
        assert repr(found) == expected
    for wrong in ((model, text), (pipe,), (pipe, tokenizer), (loaded,)):
        with pytest.raises(TypeError, match="required positional argument"):
            function(*wrong)
    if not more:
        with pytest.raises(af.InputError, match=r"text.* got NoneType"):
            function(pipe, None)


def test_a_pipeline_of_images_has_its_processor(vit: Any) -> None:
    class Pipeline:  # as transformers names it, which wants torchvision for images
        model, tokenizer, image_processor = vit, None, Processor()

    Pipeline.__module__ = "transformers.pipelines.base"
    pipe: Any = Pipeline()
    _alike(af.attend(pipe, None, IMAGE), af.attend(vit, Processor(), IMAGE))
