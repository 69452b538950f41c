"""What requests and answers look like; FastAPI checks the ones and describes both.

Loaded with the app alone: pydantic comes with FastAPI.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

# Chosen: more than any model has layers, positions, tokens or classes, and a number that arrays of
# every library can be asked about.
_MOST = 2**31 - 1

_Number = Annotated[int, Field(ge=0, le=_MOST)]
# Chosen: longer than any name of a class or token.
_Name = Annotated[str, Field(max_length=200)]


class Ask(BaseModel):
    """A text, and what is asked about it."""

    # Strict: "3" is not a number, and an unknown field is a slip of the pen.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    text: str = Field(description="What the model reads.")
    model: str | None = Field(None, description="One of /api/models; by default the first.")
    layer: Annotated[int, Field(ge=1, le=_MOST)] | None = Field(
        None, description="The layer that attends; by default the last."
    )
    query: _Number | None = Field(
        None,
        description="The position that attends; by default the one whose output is read: CLS, the "
        "mask, or the last.",
    )
    target: _Number | _Name | None = Field(
        None,
        description="The answer that importance is about: a class or token, by number or name; by "
        "default the model's own.",
    )
    replace: _Number | _Name = Field(
        "unk",
        description="What stands for a token that is blanked out: unk, mask, pad or the id of a "
        "token.",
    )
    page: bool = Field(
        default=False, description="Whether the interactive page's data comes along, as page."
    )


class Prediction(BaseModel):
    """What the model answers."""

    label: str
    probabilities: dict[str, float]


class Explained(BaseModel):
    """What a model answers to a text, what it attended to and what the answer depends on."""

    text: str
    model: str
    tokens: list[str]
    unknown: dict[str, str] = Field(
        description="Position → word of the text that the model does not know."
    )
    prediction: Prediction
    scores: dict[str, list[float]] = Field(
        description="Method (raw, rollout, flow) → token attention, one number a token."
    )
    importance: dict[str, list[float]] = Field(
        description="Method (blank_out, input_gradient) → importance, one number a token."
    )
    correlations: dict[str, dict[str, float | None]] = Field(
        description="Importance → method → Spearman's rank correlation; null where undefined."
    )
    saturated: bool = Field(
        description="Whether flow is at its ceiling, whatever the layers between do."
    )
    settings: dict[str, Any] = Field(description="How all of it was made.")
    page: dict[str, Any] | None = Field(
        None, description="Where asked for: the interactive page's data, version 1."
    )


class Step(BaseModel):
    """How far the work is."""

    state: str = Field(description="waiting, for others to be done, or working.")
    done: int = Field(
        description="Steps done: attention, prediction, each method, each token blanked out, "
        "gradient, the page."
    )
    total: int = Field(description="Steps in all; 0 as long as that is unknown.")


class Wrong(BaseModel):
    """Why there is no answer."""

    code: str = Field(description="For programs; see the list of codes.")
    message: str = Field(description="For people: what came, what is wanted, what to do.")


class Problem(BaseModel):
    """The body of every answer that is an error."""

    error: Wrong


class Line(BaseModel):
    """One line of a stream: progress any number of times, then a result or an error."""

    progress: Step | None = None
    result: Explained | None = None
    error: Wrong | None = None


class Model(BaseModel):
    """A model that the app has."""

    name: str
    architecture: str = Field(description="The class of the model.")


class Bounds(BaseModel):
    """How much a request may take."""

    characters: int
    body: int
    tokens: int
    work: int
    queue: int
    seconds: float
    cache: int


class Models(BaseModel):
    """The models of the app, the first of which is the default, and its limits."""

    models: list[Model]
    limits: Bounds


class Health(BaseModel):
    """That the app is there, and what it is doing."""

    status: str
    version: str
    working: int = Field(description="Requests that are worked on.")
    waiting: int = Field(description="Requests that wait for their turn.")
    worked_out: int = Field(description="Results that were worked out so far.")
    shared: int = Field(description="Requests that joined an equal one under way.")
    cached: int = Field(description="Requests answered from what was kept.")
