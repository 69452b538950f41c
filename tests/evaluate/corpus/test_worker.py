"""Workers with a model: what identifies it, and that a run gives the values of `measure`."""

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset
import pytest
import torch
from stand_in import contents
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import Whitespace
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from attnflow import paper
from attnflow.edges import BlockLayout
from attnflow.errors import InputError, MissingDependencyError, NoPredictionError
from attnflow.evaluate import EvaluationPlan, RunProgress, measure, run
from attnflow.evaluate.corpus._worker import Worker
from attnflow.models import Loaded

TEXTS = [prefix.text for prefix in paper.generate(10, seed=3)]
TOO_LONG = "the " * 100  # the model takes 62 words
PLAN = EvaluationPlan(
    methods=("raw", "flow"), layers=(2, 6), metrics=("spearman", "comprehensiveness")
)


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return paper.load()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    _ = path.write_text("\n".join([*TEXTS, TOO_LONG]), encoding="utf-8")
    return path


def _facts(loaded: Loaded, **given: Any) -> Any:
    plan = EvaluationPlan(target="label")
    return Worker(lambda: loaded, plan, **({"threads": None} | given)).start()


def test_the_layout_of_an_unknown_model_is_a_setting_of_the_run(
    loaded: Loaded, tmp_path: Path
) -> None:
    data = tmp_path / "texts.txt"
    _ = data.write_text(TEXTS[0], encoding="utf-8")
    model: Any = copy.deepcopy(loaded.model)
    model.config.model_type = "another"
    renamed = dataclasses.replace(loaded, model=model)
    plan: Any = {"plan": EvaluationPlan(edges="norms", methods="raw", layers=[2])}
    with pytest.raises(InputError, match=r"layout=attnflow.edges.BlockLayout\("):
        _ = run(lambda: renamed, data, tmp_path / "none", **plan)
    wrong: Any = {"attention": "attn"}
    with pytest.raises(InputError, match="layout: expected a BlockLayout or None"):
        _ = run(lambda: renamed, data, tmp_path / "none", **plan, layout=wrong)
    layout = BlockLayout("attn", "attn.c_proj", "ln_2", norm_first=True)
    done = run(lambda: renamed, data, tmp_path / "run", **plan, layout=layout)
    [expected] = run(lambda: loaded, data, tmp_path / "known", **plan).summary.cells
    assert done.summary.cells[0].mean == pytest.approx(expected.mean)
    settings = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    assert BlockLayout(**settings["layout"]) == layout
    other = dataclasses.replace(layout, final_norm="norm")
    with pytest.raises(InputError, match=r'layout\.final_norm was "", got "norm"'):
        _ = run(lambda: renamed, data, tmp_path / "run", **plan, layout=other)


def test_a_run_gives_the_values_of_measure(loaded: Loaded, data: Path, tmp_path: Path) -> None:
    done = run(lambda: loaded, data, tmp_path / "run", plan=PLAN, part_size=4, name="ours")
    found = measure(loaded.model, loaded.tokenizer, [*TEXTS, TOO_LONG], PLAN)
    table = pyarrow.dataset.dataset(done.results).to_table()
    shape = (len(TEXTS) + 1, len(found.cells))
    values = table["value"].to_numpy().reshape(shape)
    # Other texts in a batch change the last bits.
    np.testing.assert_allclose(values, found.values, atol=1e-5)
    assert np.isnan(values[-1]).all()
    assert not np.isnan(values[:-1]).any()
    errors = table["error"].to_pylist()
    assert errors[:: shape[1]] == [text.error for text in found.texts]
    assert done.summary.failed == 1
    assert done.summary.errors[0][0] == len(TEXTS)
    means = [item.mean for item in done.summary.cells]
    np.testing.assert_allclose(means, found.values[:-1].mean(axis=0), atol=1e-5)


def test_two_runs_of_a_model_have_the_same_bytes(
    loaded: Loaded, data: Path, tmp_path: Path
) -> None:
    for name in "ab":
        _ = run(lambda: loaded, data, tmp_path / name, plan=PLAN, part_size=4, name="ours")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_fail_fast_stops_at_a_text_that_is_too_long(
    loaded: Loaded, data: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="text_id 10 failed: expected a text of at most 64 tok"):
        _ = run(lambda: loaded, data, tmp_path / "run", plan=PLAN, part_size=4, fail_fast=True)
    assert len(list((tmp_path / "run" / "results").iterdir())) == 2  # before the part that fails


def test_a_part_of_failed_texts_needs_no_layers_in_the_configuration(
    loaded: Loaded, data: Path, tmp_path: Path
) -> None:
    model = copy.deepcopy(loaded.model)
    model.config.num_hidden_layers = None
    other, plan = Loaded(model, loaded.tokenizer), EvaluationPlan(methods="raw")
    # The last part is the text that is too long, and nothing else.
    done = run(lambda: other, data, tmp_path / "run", plan=plan, part_size=5)
    assert (done.parts, done.summary.failed) == (3, 1)
    assert [item.cell.layer for item in done.summary.cells] == [1, 2, 3, 4, 5, 6]
    assert [item.defined for item in done.summary.cells] == [10] * 6


