"""`attnflow explain`, with the shipped model and with others."""

import dataclasses
import json
import os
import re
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import transformers as hf
from scipy.stats import spearmanr
from tokenizers import Tokenizer, models, pre_tokenizers
from typer.testing import Result

import attnflow as af
from attnflow import edges, paper
from attnflow.cli._explanation_table import _bars, _prediction
from attnflow.evaluate import explain
from attnflow.importance import Prediction, blank_out, input_gradient
from attnflow.models import attend
from sink_models import put_in_sinks

Run = Callable[..., Result]
TEXT = "the key to the cabinets"
TOKENS = ["[CLS]", "the", "key", "to", "the", "cabinets", "<?>"]


def _document(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_note_says_that_flow_is_flat(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def flat_explain(*arguments: Any, **settings: Any) -> Any:
        found = explain(*arguments, **settings)
        flow = dataclasses.replace(found.scores["flow"], flat=np.array([[True]]))
        return dataclasses.replace(found, scores={**found.scores, "flow": flow})

    assert "flat" not in run("explain", TEXT, "--layer", "3").stderr
    monkeypatch.setattr("attnflow.cli._explain.explain", flat_explain)
    result = run("explain", TEXT, "--layer", "3")
    assert "note: flow is flat at layer 3: all tokens but the query's own have" in result.stderr
    assert _document(run("explain", TEXT, "--layer", "3", "--json"))["flat"] is True
    saturated = run("explain", TEXT)  # one note about one cause
    assert "flow is saturated" in saturated.stderr
    assert "flow is flat" not in saturated.stderr


def test_json_has_prediction_scores_and_importance_of_every_token(run: Run) -> None:
    document = _document(run("explain", TEXT, "--json"))
    assert document["tokens"] == TOKENS
    assert document["prediction"]["label"] == "singular"
    assert list(document["prediction"]["probabilities"]) == ["singular", "plural"]
    assert sum(document["prediction"]["probabilities"].values()) == pytest.approx(1)
    assert set(document["scores"]) == {"raw", "rollout", "flow"}
    assert set(document["importance"]) == {"blank_out", "input_gradient"}
    for numbers in (*document["scores"].values(), *document["importance"].values()):
        assert len(numbers) == len(TOKENS)
    assert document["settings"]["layer"] == 6
    assert document["settings"]["query"] == 0


def test_the_numbers_are_those_of_the_library(run: Run) -> None:
    document = _document(run("explain", TEXT, "--json"))
    shipped = paper.load()
    attention = attend(shipped.model, shipped.tokenizer, TEXT)
    for name, method in (("raw", af.raw), ("rollout", af.rollout), ("flow", af.flow)):
        expected = method(attention, layers=[6], queries=[0]).scores[0, 0]
        assert document["scores"][name] == pytest.approx(expected.tolist(), rel=0, abs=1e-6)
    for name, method in (("blank_out", blank_out), ("input_gradient", input_gradient)):
        expected = method(shipped.model, shipped.tokenizer, TEXT).values
        assert document["importance"][name] == pytest.approx(expected.tolist(), rel=0, abs=1e-6)


def test_edges_are_those_of_the_library(run: Run) -> None:
    result = run("explain", TEXT, "--edges", "norms")
    line = "Layer 6, from position 0 [CLS], edges norms"
    assert f"{line} (raw has the residual connection in it)\n" in result.stdout
    assert f"{line}\n" in run("explain", TEXT, "--edges", "norms", "--methods", "flow").stdout
    document = _document(run("explain", TEXT, "--edges", "norms", "--json"))
    assert document["settings"]["edges"] == "norms"
    shipped = paper.load()
    graph = edges.norms(shipped.model, shipped.tokenizer, TEXT)
    for name, method in (("raw", af.raw), ("rollout", af.rollout), ("flow", af.flow)):
        expected = method(graph, layers=[6], queries=[0]).scores[0, 0]
        assert document["scores"][name] == pytest.approx(expected.tolist(), rel=0, abs=1e-6)


def test_a_note_has_the_share_of_weights_that_are_set_to_zero(run: Run) -> None:
    shipped = paper.load()
    graph = edges.gradient(shipped.model, shipped.tokenizer, TEXT)
    share = 100 * cast("float", graph.settings["clipped"])
    said = run("explain", TEXT, "--edges", "gradient").stderr
    found = re.search(r"note: edges gradient: (.*) % of the weights, by absolute value, are", said)
    assert found is not None
    assert float(found[1]) == pytest.approx(share, abs=0.11)
    assert "set to zero" not in run("explain", TEXT, "--edges", "norms").stderr


def test_an_unknown_name_of_edges_is_an_error(run: Run) -> None:
    result = run("explain", TEXT, "--edges", "best")
    assert result.exit_code == 2
    assert "'--edges'" in result.stderr
    assert "got 'best'" in result.stderr


def test_several_names_of_edges_are_an_error_that_names_commands_which_take_them(run: Run) -> None:
    result = run("explain", TEXT, "--edges", "attention,norms")
    assert result.exit_code == 2
    shown = " ".join(result.stderr.replace("│", " ").split())
    assert "expected one name, got 'attention,norms'; attnflow view and" in shown


def test_a_note_says_that_effective_attention_equals_attention(run: Run) -> None:
    note = "note: effective attention equals attention here"
    shown = run("explain", TEXT, "--edges", "effective").stderr
    assert note in shown
    assert "only raw scores differ" in shown
    assert note not in run("explain", TEXT).stderr
    long = " ".join(["the key to the cabinets"] * 6)  # more tokens than a head has dimensions
    assert note not in run("explain", long, "--edges", "effective").stderr


def test_correlations_are_those_of_scipy(run: Run) -> None:
    document = _document(run("explain", TEXT, "--json"))
    assert document["correlations"].keys() == document["importance"].keys() != set()
    for importance, row in document["correlations"].items():
        assert row.keys() == document["scores"].keys() != set()
        for method, rho in row.items():
            peer: Any = spearmanr(document["scores"][method], document["importance"][importance])
            assert rho == pytest.approx(peer.statistic)


def test_changing_the_number_of_the_subject_flips_the_answer(run: Run) -> None:
    assert _document(run("explain", TEXT, "--json"))["prediction"]["label"] == "singular"
    other = _document(run("explain", "the keys to the cabinets", "--json"))
    assert other["prediction"]["label"] == "plural"


def test_the_table_shows_a_line_for_each_token_and_the_correlations(run: Run) -> None:
    result = run("explain", TEXT)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("singular 0.9")
    assert lines[1] == "Layer 6, from position 0 [CLS]"
    rows = [line for line in lines if line.startswith(tuple(TOKENS))]
    assert [row.split()[0] for row in rows] == TOKENS
    assert any(line.startswith("blank-out") for line in lines)


@pytest.mark.parametrize(
    ("columns", "longest", "bar"),
    [("100", 80, 6), ("80", 80, 6), ("70", 68, 3), ("60", 58, 0), ("40", 58, 0), ("1", 58, 0),
     ("0", 80, 6), ("wide", 80, 6), ("-3", 80, 6), (None, 80, 6)],
)  # fmt: skip
def test_bars_get_shorter_on_a_narrow_terminal_and_names_and_numbers_stay(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: str | None, longest: int, bar: int
) -> None:
    if columns is None:
        monkeypatch.delenv("COLUMNS")
    else:
        monkeypatch.setenv("COLUMNS", columns)
    # Where the variable says nothing, this terminal must not either.
    monkeypatch.setattr("os.get_terminal_size", lambda *_: os.terminal_size((0, 0)))
    lines = run("explain", TEXT).stdout.splitlines()
    rows = lines[5:12]
    assert [row.split()[0] for row in rows] == TOKENS
    assert [len(re.findall(r"\b[01]\.\d{3}\b", row)) for row in rows] == [5] * 7
    assert max(map(len, lines[4:12])) == longest
    assert max(len(found) for row in rows for found in re.findall("█*", row)) == bar
    assert [len(re.findall(r"-?[01]\.\d\d\b", row)) for row in lines[14:16]] == [3, 3]


def test_layer_query_and_methods_can_be_chosen(run: Run) -> None:
    options = ["--layer", 2, "--query", 6, "--methods", "flow,raw", "--json"]
    document = _document(run("explain", TEXT, *options))
    assert list(document["scores"]) == ["flow", "raw"]
    shipped = paper.load()
    expected = af.flow(attend(shipped.model, shipped.tokenizer, TEXT), layers=[2], queries=[6])
    assert document["scores"]["flow"] == pytest.approx(expected.scores[0, 0].tolist(), rel=1e-5)


def test_sinks_are_taken_out_and_can_be_put_back(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnflow.evaluate._explain._is_small_plain", lambda _: False)
    put_in_sinks(monkeypatch, "attnflow.evaluate._explain", 1)
    removed = run("explain", TEXT)
    assert (
        removed.stdout.splitlines()[1] == "Layer 6, from position 0 [CLS], without position 1 the"
    )
    [row] = [line for line in removed.stdout.splitlines() if line.startswith("the ")][:1]
    assert row.split()[1:4] == ["-", "-", "-"]
    note = "note: position 1 the receives"
    assert note in removed.stderr
    assert removed.stderr.count("; the scores are without it, --sinks keep puts it back") == 1
    assert _document(run("explain", TEXT, "--json"))["without"] == [1]
    kept = run("explain", TEXT, "--sinks", "keep")
    assert kept.stdout.splitlines()[1] == "Layer 6, from position 0 [CLS]"
    assert note in kept.stderr
    assert "; --sinks remove takes it out" in kept.stderr
    other = run("explain", TEXT, "--edges", "norms").stderr
    assert note in other
    assert "; --sinks takes it out of attention only, not of edges norms" in other
    wrong = run("explain", TEXT, "--receptive-field")
    assert (wrong.exit_code, "is only for causal attention" in wrong.stderr) == (1, True)


def test_too_few_tokens_for_a_rank_correlation_are_a_dash_with_a_note(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = "no rank correlation: it needs at least three tokens with scores"
    monkeypatch.setattr("attnflow.evaluate._explain._is_small_plain", lambda _: False)
    put_in_sinks(monkeypatch, "attnflow.evaluate._explain", 1)
    assert note not in run("explain", "the key").stderr
    result = run("explain", "key")  # three tokens, with [CLS] and <?>, of which two are left
    *_, blanked, gradient = result.stdout.splitlines()
    assert blanked.split() == ["blank-out", "-", "-", "-"]
    assert gradient.split() == ["input", "gradient", "-", "-", "-"]
    assert note in result.stderr


def test_sinks_that_would_leave_fewer_than_two_tokens_are_kept_with_a_note(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def two_sinks(*arguments: Any) -> af.Attention:
        found = cast("af.Attention", attend(*arguments))
        weights = np.zeros_like(found.weights)
        weights[:3, ..., 1] = weights[3:, ..., 0] = 1.0
        return dataclasses.replace(found, weights=weights)

    monkeypatch.setattr("attnflow.evaluate._explain._is_small_plain", lambda _: False)
    monkeypatch.setattr("attnflow.evaluate._explain.attend", two_sinks)
    shown = run("explain", "key")  # three tokens, with [CLS] and <?>
    assert shown.stdout.splitlines()[1] == "Layer 6, from position 0 [CLS]"
    assert "; the scores keep them, as fewer than two other tokens would be left" in shown.stderr
    assert "--sinks" not in shown.stderr


def test_the_table_says_what_blank_out_puts_in(run: Run) -> None:
    assert "Blank-out replaces each token by [PAD]" in run("explain", TEXT).stdout
    shown = run("explain", TEXT, "--replace", "mean").stdout
    assert "Blank-out replaces each token by the mean embedding" in shown


def test_what_the_query_has_of_itself_does_not_decide_the_length_of_bars(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = run("explain", TEXT, "--layer", 1, "--methods", "rollout").stdout.splitlines()
    [own] = [line for line in lines if line.startswith("[CLS]")]
    others = [line for line in lines if line.startswith(tuple(TOKENS[1:]))]
    assert "█████>" in own
    first = [re.findall("[█▏▎▍▌▋▊▉]+", line.partition(" ")[2])[:1] for line in others]
    assert max(len(bars[0]) for bars in first if bars) == 6
    line = "> longer than the scale, which ends at the largest other score"
    assert lines.count(line) == 1
    assert line not in run("explain", TEXT, "--methods", "rollout").stdout  # no bar is cut
    monkeypatch.setenv("COLUMNS", "60")  # the table fits, and that line does not
    assert "█████>" in run("explain", TEXT, "--layer", 1, "--methods", "rollout").stdout


def test_a_bar_that_is_longer_by_rounding_is_not_cut() -> None:
    one, other = _bars(np.array([0.5 * (1 + 1e-12), 0.5 * (1 + 1e-3)]), 6, 0.5, "blue")
    assert ">" not in one
    assert ">" in other


def test_scores_that_would_be_printed_as_zero_are_in_scientific_notation() -> None:
    small = _bars(np.array([1.0, 4e-5, np.nan]), 0, 4e-5, "blue")
    assert small == ["1.0e+00", "4.0e-05", "-"]
    assert _bars(np.array([0.25, 4e-5, 0.0]), 0, 0.25, "blue") == ["0.250", "0.000", "0.000"]


def test_of_many_answers_the_most_probable_are_printed() -> None:
    shipped = paper.load()
    found = explain(shipped.model, shipped.tokenizer, TEXT)
    given = {f"class {i}": i / 1000 for i in range(13)}
    many = dataclasses.replace(found, prediction=Prediction("class 12", given))
    line = _prediction(many)[0]
    assert line.startswith("\x1b[1mclass 12 0.012")
    listed = line.partition("(")[2].rstrip(")").split(", ")
    assert listed == [*(f"class {i} 0.{i:03}" for i in range(11, 2, -1)), "3 more"]


def test_importance_is_of_the_given_target(run: Run) -> None:
    own = _document(run("explain", TEXT, "--json"))["settings"]["blank_out"]
    other = _document(run("explain", TEXT, "--target", "plural", "--json"))["settings"]["blank_out"]
    assert (own["target_name"], other["target_name"]) == ("singular", "plural")
    assert own["input_score"] + other["input_score"] == pytest.approx(1)
    assert "importance is for plural" in run("explain", TEXT, "--target", "1").stdout


def test_an_answer_can_be_compared_with_another(run: Run) -> None:
    options = ["--target", "singular", "--against", "plural"]
    assert "importance is for singular against plural" in run("explain", TEXT, *options).stdout
    wrong = run("explain", TEXT, "--target", "plural", "--against", "plural")
    assert "error: --against: expected another answer than the target" in wrong.stderr


def test_every_setting_of_explain_is_an_option(run: Run) -> None:
    shown = run("explain", "--help").stdout
    ours = {"model", "tokenizer", "text", "progress"}
    settings = set(signature(explain).parameters)
    missing = [
        name for name in settings - ours if not re.search(rf"--{name.replace('_', '-')}\b", shown)
    ]
    assert missing == []


def test_the_batch_size_is_passed_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def spied(*arguments: Any, **settings: Any) -> Any:
        given.update(settings)
        return explain(*arguments, **settings)

    monkeypatch.setattr("attnflow.cli._explain.explain", spied)
    assert _document(run("explain", TEXT, "--batch-size", 2, "--json"))["tokens"] == TOKENS
    assert (given["batch_size"], given["replace"]) == (2, None)


def test_the_note_on_unknown_words_knows_the_token_that_replaced_them(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = paper.load()
    zero = "their blank-out is 0"
    monkeypatch.setattr("attnflow.cli._explain.loaded_model", lambda *_: loaded)
    said = run("explain", "The qwertyish key").stderr  # the blank of this model is padding
    assert "not in the model's vocabulary: qwertyish" in said
    assert zero not in said
    assert zero in run("explain", "The qwertyish key", "--replace", "unk").stderr
    number = loaded.tokenizer.unk_token_id
    assert zero in run("explain", "The qwertyish key", "--replace", number).stderr
    loaded.model.config.blank_token_id = None
    assert zero in run("explain", "The qwertyish key").stderr


def test_unknown_words_are_shown_as_such(run: Run) -> None:
    result = run("explain", "The qwertyish key", "--json")
    document = _document(result)
    assert document["tokens"][2] == "[UNK]"
    assert document["unknown"] == {"2": "qwertyish"}
    assert "not in the model's vocabulary: qwertyish" in result.stderr
    assert "[UNK] (qwertyish)" in run("explain", "The qwertyish key").stdout


def test_text_comes_from_a_file_too(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    _ = path.write_text(f"{TEXT}\n", encoding="utf-8")
    assert _document(run("explain", "--file", path, "--json"))["tokens"] == TOKENS


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "expected one of TEXT"),
        ([TEXT, "--file", "x.txt"], 2, "expected one of TEXT"),
        ([""], 1, "TEXT is empty"),
        ([" "], 1, "at least one word"),
        (
            [TEXT, "--methods", "raw,best"],
            2,
            "'--methods': expected names of raw, rollout, flow, got 'best'",
        ),
        ([TEXT, "--methods", "raw,raw"], 2, "'--methods': expected distinct names, got 'raw,raw'"),
        ([TEXT, "--layer", "7"], 1, "error: --layer must be 1 to 6, got 7"),
        ([TEXT, "--layer", "0"], 2, "--layer"),
        ([TEXT, "--position", "1"], 1, "error: --position must be left out: VerbNumberModel"),
        ([TEXT, "--position", "7"], 1, "error: --position must be left out: VerbNumberModel"),
        ([TEXT, "--query", "7"], 1, "error: --query must be 0 to 6, got 7"),
        ([TEXT, "--target", "dual"], 1, "error: --target: expected one of singular, plural"),
        ([TEXT, "--threads", "100000"], 2, "'--threads'"),
        ([TEXT, "--target", "9" * 5000], 1, "singular, plural"),
        ([TEXT, "--replace", "nothing"], 1, "unk"),
        ([TEXT, "--replace", "1000000"], 1, "error: --replace: expected 0 to 9649"),
        ([TEXT, "--model", "no/such/folder"], 1, "no/such/folder"),
        (["word " * 100], 1, "--truncate"),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: list[str], code: int, message: str) -> None:
    result = run("explain", *arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_a_file_that_may_have_no_end_is_not_read(run: Run, tmp_path: Path, kind: str) -> None:
    path = {"folder": tmp_path, "pipe": tmp_path / "pipe", "device": Path("/dev/zero")}[kind]
    if kind == "pipe":
        os.mkfifo(path)
    result = run("explain", "--file", path)
    assert result.exit_code == 1
    assert result.stderr == f"error: {path}: expected a regular file, got a {kind}\n"


def test_a_text_of_any_length_is_not_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnflow.cli._texts._MAX_BYTES", 7)
    path = tmp_path / "text.txt"
    _ = path.write_text("the key\n")
    for where, arguments in ((str(path), ["--file", path]), ("the standard input", ["-"])):
        with path.open() as stream:
            monkeypatch.setattr("attnflow.cli._texts.sys", SimpleNamespace(stdin=stream))
            result = run("explain", *arguments)
        assert result.exit_code == 1
        assert f"error: {where}: expected at most 7 bytes of text" in result.stderr
    _ = path.write_text("the key")
    assert run("explain", "--file", path).exit_code == 0


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[MASK]", "good", "bad", "a", "film"]
SMALL: dict[str, Any] = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 12,
    "pad_token_id": 0,
}


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[Any], Path]:
    """The folder of a small model with random weights, and a tokenizer of whole words."""

    def save(model: Any) -> Path:
        names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
        numbers = {word: number for number, word in enumerate(WORDS)}
        words = Tokenizer(models.WordLevel(numbers, unk_token=names["unk_token"]))
        words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        _ = hf.PreTrainedTokenizerFast(tokenizer_object=words, **names).save_pretrained(tmp_path)
        model.save_pretrained(tmp_path)
        return tmp_path

    return save


def test_any_classifier_is_explained(run: Run, saved: Callable[[Any], Path]) -> None:
    config = hf.BertConfig(**SMALL, id2label={0: "bad", 1: "good"})
    folder = saved(hf.BertForSequenceClassification(config))
    document = _document(run("explain", "a good film", "--model", folder, "--json"))
    assert set(document["prediction"]["probabilities"]) == {"bad", "good"}
    assert document["tokens"] == ["a", "good", "film"]
    assert document["settings"]["layer"] == 2


def test_a_model_without_a_head_is_an_error_that_names_commands_which_take_it(
    run: Run, saved: Callable[[Any], Path]
) -> None:
    folder = saved(hf.BertModel(hf.BertConfig(**SMALL)))
    result = run("explain", "a good film", "--model", folder)
    assert result.exit_code == 1
    assert "this model makes no prediction that could be explained; attnflow view" in result.stderr
    assert "Use a model with a head" in result.stderr


def test_a_language_model_is_read_where_it_answers(run: Run, saved: Callable[[Any], Path]) -> None:
    folder = saved(hf.BertForMaskedLM(hf.BertConfig(**SMALL)))
    masked = _document(run("explain", "a [MASK] film", "--model", folder, "--json"))
    assert masked["settings"]["query"] == 1
    assert np.isclose(sum(masked["prediction"]["probabilities"].values()), 1)
    config = hf.LlamaConfig(**SMALL, eos_token_id=None, bos_token_id=None)
    folder = saved(hf.LlamaForCausalLM(config))
    causal = _document(run("explain", "a good film", "--model", folder, "--json"))
    assert causal["settings"]["query"] == 2
    assert causal["settings"]["rollout"]["receptive_field"] is True
    shown = run("explain", "a good film", "--model", folder, "--no-receptive-field").stdout
    assert "receptive field" not in shown
    assert "Blank-out sets the attention mask of each token to 0" in shown


@pytest.mark.parametrize(
    ("model", "position", "message"),
    [
        (hf.BertForSequenceClassification, [1], "must be left out: BertForSequenceClassification"),
        (hf.BertForSequenceClassification, [9], "must be left out: BertForSequenceClassification"),
        (hf.BertForMaskedLM, [], "must be given: BertForMaskedLM gives an output at every"),
        (hf.BertForMaskedLM, [9], "must be 0 to 2, got 9"),
        (hf.GPT2LMHeadModel, [9], "must be 0 to 2, got 9"),
    ],
)
def test_a_position_is_asked_for_or_refused_at_once(
    run: Run, saved: Callable[[Any], Path], model: Any, position: list[int], message: str
) -> None:
    config = model.config_class(**SMALL)
    folder = saved(model(config))
    option = ["--position", *position] if position else []
    result = run("explain", "a good film", "--model", folder, *option)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith(f"error: --position {message}")


def test_a_model_trained_by_the_command_is_known_by_its_folder(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in (Path(paper.__file__).parent / "verb-number").iterdir():
        _ = (folder / path.name).write_bytes(path.read_bytes())
    own, copy = run("explain", TEXT, "--json"), run("explain", TEXT, "--json", "--model", folder)
    assert _document(copy)["scores"] == _document(own)["scores"]


def test_classes_that_exclude_none_other_are_explained(
    run: Run, saved: Callable[[Any], Path]
) -> None:
    config = hf.BertConfig(**SMALL, problem_type="multi_label_classification")
    folder = saved(hf.BertForSequenceClassification(config))
    document = _document(run("explain", "a good film", "--model", folder, "--json"))
    assert document["settings"]["input_gradient"]["score"] == "probability"


def test_several_texts_are_refused() -> None:
    shipped = paper.load()
    with pytest.raises(
        af.InputError,
        match=r"explain takes one text, a str, .* got list\. Call it for each of several texts",
    ):
        _ = explain(shipped.model, shipped.tokenizer, [TEXT])  # type: ignore[arg-type]
    with pytest.raises(af.InputError, match=r"methods: expected .* got None"):
        _ = explain(shipped.model, shipped.tokenizer, TEXT, methods=None)  # type: ignore[arg-type]


def test_escapes_in_a_text_cannot_act(run: Run) -> None:
    result = run("explain", "the \x1b[31mkey")
    assert "\x1b" not in result.output
    assert r"vocabulary: \x1b" in result.stderr


def test_bars_are_as_long_as_their_numbers_and_coloured_on_a_terminal(
    on_terminal: Callable[..., str],
) -> None:
    command = [Path(sys.executable).with_name("attnflow"), "explain", TEXT]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    shown = on_terminal(command, stream="stdout", env=environment)
    blue, yellow, end = "\x1b[34m", "\x1b[33m", "\x1b[0m"
    (row,) = (line for line in shown.splitlines() if line.startswith("cabinets"))
    numbers = [float(number) for number in re.findall(r"\b[01]\.\d{3}", row)]
    assert len(numbers) == 5
    assert row.count(blue) == 3
    assert row.count(yellow) == 2
    assert f"{numbers[2]:.3f} {blue}██████{end}" in row  # the highest flow
