"""POST /api/explain: what good and bad input gives."""

import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from attnflow import InputError, paper
from attnflow.edges import EDGES
from attnflow.evaluate import explain, explanation_document
from attnflow.models import Loaded
from attnflow.models.inputs import _prepare
from attnflow.view import page_data
from attnflow.view.app._compute import ExplainRequest, compute
from attnflow.view.app._errors import from_library_error
from attnflow.view.app._jobs import JobCancelled, JobProgress
from attnflow.view.app._limits import Limits
from attnflow.view.app._schemas import ExplainResponse, StreamLine
from sink_models import put_in_sinks

Client = Callable[..., TestClient]
TEXT = "the key to the cabinets"


def _error(response: Any, status: int) -> dict[str, str]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    document = response.json()
    assert set(document) == {"error"}
    assert set(document["error"]) == {"code", "message"}
    return document["error"]


def test_the_answer_is_the_document_of_the_command(client: Client, verb_number: Loaded) -> None:
    answer = client().post("/api/explain", json={"text": TEXT})
    explanation = explain(verb_number.model, verb_number.tokenizer, TEXT)
    document = explanation_document(explanation, "verb-number", verb_number.tokenizer)
    assert answer.status_code == 200
    assert answer.json() == json.loads(json.dumps(document))
    assert ExplainResponse.model_validate(answer.json()).prediction.label == "singular"


def test_the_page_is_included_on_request(client: Client, verb_number: Loaded) -> None:
    app = client()
    with_page = app.post("/api/explain", json={"text": TEXT, "page": True}).json()
    without = app.post("/api/explain", json={"text": TEXT}).json()
    explanation = explain(verb_number.model, verb_number.tokenizer, TEXT)
    assert with_page.pop("page") == json.loads(json.dumps(page_data(explanation)))
    assert with_page == without


def test_settings_are_those_of_the_request(client: Client) -> None:
    asked = {"layer": 2, "query": 3, "target": "plural", "replace": "pad", "model": "verb-number"}
    settings = client().post("/api/explain", json={"text": TEXT, **asked}).json()["settings"]
    assert (settings["layer"], settings["query"]) == (2, 3)
    assert settings["blank_out"]["target_name"] == "plural"
    assert settings["blank_out"]["replace"] == "pad"


def test_the_settings_of_a_request_are_those_of_explain() -> None:
    # Of the app, not of a client; a layout describes a model.
    ours = {"model", "tokenizer", "layout", "batch_size", "threads", "progress"}
    settings = set(inspect.signature(explain).parameters) - ours
    assert set(ExplainRequest.model_fields) == settings | {"model", "page"}


def test_methods_can_be_chosen_with_and_without_the_page(client: Client) -> None:
    asked = {"text": TEXT, "methods": ["flow", "raw"]}
    app = client()
    assert [*app.post("/api/explain", json=asked).json()["scores"]] == ["flow", "raw"]
    assert app.post("/api/explain", json={**asked, "page": True}).json()["page"]


def test_edges_can_be_chosen_with_and_without_the_page(client: Client) -> None:
    asked = {"text": TEXT, "edges": "norms"}
    app = client()
    plain = app.post("/api/explain", json={"text": TEXT}).json()
    norms = app.post("/api/explain", json={**asked, "page": True}).json()
    assert norms["settings"]["edges"] == norms["page"]["edges"] == "norms"
    assert norms["scores"] != plain["scores"]
    assert norms["importance"] == plain["importance"]
    error = _error(app.post("/api/explain", json={**asked, "edges": "best"}), 422)
    assert "edges" in error["message"]
    assert "value_zeroing" in error["message"]


@pytest.mark.parametrize("made", [{}, {"sinks": "keep"}, {"receptive_field": False}])
def test_the_page_opens_as_the_scores_were_made(
    client: Client, small_gpt: Loaded, monkeypatch: pytest.MonkeyPatch, made: dict[str, Any]
) -> None:
    put_in_sinks(monkeypatch, "attnflow.evaluate._explain", 0)
    asked = {"text": "The author talked to Sara", **made, "page": True}
    answer = client({"gpt": small_gpt}).post("/api/explain", json=asked).json()
    page = answer["page"]
    assert page["sinks"] == [0]
    assert page["keep_sinks"] is (answer["without"] == []) is ("sinks" in made)
    assert page["receptive_field"] is ("receptive_field" not in made)


def test_a_text_is_tokenised_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    tokenise = _prepare.tokenize

    def counted(tokenizer: Any, text: object, **settings: Any) -> Any:
        read.append(text)
        return tokenise(tokenizer, text, **settings)

    monkeypatch.setattr(_prepare, "tokenize", counted)
    assert client().post("/api/explain", json={"text": TEXT}).status_code == 200
    assert read == [TEXT]


