"""What a model writes itself, explained by one pass over prompt and output."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from small_models import DECODERS, attend, attend_one, hf, new_model, small_model
from small_tokenizers import byte_level, metaspace, tokenizer_for, word_piece

import attnflow as af
from close_results import assert_close
from model_state import state

PROMPT = "the cat sat on"
WRITERS = [*DECODERS, "t5", "bart", "marian"]


def own_tokens(model: Any, tokenizer: Any, prompt: str, **settings: Any) -> list[int]:
    """What the model's own `generate` writes, greedily."""
    inputs = tokenizer(prompt, return_tensors="pt")
    inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    greedy = {"do_sample": False, "num_beams": 1, "pad_token_id": 0}
    return model.generate(**inputs, **(greedy | settings))[0].tolist()


@pytest.mark.parametrize("family", WRITERS)
def test_generated_tokens_are_those_of_the_models_own_generate(family: str):
    model, tokenizer = small_model(family), tokenizer_for(family)
    found = attend(model, tokenizer, PROMPT, generate=5)
    ids = own_tokens(model, tokenizer, PROMPT, max_new_tokens=5)
    names = tuple(tokenizer.convert_ids_to_tokens(ids))
    pair = isinstance(found, af.EncoderDecoderAttention)
    assert (found.target if pair else found.tokens) == names
    prompt = 1 if pair else len(tokenizer(PROMPT).input_ids)
    assert found.origin.generated == len(ids) - prompt > 0


@pytest.mark.parametrize("family", WRITERS)
def test_the_pass_is_one_over_prompt_and_output(family: str):
    model, tokenizer = small_model(family), tokenizer_for(family)
    found = attend(model, tokenizer, PROMPT, generate=4)
    ids = own_tokens(model, tokenizer, PROMPT, max_new_tokens=4)
    if isinstance(found, af.EncoderDecoderAttention):
        inputs = tokenizer(PROMPT, return_tensors="pt")
        ready = {"input_ids": inputs["input_ids"], "decoder_input_ids": torch.tensor([ids])}
        np.testing.assert_allclose(
            found.cross, attend_one(model, None, ready).cross, rtol=0, atol=1e-6
        )
    else:
        ready = attend_one(model, None, {"input_ids": torch.tensor([ids])})
        np.testing.assert_allclose(found.weights, ready.weights, rtol=0, atol=1e-6)
        assert found.causal


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_the_positions_that_predicted_each_token_are_known(family: str):
    model, tokenizer = small_model(family), byte_level()
    found = attend(model, tokenizer, PROMPT, generate=3)
    n = found.n_tokens
    assert found.predicting == (n - 4, n - 3, n - 2)
    # What the model gives at those positions is what it wrote.
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(list(found.tokens))])
    with torch.no_grad():
        written = model(input_ids=ids).logits[0].argmax(dim=-1)
    assert written[list(found.predicting)].tolist() == ids[0, -3:].tolist()


