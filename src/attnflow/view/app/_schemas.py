"""Schemas of requests and responses, which FastAPI checks and describes.

Imported with the app only: pydantic comes with FastAPI.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from attnflow.edges import Edges
from attnflow.types import METHODS, Method
from attnflow.view.app._limits import Limits

# Chosen: more than any model has layers, positions, tokens or classes, and an index that fits every
# array library.
_MAX_INDEX = 2**31 - 1

_Index = Annotated[int, Field(ge=0, le=_MAX_INDEX)]
# Chosen: longer than any name of a class or token.
_Name = Annotated[str, Field(max_length=200)]


class ExplainRequest(BaseModel):
    """A text, and the settings of `explain`."""

    # Strict: "3" is not a number, and an unknown field is a mistake.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    text: str = Field(description="Input text of the model.")
    model: str | None = Field(None, description="One of /api/models; by default the first.")
    layer: Annotated[int, Field(ge=1, le=_MAX_INDEX)] | None = Field(
        None, description="Layer of the scores; by default the last."
    )
    query: _Index | None = Field(
        None,
        description="Position of the scores; by default the one whose output is read: CLS, mask or "
        "last.",
    )
    target: _Index | _Name | None = Field(
        None,
        description="Class or token that importance is computed for, by number or name; by default "
        "the model's prediction.",
    )
    against: _Index | _Name | None = Field(
        None, description="Another answer, for importance of the target against this one."
    )
    position: _Index | None = Field(
        None,
        description="Position of the output to explain, if the model has one at every position; by "
        "default that of the mask, or the last.",
    )
    replace: _Index | _Name | None = Field(
        None,
        description="Replacement of a blanked-out token: unk, mask, pad, attention_mask, mean (the "
        "mean embedding) or a token id; by default the model's own blank, else attention_mask for "
        "a decoder, else unk.",
    )
    sinks: Literal["remove", "keep"] = Field(
        default="remove", description="Whether attention sinks are taken out of the scores."
    )
    receptive_field: bool | None = Field(
        None,
        description="Whether rollout and flow of a decoder are divided by those of uniform "
        "attention; by default they are.",
    )
    methods: list[Method] = Field(
        default=list(METHODS), min_length=1, description="How layers compose; by default all."
    )
    edges: Edges = Field(
        default="attention", description="What the edges of the graph weigh; by default attention."
    )
    truncate: bool = Field(
        default=False, description="Whether a text that is too long for the model is cut off."
    )
    page: bool = Field(
        default=False, description="Whether the response includes the data of the interactive page."
    )


class PredictionInfo(BaseModel):
    """The prediction of the model."""

    label: str
    probabilities: dict[str, float]


class ExplainResponse(BaseModel):
    """Prediction, token attention and importance of a text."""

    text: str
    model: str
    tokens: list[str]
    unknown: dict[str, str] = Field(
        description="Position → word of the text that is not in the vocabulary."
    )
    prediction: PredictionInfo
    scores: dict[str, list[float]] = Field(
        description="Method (raw, rollout, flow) → token attention, one number for each token. "
        "Those in `without` have none, and the number is 0; but rollout and flow of the query's "
        "own position are its residual connection, and raw attention there has no meaning."
    )
    importance: dict[str, list[float]] = Field(
        description="Method (blank_out, input_gradient) → importance, one number for each token."
    )
    correlations: dict[str, dict[str, float | None]] = Field(
        description="Importance → method → Spearman's rank correlation over the tokens that are "
        "not in `without`, and for rollout and flow the query's own; null where undefined, and of "
        "fewer than three tokens."
    )
    without: list[int] = Field(
        description="Positions of attention sinks that are taken out of the scores."
    )
    saturated: bool = Field(
        description="Whether every flow is at its ceiling, so that it does not depend on the query."
    )
    flat: bool = Field(
        description="Whether all tokens but the query's own have nearly the same score of flow."
    )
    settings: dict[str, Any] = Field(description="Settings of all results.")
    page: dict[str, Any] | None = Field(
        None, description="Data of the interactive page, version 1, if requested."
    )


class JobProgress(BaseModel):
    """Progress of a job."""

    state: str = Field(description="waiting for other jobs, or working.")
    done: int = Field(
        default=0,
        description="Steps done: attention, each token blanked out, the gradient, each "
        "method, the page.",
    )
    total: int = Field(default=0, description="Total number of steps; 0 while it is unknown.")


class ErrorDetail(BaseModel):
    """Code and message of an error."""

    code: str = Field(description="For programs; see the list of codes.")
    message: str = Field(description="For people: the problem, the value received, the fix.")


class ErrorBody(BaseModel):
    """Body of every error response."""

    error: ErrorDetail


class StreamLine(BaseModel):
    """One line of a stream: progress any number of times, then a result or an error."""

    progress: JobProgress | None = None
    result: ExplainResponse | None = None
    error: ErrorDetail | None = None


class ModelInfo(BaseModel):
    """A model of the app."""

    name: str
    architecture: str = Field(description="Class of the model.")
    about: str = Field(description="One line: class, size, and what the model predicts.")
    example: str = Field(description="A text to begin with.")


class ModelList(BaseModel):
    """The models of the app and the edge weights, the defaults first, and its limits."""

    models: list[ModelInfo]
    edges: list[str] = Field(description="Values of edges in a request.")
    limits: Limits


class Health(BaseModel):
    """State of the app."""

    status: str
    version: str
    working: int = Field(description="Jobs that run.")
    waiting: int = Field(description="Jobs that wait to run.")
    computed: int = Field(description="Results computed so far.")
    shared: int = Field(description="Requests that joined a running job with the same arguments.")
    cached: int = Field(description="Requests answered from the cache.")