def test_a_long_text_is_cut_off_on_request(client: Client) -> None:
    asked = {"text": "the " * 70, "truncate": True}
    assert len(client().post("/api/explain", json=asked).json()["tokens"]) == 64
    error = _error(client(tokens=20).post("/api/explain", json=asked), 422)
    assert error["code"] == "too_many_tokens"


def test_a_blanked_out_token_is_replaced_by_the_models_own_blank(client: Client) -> None:
    loaded = paper.load()
    loaded.model.config.blank_token_id = loaded.tokenizer.pad_token_id
    settings = client({"own": loaded}).post("/api/explain", json={"text": TEXT}).json()["settings"]
    assert settings["blank_out"]["replaced_by"] == loaded.tokenizer.pad_token


def test_the_first_model_is_the_default(client: Client, verb_number: Loaded) -> None:
    app = client({"one": verb_number, "two": paper.load()})
    assert app.post("/api/explain", json={"text": TEXT}).json()["model"] == "one"
    assert app.post("/api/explain", json={"text": TEXT, "model": "two"}).json()["model"] == "two"
    listed = app.get("/api/models").json()
    assert [each["name"] for each in listed["models"]] == ["one", "two"]
    assert [each["example"] for each in listed["models"]] == ["the key to the cabinets"] * 2
    assert all("predicts singular or plural" in each["about"] for each in listed["models"])
    assert listed["edges"] == list(EDGES)


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ({}, "invalid", "text: field required"),
        ([], "invalid", "the body"),
        ({"text": 3}, "invalid", "text: "),
        ({"text": TEXT, "layer": "2"}, "invalid", "layer: "),
        ({"text": TEXT, "layer": 0}, "invalid", "layer: "),
        ({"text": TEXT, "layer": True}, "invalid", "layer: "),
        ({"text": TEXT, "query": -1}, "invalid", "query: "),
        ({"text": TEXT, "page": 1}, "invalid", "page: "),
        (
            {"text": TEXT, "path": "x"},
            "invalid",
            "unknown field 'path'; expected one of text, model",
        ),
        ({"text": TEXT, "layer": 7}, "input", "layer must be 1 to 6, got 7"),
        ({"text": TEXT, "query": 7}, "input", "query must be 0 to 6, got 7"),
        ({"text": TEXT, "position": 2}, "input", "position"),
        ({"text": TEXT, "methods": []}, "invalid", "methods: "),
        ({"text": TEXT, "methods": ["gradient"]}, "invalid", "methods"),
        (
            {"text": TEXT, "target": "x" * 201},
            "invalid",
            "target: input should be a valid integer or string should have at most 200",
        ),
        (
            {"text": TEXT, "against": [0]},
            "invalid",
            "against: input should be a valid integer or input should be a valid string",
        ),
        ({"text": TEXT, "replace": 10**6}, "input", "replace: expected 0 to"),
        ({"text": TEXT, "truncate": 1}, "invalid", "truncate: "),
        ({"text": TEXT, "target": "neither"}, "input", "neither"),
        ({"text": TEXT, "replace": "nothing"}, "input", "nothing"),
        ({"text": ""}, "input", "expected a text with at least one word"),
        ({"text": " \n"}, "input", "expected a text with at least one word"),
        ({"text": "\ud800"}, "input", "a lone surrogate"),
        (
            {"text": TEXT, "model": "/etc/passwd"},
            "unknown_model",
            "expected one of the models verb-number",
        ),
        (
            {"text": TEXT, "model": "../verb-number"},
            "unknown_model",
            "expected one of the models verb-number",
        ),
        ({"text": "the " * 63}, "too_many_tokens", "the model takes at most 64 tokens"),
    ],
)
def test_bad_input_is_an_error_with_the_value_and_the_fix(
    client: Client, body: object, code: str, said: str
) -> None:
    content = json.dumps(body)
    headers = {"content-type": "application/json"}
    error = _error(client().post("/api/explain", content=content, headers=headers), 422)
    assert error["code"] == code
    assert said in error["message"]
    assert "truncate=True" not in error["message"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 50_000,
        b'{"text": "a", "layer": 1' + b"0" * 5000 + b"}",
        b"NaN",
    ],
)
def test_what_is_not_json_is_said_to_be_so(client: Client, content: bytes) -> None:
    headers = {"content-type": "application/json"}
    error = _error(client().post("/api/explain", content=content, headers=headers), 422)
    assert error["code"] == "invalid"
    assert "the body" in error["message"]
    assert "valid JSON" not in error["message"]  # a number of many digits is


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/explain", 405, "method_not_allowed"),
        ("POST", "/api/models", 405, "method_not_allowed"),
        ("GET", "/nothing", 404, "not_found"),
        ("POST", "/", 405, "method_not_allowed"),
    ],
)
def test_addresses_and_methods_that_there_are_not(
    client: Client, method: str, path: str, status: int, code: str
) -> None:
    assert _error(client().request(method, path), status)["code"] == code


