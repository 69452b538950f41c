"""How much one request, and all of them together, may take."""

from dataclasses import dataclass, fields

from attnflow.errors import InputError


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one request, and all of them together, may take; beyond it there is a clear error.

    Parameters
    ----------
    characters
        Of a text.
    body
        Bytes of a request's body.
    tokens
        Of a text, as the model counts them.
    work
        Requests worked on at a time. One model works on one at a time, whatever this is.
    queue
        Requests that wait for their turn.
    seconds
        From a request to its answer: the body, which has at most ten of them, waiting and work.
    cache
        Bytes of results that are kept; 0 keeps none.

    Examples
    --------
    >>> Limits(tokens=64).tokens
    64
    """

    # Chosen: a long article's worth, and more than `tokens` hold in any language.
    characters: int = 10_000
    # Chosen: 10,000 characters that are written as two escapes of six bytes each, and some more.
    body: int = 128 * 1024
    # Chosen: the longest input that the page is made for, and what a BERT reads.
    tokens: int = 512
    # Chosen: a forward pass uses all cores by itself, so more gain little and cost memory.
    work: int = 2
    # Chosen: a class of students that clicks at once.
    queue: int = 64
    # Chosen: as long as people watch a progress bar.
    seconds: float = 120.0
    # Chosen: a thousand sentences with their pages, and little beside what torch takes.
    cache: int = 64 * 2**20

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), 0 if field.name == "cache" else 1
            numbers = (int, float) if field.name == "seconds" else (int,)
            if isinstance(value, bool) or not isinstance(value, numbers) or not value >= least:
                kind = "number" if field.name == "seconds" else "whole number"
                raise InputError(
                    f"limit {field.name} is {value!r}; wanted is a {kind} of {least} or more"
                )
