"""Limits of one request and of all requests together."""

from dataclasses import dataclass, fields

from attnflow.errors import InputError


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request and of all requests together; a request beyond one gets an error.

    Parameters
    ----------
    characters
        Characters of a text.
    body
        Bytes of a request's body.
    tokens
        Tokens of a text, counted by the model's tokenizer.
    work
        Jobs that run at a time. One model runs one job at a time in any case.
    queue
        Jobs that wait to run.
    seconds
        From the start of a request to its response: body (at most ten seconds), waiting and work.
    cache
        Bytes of cached results; 0 caches none.

    Examples
    --------
    >>> Limits(tokens=64).tokens
    64
    """

    # Chosen: a long article, and more than `tokens` hold in any language.
    characters: int = 10_000
    # Chosen: 10,000 characters written as two escapes of six bytes each, plus the other fields.
    body: int = 128 * 1024
    # Chosen: the longest input the page is made for, and the limit of a BERT.
    tokens: int = 512
    # Chosen: a forward pass uses all cores, so more jobs gain little and cost memory.
    work: int = 2
    # Chosen: a class of students that clicks at once.
    queue: int = 64
    # Chosen: as long as people watch a progress bar.
    seconds: float = 120.0
    # Chosen: a thousand sentences with their pages, and little next to what torch takes.
    cache: int = 64 * 2**20

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), 0 if field.name == "cache" else 1
            numbers = (int, float) if field.name == "seconds" else (int,)
            if isinstance(value, bool) or not isinstance(value, numbers) or not value >= least:
                kind = "a number" if field.name == "seconds" else "an integer"
                raise InputError(
                    f"limit {field.name} must be {kind} of at least {least}, got {value!r}"
                )