@pytest.mark.parametrize("path", ["/api/explain", "/api/explain/stream"])
def test_an_unexpected_error_is_logged_and_hidden_from_the_client(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    path: str,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret in /home/somebody")

    monkeypatch.setattr("attnflow.view.app._compute.page_data", fail)
    answer = client().post(path, json={"text": TEXT, "page": True})
    error = json.loads(answer.text.splitlines()[-1])["error"]
    assert error["code"] == "internal"
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert "a secret in /home/somebody" in caplog.text


def test_an_error_outside_of_the_work_is_an_answer_too(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret")

    app = client()
    monkeypatch.setattr("attnflow.view.app._jobs.Jobs.states", fail)
    answer = app.get("/api/health")
    assert _error(answer, 500)["code"] == "internal"
    assert "nosniff" in answer.headers["x-content-type-options"]
    assert "a secret" in caplog.text


def test_a_stream_reports_progress_and_then_the_same_answer(client: Client) -> None:
    app = client()
    streamed = app.post("/api/explain/stream", json={"text": TEXT})
    assert streamed.headers["content-type"] == "application/x-ndjson"
    lines = [StreamLine.model_validate_json(line) for line in streamed.text.splitlines()]
    steps = [line.progress for line in lines[:-1]]
    done = [step.done for step in steps if step is not None]
    assert len(done) == len(steps) > 0
    assert done == sorted(done)
    assert lines[-1].result is not None
    whole = ExplainResponse.model_validate(app.post("/api/explain", json={"text": TEXT}).json())
    assert lines[-1].result == whole


@pytest.mark.parametrize("page", [False, True])
def test_steps_are_reported_up_to_the_last(verb_number: Loaded, page: bool) -> None:
    question = ExplainRequest.model_validate({"model": "verb-number", "text": TEXT, "page": page})
    reports: list[JobProgress] = []
    _ = compute(question, verb_number, Limits(), reports.append)
    assert reports[0] == JobProgress(state="working")  # how many steps there are is not known yet
    steps = 2 + 7 + 3  # attention and gradient; tokens; methods
    assert {each.total for each in reports[1:]} == {steps + page}
    # What comes before blank-out is reported again at its begin, and its tokens are one batch; the
    # page is the last step, and its own work is reported while it is under way.
    counts = [each.done for each in reports[1:]]
    assert counts[:7] == [1, 1, 8, 9, 10, 11, 12]
    assert (set(counts[7:]) == {steps}) == page


def test_a_page_is_not_computed_for_a_cancelled_job(verb_number: Loaded) -> None:
    question = ExplainRequest.model_validate({"model": "verb-number", "text": TEXT, "page": True})
    reports: list[JobProgress] = []

    def report(progress: JobProgress) -> None:
        reports.append(progress)
        if [each.done for each in reports].count(12) == 2:
            raise JobCancelled

    with pytest.raises(JobCancelled):
        _ = compute(question, verb_number, Limits(), report)


def test_a_stream_ends_with_what_went_wrong(client: Client) -> None:
    answer = client().post("/api/explain/stream", json={"text": TEXT, "layer": 9})
    assert answer.status_code == 200
    last = json.loads(answer.text.splitlines()[-1])
    assert last["error"]["code"] == "input"


def test_a_stream_that_cannot_begin_has_a_status(client: Client) -> None:
    error = _error(client().post("/api/explain/stream", json={"text": TEXT, "model": "x"}), 422)
    assert error["code"] == "unknown_model"


def test_a_model_is_left_as_it_was(client: Client) -> None:
    own = paper.load()
    app = client({"own": own})
    hooks = len(own.model._forward_pre_hooks)
    assert app.post("/api/explain", json={"text": TEXT, "page": True}).status_code == 200
    assert app.post("/api/explain", json={"text": TEXT, "layer": 9}).status_code == 422
    assert len(own.model._forward_pre_hooks) == hooks
    assert not own.model.training


def test_an_error_of_the_library_is_returned_in_full() -> None:
    said = "layer is 9; layers are 1 to 6, or pass truncate=True to cut it off there"
    assert str(from_library_error(InputError(said))) == said
