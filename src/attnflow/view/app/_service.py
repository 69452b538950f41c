"""From a request to its response: the complete result, or a stream of lines."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, contextmanager
from functools import partial

from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models import Loaded
from attnflow.view.app._compute import cache_key, compute
from attnflow.view.app._errors import ErrorResponse, Receive, from_library_error, internal_error
from attnflow.view.app._jobs import ClientDisconnected, Job, Jobs, finish, result, watch
from attnflow.view.app._limits import Limits
from attnflow.view.app._schemas import ExplainRequest

_LOG = logging.getLogger(__name__)


class ExplainService:
    """The models and their jobs."""

    def __init__(self, models: Mapping[str, Loaded], limits: Limits) -> None:
        self.models = dict(models)
        self.limits = limits
        self.jobs = Jobs(limits)

    async def explain(self, request: ExplainRequest, receive: Receive, deadline: float) -> bytes:
        """Return the result as JSON, or raise ErrorResponse or ClientDisconnected.

        `deadline` is a time of the event loop.
        """
        request, key = self._checked(request)
        content = self.jobs.cached(key)
        if content is None:
            with self._joined(request, key, receive) as (job, disconnected):
                await finish(job, disconnected, deadline, self.limits)
                content = _result(job)
        return content

    async def stream(
        self, request: ExplainRequest, receive: Receive, deadline: float
    ) -> AsyncGenerator[bytes]:
        """Yield lines of JSON: progress, then the result or an error.

        An error before the first line is raised.
        """
        started = False
        try:
            async with aclosing(self._parts(request, receive, deadline)) as parts:
                async for kind, content in parts:
                    started = True
                    yield b'{"%s":%s}\n' % (kind.encode(), content)
        except ClientDisconnected:
            return
        except ErrorResponse as error:
            if not started:
                raise
            yield error.body() + b"\n"

    async def _parts(
        self, request: ExplainRequest, receive: Receive, deadline: float
    ) -> AsyncGenerator[tuple[str, bytes]]:
        request, key = self._checked(request)
        content = self.jobs.cached(key)
        if content is None:
            with self._joined(request, key, receive) as (job, disconnected):
                async with aclosing(watch(job, disconnected, deadline, self.limits)) as steps:
                    async for progress in steps:
                        yield "progress", progress.model_dump_json().encode()
                content = _result(job)
        yield "result", content

    @contextmanager
    def _joined(
        self, request: ExplainRequest, key: str, receive: Receive
    ) -> Generator[tuple[Job, "asyncio.Task[None]"]]:
        """Join the job of a request; the task ends when the client closes the connection."""
        model = str(request.model)
        work = partial(compute, request, self.models[model], self.limits)
        disconnected = asyncio.create_task(_disconnected(receive))
        try:
            with self.jobs.join(key, model, work) as job:
                yield job, disconnected
        finally:
            _ = disconnected.cancel()

    def _checked(self, request: ExplainRequest) -> tuple[ExplainRequest, str]:
        """Return the request with its model, checked against the limits, and its cache key."""
        if len(request.text) > self.limits.characters:
            raise ErrorResponse(
                422,
                "text_too_long",
                f"expected at most {self.limits.characters} characters, got {len(request.text)}; "
                "shorten the text, or start the app with a larger --max-characters",
            )
        model = next(iter(self.models)) if request.model is None else request.model
        if model not in self.models:
            raise ErrorResponse(
                422,
                "unknown_model",
                f"expected one of the models {', '.join(self.models)}, got {model[:100]!r}; start "
                "the app with it to use it",
            )
        request = request.model_copy(update={"model": model})
        return request, cache_key(request)


def _result(job: Job) -> bytes:
    """Return the result of a job; its exceptions become error responses."""
    try:
        return result(job)
    except ErrorResponse as error:
        # Several requests may wait for one job, and each raises an exception of its own.
        raise ErrorResponse(error.status, error.code, str(error), error.headers) from None
    except (InputError, UnsupportedModelError) as error:
        raise from_library_error(error) from error
    except Exception as error:
        _LOG.exception("unexpected internal error in a job")
        raise internal_error() from error


async def _disconnected(receive: Receive) -> None:
    """Return when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
