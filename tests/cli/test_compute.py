import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

import attnflow as af
from attnflow.types import random_attention

Run = Callable[..., Result]
METHODS: dict[str, Any] = {"raw": af.raw, "rollout": af.rollout, "flow": af.flow}


@pytest.mark.parametrize("method", METHODS)
def test_out_holds_what_python_computes(
    run: Run, attention_file: Path, tmp_path: Path, method: str
) -> None:
    out = tmp_path / "out.npz"
    result = run("compute", attention_file, "--method", method, "--out", out)
    assert result.exit_code == 0
    expected = METHODS[method](af.Attention.load(attention_file))
    with np.load(out) as arrays:
        assert np.array_equal(arrays["scores"], expected.scores)
        assert arrays["layers"].tolist() == [1, 2, 3]
        assert arrays["queries"].tolist() == [0, 1, 2, 3]
        assert arrays["tokens"].tolist() == ["[CLS]", "the", "key", "the"]
    assert af.TokenAttention.load(out).method == method


@pytest.mark.parametrize("method", METHODS)
def test_json_holds_what_python_computes_to_the_last_bit(
    run: Run, attention_file: Path, method: str
) -> None:
    result = run("compute", attention_file, "--method", method, "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    expected = METHODS[method](af.Attention.load(attention_file))
    assert document["method"] == method
    assert document["layers"] == [1, 2, 3]
    assert document["queries"] == [0, 1, 2, 3]
    assert document["tokens"] == list(expected.tokens)
    assert document["saturated"] == list(expected.saturated)
    assert document["flat"] == expected.flat.tolist()
    assert document["settings"] == dict(expected.settings)
    assert np.array_equal(np.array(document["scores"]), expected.scores)


def test_every_option_reaches_the_library(run: Run, attention_file: Path) -> None:
    options = ["--layers", "3,2", "--queries", "2,0", "--onto", "1", "--head", "1"]
    options += ["--residual", "0.3", "--heads", "max", "--discard-ratio", "0.2", "--threads", "1"]
    result = run("compute", attention_file, "--method", "flow", *options, "--json")
    graph = af.Attention.load(attention_file).graph(
        heads="max", residual=0.3, discard_ratio=0.2, head=1
    )
    expected = af.flow(graph, layers=[3, 2], queries=[2, 0], onto=1)
    document = json.loads(result.stdout)
    assert document["layers"] == [3, 2]
    assert document["queries"] == [2, 0]
    np.testing.assert_allclose(np.array(document["scores"]), expected.scores, atol=1e-9)


@pytest.fixture
def causal_file(tmp_path: Path) -> Path:
    path = tmp_path / "causal.npz"
    random_attention(3, 2, 5, seed=1, causal=True).save(path)
    return path


@pytest.mark.parametrize("method", ["rollout", "flow"])
def test_positions_taken_out_and_the_receptive_field_reach_the_library(
    run: Run, causal_file: Path, method: str
) -> None:
    options = ["--without", "0,2", "--receptive-field", "--json"]
    document = json.loads(run("compute", causal_file, "--method", method, *options).stdout)
    expected = METHODS[method](af.Attention.load(causal_file), without=[0, 2], receptive_field=True)
    assert document["settings"]["without"] == [0, 2]
    assert document["settings"]["receptive_field"] is True
    assert np.array_equal(np.array(document["scores"]), expected.scores)


def test_the_table_says_what_was_taken_out(run: Run, causal_file: Path) -> None:
    result = run(
        "compute", causal_file, "--method", "rollout", "--without", "0", "--receptive-field"
    )
    title = result.stdout.splitlines()[0]
    assert "without (0,)" in title
    assert "receptive field" in title


# ---- attention sinks ------------------------------------------------------------------------


@pytest.fixture
def sink_file(tmp_path: Path) -> Path:
    """Two of three layers look at the first token most of the time."""
    weights = np.full((3, 1, 4, 4), 0.25)
    weights[1:] = [0.61, 0.13, 0.13, 0.13]
    weights[2] = [0.55, 0.15, 0.15, 0.15]
    path = tmp_path / "sink.npz"
    af.Attention(weights, ["<s>", "a", "b", "c"]).save(path)
    return path


@pytest.mark.parametrize("options", [[], ["--json"], ["--out", "scores.npz"]])
def test_a_sink_is_pointed_out_in_one_line_of_stderr(
    run: Run, sink_file: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sink_file.parent)
    result = run("compute", sink_file, "--method", "rollout", *options)
    assert result.exit_code == 0
    assert result.stderr == (
        "note: position 0 <s> receives 61 % of the attention of layer 2, and more than half in "
        "2 layers; --without 0 takes it out\n"
    )
    assert "note" not in result.stdout


@pytest.mark.parametrize("without", ["0", "3"])
def test_who_takes_positions_out_knows_about_sinks(run: Run, sink_file: Path, without: str) -> None:
    result = run("compute", sink_file, "--method", "rollout", "--without", without)
    assert result.exit_code == 0
    assert result.stderr == ""


def test_attention_without_sinks_is_not_noted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "even.npz"
    af.Attention(np.full((1, 1, 4, 4), 0.25)).save(path)
    assert run("compute", path, "--method", "raw").stderr == ""


def test_several_sinks_are_taken_out_together(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "two.npz"
    af.Attention([[np.eye(3)[[0, 0, 0]]], [np.eye(3)[[2, 2, 2]]]], ["a", "b", "\n"]).save(path)
    result = run("compute", path, "--method", "raw")
    assert result.stderr == (
        "note: position 0 a receives 100 % of the attention of layer 1; position 2 ⏎ "
        "receives 100 % of the attention of layer 2; --without 0,2 takes them out\n"
    )


# ---- encoder-decoders -----------------------------------------------------------------------


@pytest.fixture
def two_texts_file(tmp_path: Path) -> Path:
    """Two source tokens, two target tokens, one layer each."""
    path = tmp_path / "two_texts.npz"
    even = np.full((1, 1, 2, 2), 0.5)
    causal = np.array([[[[1.0, 0.0], [0.5, 0.5]]]])
    af.EncoderDecoderAttention(even, causal, even, ["a", "b"], ["<s>", "c"]).save(path)
    return path


@pytest.mark.parametrize("method", METHODS)
def test_a_file_of_an_encoder_decoder_is_read_as_such(
    run: Run, two_texts_file: Path, method: str
) -> None:
    options = ["--layers", "3", "--queries", "2,3", "--without", "0", "--json"]
    document = json.loads(run("compute", two_texts_file, "--method", method, *options).stdout)
    a = af.EncoderDecoderAttention.load(two_texts_file)
    expected = METHODS[method](a, layers=3, queries=[2, 3], without=0)
    assert document["tokens"] == ["a", "b", "<s>", "c"]
    assert np.array_equal(np.array(document["scores"]), expected.scores)


def test_an_encoder_decoder_has_no_single_head(run: Run, two_texts_file: Path) -> None:
    result = run("compute", two_texts_file, "--method", "raw", "--head", "0")
    assert result.exit_code == 1
    assert "--head 0 is not supported for an encoder-decoder" in result.stderr


def test_json_has_no_word_for_what_is_carried_along_without_bound(
    run: Run, two_texts_file: Path
) -> None:
    result = run("compute", two_texts_file, "--method", "flow", "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert (
        "error: layer 1, query 2 has an infinite score, since it does not attend" in result.stderr
    )
    assert " inf" in run("compute", two_texts_file, "--method", "flow", "--layers", "1").stdout


def test_raw_leaves_the_residual_out_by_default(run: Run, attention_file: Path) -> None:
    plain = json.loads(run("compute", attention_file, "--method", "raw", "--json").stdout)
    mixed = json.loads(
        run("compute", attention_file, "--method", "raw", "--residual", "0.5", "--json").stdout
    )
    identity = np.eye(4)
    np.testing.assert_allclose(
        np.array(mixed["scores"]), (np.array(plain["scores"]) + identity) / 2, atol=1e-12
    )


def test_normalized_rows_sum_to_one(run: Run, attention_file: Path) -> None:
    result = run("compute", attention_file, "--method", "flow", "--normalized", "--json")
    scores = np.array(json.loads(result.stdout)["scores"])
    np.testing.assert_allclose(scores.sum(axis=-1), 1.0)


def test_safetensors_goes_in_and_out(run: Run, attention_file: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "in.safetensors", tmp_path / "out.safetensors"
    attention = af.Attention.load(attention_file)
    attention.save(source)
    result = run("compute", source, "--method", "rollout", "--out", out)
    assert result.exit_code == 0
    assert np.array_equal(af.TokenAttention.load(out).scores, af.rollout(attention).scores)


def test_a_foreign_file_needs_only_weights(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "foreign.npz"
    np.savez(source, weights=np.full((2, 3, 5, 5), 0.2))
    document = json.loads(run("compute", source, "--method", "rollout", "--json").stdout)
    assert document["tokens"] == ["0", "1", "2", "3", "4"]


def test_an_existing_out_is_replaced_and_nothing_else_is_left(
    run: Run, attention_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.npz"
    _ = out.write_bytes(b"old")
    result = run("compute", attention_file, "--method", "raw", "--out", out)
    assert result.exit_code == 0
    assert af.TokenAttention.load(out).method == "raw"
    assert {path.name for path in tmp_path.iterdir()} == {"attention.npz", "out.npz"}


def test_out_and_json_together_give_both(run: Run, attention_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    result = run("compute", attention_file, "--method", "raw", "--out", out, "--json")
    assert json.loads(result.stdout)["method"] == "raw"
    assert out.exists()


def test_out_alone_says_in_one_line_what_was_written(
    run: Run, attention_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.npz"
    result = run("compute", attention_file, "--method", "raw", "--out", out)
    assert result.stdout == f"wrote {out}: raw, 3 layers, 4 queries, 4 tokens\n"


def test_an_error_is_one_line_and_code_1(run: Run, tmp_path: Path) -> None:
    result = run("compute", tmp_path / "missing.npz", "--method", "raw")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert "missing.npz" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--layers", "9"], "error: --layers must be 1 to 3, got 9"),
        (["--queries", "4"], "error: --queries must be 0 to 3 in layer 1, got 4"),
        (["--onto", "3"], "error: --onto must be 0 to 2, got 3"),
        (["--head", "2"], "error: --head must be 0 to 1, got 2"),
        (["--without", "4"], "error: --without: expected positions 0 to 3, got 4"),
        (["--receptive-field"], "error: --receptive-field is only for causal attention"),
        (["--layers", "1", "--onto", "2"], "onto"),
    ],
)
def test_what_the_file_does_not_have_is_code_1(
    run: Run, attention_file: Path, options: list[str], what: str
) -> None:
    result = run("compute", attention_file, "--method", "rollout", *options)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert what in result.stderr


@pytest.mark.parametrize(
    ("method", "options", "what"),
    [
        ("raw", ["--onto", "0"], "--onto"),
        ("raw", ["--threads", "1"], "--threads"),
        ("raw", ["--receptive-field"], "--receptive-field"),
        ("flow", ["--without", "first"], "--without"),
        ("flow", ["--without", ""], "--without"),
        ("rollout", ["--threads", "1"], "--threads"),
        ("flow", ["--threads", "0"], "--threads"),
        ("median", [], "--method"),
        ("flow", ["--heads", "median"], "--heads"),
        ("flow", ["--residual", "1"], "--residual"),
        ("flow", ["--residual", "-0.1"], "--residual"),
        ("flow", ["--residual", "nan"], "--residual"),
        ("flow", ["--discard-ratio", "1"], "--discard-ratio"),
        ("flow", ["--layers", "one"], "--layers"),
        ("flow", ["--layers", ""], "--layers"),
        ("flow", ["--layers", "0"], "--layers"),
        ("flow", ["--layers", "1,1"], "--layers"),
        ("flow", ["--queries", "-1"], "--queries"),
        ("flow", ["--queries", "1,,2"], "--queries"),
        ("flow", ["--queries", "0-"], "--queries"),
        ("flow", ["--queries", "3-0"], "--queries"),
        ("flow", ["--queries", "0-3,2"], "--queries"),
        ("flow", ["--queries", "0-99999999999"], "--queries"),
        ("flow", ["--layers", "0-3"], "--layers"),
        ("flow", ["--onto", "-1"], "--onto"),
        ("flow", ["--head", "-1"], "--head"),
        ("flow", ["--out", "scores.csv"], "--out"),
        ("flow", ["--out", "-"], "--out"),
        ("flow", ["--out", "no/such/folder/scores.npz"], "--out"),
        ("flow", ["--out", "x" * 300 + ".npz"], "--out"),
        ("flow", ["--colour"], "--colour"),
    ],
)
def test_wrong_usage_names_the_option_and_is_code_2(
    run: Run, attention_file: Path, method: str, options: list[str], what: str
) -> None:
    result = run("compute", attention_file, "--method", method, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    # Quoted in every message, whoever words it, and nothing of what typer is built on.
    assert f"'{what}'" in result.stderr or f"No such option: {what}" in result.stderr
    assert "Value error" not in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("option", "value", "example"),
    [("--queries", "[CLS]", "0,3 or 0-3"), ("--layers", "top", "1,4 or 1-4")],
)
def test_an_invalid_position_is_an_error_with_an_example(
    run: Run, attention_file: Path, option: str, value: str, example: str
) -> None:
    result = run("compute", attention_file, "--method", "raw", option, value)
    assert f"'{option}': expected integers such as {example}, got '{value}'\n" in result.stderr


def test_ranges_are_positions_too(run: Run, attention_file: Path) -> None:
    options = ["--layers", "2-3", "--queries", "0-1, 3", "--json"]
    document = json.loads(run("compute", attention_file, "--method", "rollout", *options).stdout)
    assert document["layers"] == [2, 3]
    assert document["queries"] == [0, 1, 3]


def test_a_stream_is_not_a_file(run: Run) -> None:
    result = run("compute", "-", "--method", "raw")
    assert result.exit_code == 2
    assert "'IN': expected a file whose name ends in .npz or .safetensors" in result.stderr


def test_a_missing_package_is_an_error_before_anything_is_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    out = tmp_path / "out.safetensors"
    result = run("compute", tmp_path / "missing.npz", "--method", "raw", "--out", out)
    assert result.exit_code == 1
    assert 'pip install "safetensors>=' in result.stderr


def test_the_method_must_be_given(run: Run, attention_file: Path) -> None:
    result = run("compute", attention_file)
    assert result.exit_code == 2
    assert "--method" in result.stderr


def test_the_file_read_is_never_written_over(run: Run, attention_file: Path) -> None:
    before = attention_file.read_bytes()
    result = run("compute", attention_file, "--method", "raw", "--out", attention_file)
    assert result.exit_code == 2
    assert attention_file.read_bytes() == before


def test_interrupting_gives_130_and_no_traceback(
    run: Run, attention_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("attnflow.cli._compute.flow", interrupted)
    result = run("compute", attention_file, "--method", "flow")
    assert result.exit_code == 130
    assert result.stderr == "interrupted\n"