class Fixed:
    """In place of a model's own writing, so that a test knows what it says."""

    def __init__(self, *new: int) -> None:
        self.new = list(new)

    def __call__(self, input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
        return torch.cat([input_ids, torch.tensor([self.new])], dim=1)


def ids_of(tokenizer: Any, *tokens: str) -> list[int]:
    return tokenizer.convert_tokens_to_ids(list(tokens))


def characters(found: Any, text: str) -> list[Any]:
    return [span and text[slice(*span)] for span in found.origin.spans]


def test_what_is_written_has_characters_after_those_of_the_prompt(monkeypatch: Any):
    model, tokenizer = new_model("gpt2"), byte_level()
    new = ids_of(tokenizer, "Ġs", "a", "t", "Ċ", "Ã", "©", "<eos>")
    monkeypatch.setattr(model, "generate", Fixed(*new))
    found = attend(model, tokenizer, "the cat", generate=7)
    assert characters(found, "the cat sat\né") == [
        "the", " ", "cat", "s", "a", "t", "\n", "é", "é", None,
    ]  # fmt: skip
    assert found.origin.generated == 7


def test_bytes_that_make_no_character_do_not_stop_it(monkeypatch: Any):
    model, tokenizer = new_model("gpt2"), byte_level()
    new = ids_of(tokenizer, "ð", "Ł", "a", "Ã", "t")
    monkeypatch.setattr(model, "generate", Fixed(*new))
    found = attend(model, tokenizer, "the", generate=5)
    assert found.n_tokens == 6
    text = "the" + tokenizer.decode(new)
    pieces = characters(found, text)
    assert (pieces[0], pieces[3][-1], pieces[5][-1]) == ("the", "a", "t")


def test_ids_that_the_tokenizer_has_no_name_for_are_numbers(monkeypatch: Any):
    # Many models have more embeddings than tokens.
    model = new_model("gpt2")
    known = ids_of(word_piece(), "sat")[0]
    monkeypatch.setattr(model, "generate", Fixed(390, known, 391))
    found = attend(model, word_piece(), "the cat", generate=3)
    assert found.tokens == ("[CLS]", "the", "cat", "[SEP]", "<390>", "sat", "<391>")
    assert characters(found, "the cat sat") == [None, "the", "cat", None, None, "sat", None]


def test_spaces_between_prompt_and_output_are_kept(monkeypatch: Any):
    # Decoded alone, the first piece would lose its space.
    model, tokenizer = new_model("llama"), metaspace()
    monkeypatch.setattr(model, "generate", Fixed(*ids_of(tokenizer, "▁cat", "s", "</s>")))
    found = attend(model, tokenizer, "the", generate=3)
    assert found.tokens == ("▁the", "</s>", "▁cat", "s", "</s>")
    assert characters(found, "the cats") == ["the", None, "cat", "s", None]


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_what_a_decoder_writes_has_characters_after_the_source(family: str, monkeypatch: Any):
    model, tokenizer = new_model(family), metaspace()
    written = [0, *ids_of(tokenizer, "▁old", "▁man", "</s>")]
    monkeypatch.setattr(model, "generate", lambda **_: torch.tensor([written]))
    found = attend(model, tokenizer, "the cat", generate=3)
    start = "<pad>" if family == "t5" else "</s>"  # the model's own start token
    assert found.target == (start, "▁old", "▁man", "</s>")
    assert characters(found, "the cat\nold man") == [
        "the", "cat", None, None, "old", "man", None,
    ]  # fmt: skip
    assert found.origin.generated == 3


def test_several_prompts_are_written_on_one_by_one_and_explained_together():
    model, tokenizer = small_model("gpt2"), byte_level()
    prompts = ["the cat", "on the mat the old"]
    batch = attend(model, tokenizer, prompts, generate=3)
    for mine, prompt in zip(batch, prompts, strict=True):
        alone = attend(model, tokenizer, prompt, generate=3)
        assert mine.tokens == alone.tokens
        assert mine.origin == alone.origin
        np.testing.assert_allclose(mine.weights, alone.weights, rtol=0, atol=1e-5)


def test_settings_go_to_the_models_own_generate():
    model, tokenizer = small_model("gpt2"), byte_level()
    settings = {"max_new_tokens": 4, "num_beams": 3, "do_sample": False}
    found = attend(model, tokenizer, PROMPT, generate=settings)
    ids = own_tokens(model, tokenizer, PROMPT, **settings)
    assert found.tokens == tuple(tokenizer.convert_ids_to_tokens(ids))
    detailed = attend(
        model, tokenizer, PROMPT, generate={**settings, "return_dict_in_generate": True}
    )
    assert_close(detailed, found)


@pytest.mark.parametrize("family", ["gpt2", "t5"])
def test_writing_is_done_in_evaluation_and_the_model_is_as_it_was(family: str):
    model, tokenizer = new_model(family), tokenizer_for(family)
    expected = attend(model, tokenizer, PROMPT, generate=6)
    _ = model.train()
    before, config = copy.deepcopy(state(model)), model.generation_config.to_dict()
    assert_close(attend(model, tokenizer, PROMPT, generate=6), expected)
    assert state(model) == before
    assert model.generation_config.to_dict() == config


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        (lambda: small_model("bert"), word_piece()),
        (lambda: hf.GPT2Model(small_model("gpt2").config), byte_level()),
        # A copy: it notes in the configuration that there is no decoder.
        (lambda: hf.T5EncoderModel(copy.deepcopy(small_model("t5").config)), metaspace()),
    ],
    ids=["encoder", "decoder without a head", "encoder of a pair"],
)
def test_a_model_that_cannot_write_is_refused(model: Any, tokenizer: Any):
    with pytest.raises(af.UnsupportedModelError, match="generate needs a language model head"):
        _ = attend(model(), tokenizer, PROMPT, generate=3)


@pytest.mark.parametrize("generate", [0, -1, 1.5, "three", True, {"max_new_tokens": 0}])
def test_a_number_of_tokens_that_is_none_is_refused(generate: Any):
    with pytest.raises(af.InputError, match="generate must be "):
        _ = attend(small_model("gpt2"), byte_level(), PROMPT, generate=generate)