def test_progress_moves_within_a_part(loaded: Loaded, data: Path, tmp_path: Path) -> None:
    seen: list[RunProgress] = []
    _ = run(lambda: loaded, data, tmp_path / "run", plan=PLAN, on_progress=seen.append)
    assert [progress.texts for progress in seen] == sorted(progress.texts for progress in seen)
    assert len({progress.texts for progress in seen}) > 2
    assert seen[-1] == (11, 11, 11, 1, 11)


def test_the_digest_is_of_weights_configuration_and_tokenizer(loaded: Loaded) -> None:
    digest = _facts(loaded).model
    assert _facts(paper.load()).model == digest
    weights = copy.deepcopy(loaded.model)
    with torch.no_grad():
        next(weights.parameters()).view(-1)[0] += 1e-3
    config = copy.deepcopy(loaded.model)
    config.config.id2label = {0: "one", 1: "many"}
    tokenizer = copy.deepcopy(loaded.tokenizer)
    assert tokenizer.add_tokens(["zebra"]) == 1
    others = [
        Loaded(weights, loaded.tokenizer),
        Loaded(config, loaded.tokenizer),
        Loaded(loaded.model, tokenizer),
    ]
    digests = {digest, *(_facts(other).model for other in others)}
    assert len(digests) == 4


def test_the_digest_does_not_depend_on_the_calls_of_a_tokenizer(loaded: Loaded) -> None:
    def digest(tokenizer: Any) -> str:
        return Worker(lambda: Loaded(loaded.model, tokenizer), PLAN, None).start().model

    used = copy.deepcopy(loaded.tokenizer)
    used.backend_tokenizer.enable_truncation(5)
    used.backend_tokenizer.enable_padding(length=7)
    assert digest(used) == digest(loaded.tokenizer)


def test_facts_name_labels_versions_threads_and_device(loaded: Loaded) -> None:
    facts = _facts(loaded)
    assert facts.device == "cpu"
    assert facts.labels == ("singular", "plural")
    assert facts.versions["torch"] == torch.__version__
    assert facts.threads == 1  # a small model
    assert _facts(loaded, threads=3).threads == 3


def test_a_model_without_a_tokenizer_is_an_error(loaded: Loaded) -> None:
    with pytest.raises(InputError, match="expected a model with a tokenizer"):
        _ = _facts(Loaded(loaded.model, None))


def test_a_layer_that_the_model_does_not_have_is_an_error(
    loaded: Loaded, data: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="layers must be 1 to 6, got 7"):
        _ = run(lambda: loaded, data, tmp_path / "run", plan=EvaluationPlan(layers=(7,)))


def test_what_fails_for_every_text_is_an_error_before_anything_is_written(
    loaded: Loaded, data: Path, tmp_path: Path
) -> None:
    plan = EvaluationPlan(importance=("blank_out",), replace=999_999)
    with pytest.raises(InputError, match="999999"):
        _ = run(lambda: loaded, data, tmp_path / "run", plan=plan)
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_model_without_a_head_is_an_error_before_anything_is_written(
    loaded: Loaded, data: Path, tmp_path: Path
) -> None:
    config = BertConfig(
        vocab_size=len(loaded.tokenizer), hidden_size=8, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=8,
    )  # fmt: skip
    headless = Loaded(BertModel(config).eval(), loaded.tokenizer)
    with pytest.raises(NoPredictionError, match="expected an output with logits"):
        _ = run(lambda: headless, data, tmp_path / "run")
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_vocabulary_without_the_words_of_a_plain_text_is_no_error(
    loaded: Loaded, tmp_path: Path
) -> None:
    data = tmp_path / "bases.txt"
    _ = data.write_text("A C G T A C\nA C\n", encoding="utf-8")
    bases = Tokenizer(BPE({"A": 0, "C": 1, "G": 2, "T": 3}, []))
    bases.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bases)
    plan = EvaluationPlan(methods=("raw",), layers=(1,), row=4)
    done = run(lambda: Loaded(loaded.model, tokenizer), data, tmp_path / "run", plan=plan)
    assert (done.summary.texts, done.summary.failed) == (2, 1)


def test_a_row_that_short_texts_do_not_have_is_no_error(
    loaded: Loaded, data: Path, tmp_path: Path
) -> None:
    plan = EvaluationPlan(methods=("raw",), layers=(1,), row=12)
    assert run(lambda: loaded, data, tmp_path / "run", plan=plan).summary.texts == len(TEXTS) + 1


def test_a_model_that_is_not_there_is_an_error(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        _ = run(tmp_path / "nowhere", data, tmp_path / "run")


def test_a_model_is_named_by_its_folder_or_function(
    loaded: Loaded, data: Path, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"plan": EvaluationPlan(methods=("raw",), layers=(1,)), "limit": 1}
    done = run(paper.load, data, tmp_path / "run", **settings)
    stored = json.loads((done.folder / "run.json").read_text("utf-8"))
    assert stored["model"]["name"] == "load"
    assert stored["model"]["digest"] == _facts(loaded).model


@pytest.mark.parametrize(("package", "given"), [("pyarrow", {}), ("ray", {"engine": "ray"})])
def test_a_missing_package_is_named_before_any_work(
    package: str,
    given: dict[str, Any],
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == package else found(name)
    )
    message = rf"needs {package}, which is not installed; run pip install \"{package}>="
    with pytest.raises(MissingDependencyError, match=message):
        _ = run(paper.load, data, tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()
