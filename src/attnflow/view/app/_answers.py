"""From a question to the answer that is sent: whole, or as a stream of lines."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import asdict
from functools import partial

from attnflow.errors import InputError, UnsupportedModelError
from attnflow.models import Loaded
from attnflow.view.app._jobs import ClientGone, Jobs, result, steps
from attnflow.view.app._limits import Limits
from attnflow.view.app._refusal import Receive, Refusal, of_library, unexpected
from attnflow.view.app._shapes import Ask
from attnflow.view.app._work import Question, worked_out

_LOG = logging.getLogger(__name__)


class Answers:
    """The models, what they are working on, and how questions are answered."""

    def __init__(self, models: Mapping[str, Loaded], limits: Limits) -> None:
        self.models = dict(models)
        self.limits = limits
        self.jobs = Jobs(limits)

    async def whole(self, ask: Ask, receive: Receive, deadline: float) -> bytes:
        """The answer as JSON; a Refusal where there is none, ClientGone where nobody reads it.

        `deadline` is in the time of the event loop.
        """
        async with aclosing(self._parts(ask, receive, deadline)) as parts:
            async for kind, content in parts:
                if kind == "result":
                    return content
        raise AssertionError("a job ends with a result or raises")

    async def lines(self, ask: Ask, receive: Receive, deadline: float) -> AsyncGenerator[bytes]:
        """Lines of JSON: how far the work is, then the answer or why there is none.

        What is refused before any work is raised before the first line.
        """
        begun = False
        try:
            async with aclosing(self._parts(ask, receive, deadline)) as parts:
                async for kind, content in parts:
                    begun = True
                    yield b'{"%s":%s}\n' % (kind.encode(), content)
        except ClientGone:
            return
        except Refusal as refusal:
            if not begun:
                raise
            yield refusal.body() + b"\n"

    async def _parts(
        self, ask: Ask, receive: Receive, deadline: float
    ) -> AsyncGenerator[tuple[str, bytes]]:
        question = self._question(ask)
        key = question.key()
        content = self.jobs.kept(key)
        if content is None:
            loaded = self.models[question.model]
            work = partial(worked_out, question, loaded, self.limits)
            gone = asyncio.create_task(_gone(receive))
            try:
                with self.jobs.joined(key, question.model, work) as job:
                    async with aclosing(steps(job, gone, deadline, self.limits)) as moves:
                        async for progress in moves:
                            yield "progress", json.dumps(asdict(progress)).encode()
                    content = _finished(partial(result, job))
            finally:
                _ = gone.cancel()
        yield "result", content

    def _question(self, ask: Ask) -> Question:
        if len(ask.text) > self.limits.characters:
            raise Refusal(
                422,
                "text_too_long",
                f"the text has {len(ask.text)} characters, and at most {self.limits.characters} "
                "are allowed; shorten it, or raise --max-characters where the app is started",
            )
        model = next(iter(self.models)) if ask.model is None else ask.model
        if model not in self.models:
            known = ", ".join(self.models)
            raise Refusal(
                422,
                "unknown_model",
                f"there is no model {model[:100]!r} here; use one of {known}, or start the app "
                "with it",
            )
        return Question(model, ask.text, ask.layer, ask.query, ask.target, ask.replace, ask.page)


def _finished(job_result: Callable[[], bytes]) -> bytes:
    """What a job gave; errors as what clients are told of them."""
    try:
        return job_result()
    except Refusal as refusal:
        # One job may have several waiters, and an exception is raised once.
        raise Refusal(refusal.status, refusal.code, str(refusal), refusal.headers) from None
    except (InputError, UnsupportedModelError) as error:
        raise of_library(error) from error
    except Exception as error:
        _LOG.exception("an answer could not be worked out")
        raise unexpected() from error


async def _gone(receive: Receive) -> None:
    """Return when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