def test_prompt_and_output_fit_the_model_together():
    model, tokenizer = small_model("gpt2"), byte_level()  # 64 positions
    long = "a" * 62
    with pytest.raises(
        af.InputError, match="at most 60 tokens, the limit of the model less 4 to g"
    ):
        _ = attend(model, tokenizer, long, generate=4)
    found = attend(model, tokenizer, long, generate=4, truncate=True)
    assert found.n_tokens == 64
    assert attend(model, tokenizer, long, generate=2).n_tokens == 64
    for family in ("gpt2", "bart"):
        with pytest.raises(af.InputError, match=r"generate must be less than 64, .* got 64"):
            _ = attend(small_model(family), tokenizer_for(family), "the", generate=64)


@pytest.mark.parametrize("family", ["gpt2", "bart"])
@pytest.mark.parametrize("where", ["settings", "configuration", "model"])
def test_a_length_in_all_must_fit_the_model(family: str, where: str):
    model, settings = new_model(family), {"max_length": 65}
    if where == "configuration":
        settings = {"generation_config": hf.GenerationConfig(max_length=65)}
    if where == "model":
        model.generation_config.max_length, settings = 65, {"do_sample": False}
    with pytest.raises(af.InputError, match=r"a max_length of at most 64, .* got 65"):
        _ = attend(model, tokenizer_for(family), "the", generate=settings)


def test_a_length_in_all_counts_the_prompt():
    model, tokenizer = small_model("gpt2"), byte_level()
    assert attend(model, tokenizer, "aaaa", generate={"max_length": 6}).n_tokens == 6
    with pytest.raises(af.InputError, match="max_length=4 includes the 4 tokens of the"):
        _ = attend(model, tokenizer, "aaaa", generate={"max_length": 4})
    with pytest.raises(af.InputError, match=r"at most 63 tokens, .* less 1 to generate, got 64"):
        _ = attend(model, tokenizer, "a" * 64, generate={"do_sample": False})


def test_more_than_one_sequence_is_refused():
    settings = {"max_new_tokens": 3, "num_beams": 2, "num_return_sequences": 2}
    with pytest.raises(af.InputError, match=r"one sequence, got num_return_sequences=2. Leave"):
        _ = attend(small_model("gpt2"), byte_level(), PROMPT, generate=settings)


def test_a_decoder_deeper_than_its_encoder_writes():
    config = copy.deepcopy(small_model("t5").config)
    config.num_layers, config.num_decoder_layers = 2, 3
    _ = torch.manual_seed(0)
    model, tokenizer = hf.T5ForConditionalGeneration(config).eval(), metaspace()
    ids = own_tokens(model, tokenizer, PROMPT, max_new_tokens=4, use_cache=False)
    for generate in (4, {"max_new_tokens": 4}):
        found = attend(model, tokenizer, PROMPT, generate=generate)
        assert found.target == tuple(tokenizer.convert_ids_to_tokens(ids))


def test_no_generated_tokens_raises_an_error(monkeypatch: Any):
    model = new_model("gpt2")
    monkeypatch.setattr(model, "generate", lambda input_ids, **_: input_ids)
    with pytest.raises(af.InputError, match="the model generated no tokens after the text"):
        _ = attend(model, byte_level(), PROMPT, generate=3)


@pytest.mark.parametrize(
    ("generate", "message"),
    [
        ({"max_length": "x"}, "max_length must be an integer, got 'x'"),
        ({"max_new_tokens": 2, "beams": 3}, r"cannot generate with \{.*'beams': 3.*ValueError: "),
        ({7: 2}, r"cannot generate with \{7: 2\}: TypeError: .*; call its generate directly"),
    ],
)
def test_settings_that_the_model_does_not_take_raise_an_error(generate: Any, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = attend(small_model("gpt2"), byte_level(), PROMPT, generate=generate)


def test_target_and_generate_do_not_go_together():
    with pytest.raises(af.InputError, match="expected text_target or generate, got both"):
        _ = attend(small_model("t5"), metaspace(), PROMPT, text_target="the", generate=3)


def test_flow_and_rollout_explain_what_was_written():
    found = attend(small_model("gpt2"), byte_level(), PROMPT, generate=2)
    for method in (af.rollout, af.flow):
        scores = method(found, layers=3, queries=found.predicting)
        assert scores.scores.shape == (1, 2, found.n_tokens)
        assert scores.scores[0, 0, -2:].max() == 0, "the first was written before the second"
