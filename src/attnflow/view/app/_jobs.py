"""Jobs: each runs once however many requests wait for it, and is cancelled when none does."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from attnflow.view.app._cache import Cache
from attnflow.view.app._errors import ErrorResponse
from attnflow.view.app._limits import Limits
from attnflow.view.app._schemas import JobProgress

# Seconds after which a client may try again. Chosen: most jobs take less.
_RETRY_AFTER = 2


class JobCancelled(BaseException):
    """No request waits any more. Not an Exception, so that `except Exception` does not catch it."""


class ClientDisconnected(Exception):  # noqa: N818 - not an error
    """The client closed the connection."""


Report: TypeAlias = Callable[[JobProgress], None]
Work: TypeAlias = Callable[[Report], bytes]


@dataclass(eq=False, slots=True)
class Job:
    """One piece of work, its progress, and the number of requests that wait for it."""

    key: str
    model: str
    work: Work
    progress: JobProgress = field(default_factory=lambda: JobProgress(state="waiting"))
    waiters: int = 0
    watchers: int = 0  # of them, how many are told about the progress
    cancelled: threading.Event = field(default_factory=threading.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # a new one at every step
    task: "asyncio.Task[bytes] | None" = None

    def update(self, progress: JobProgress) -> None:
        """Set the progress and wake all who watch it."""
        self.progress = progress
        self.wake()

    def wake(self) -> None:
        """Wake all who watch the progress."""
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class Jobs:
    """All jobs of an app, in one event loop; the work itself runs in threads.

    One model runs one job at a time: capturing its attention changes its configuration during the
    pass.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.work)
        self._model_locks: dict[str, asyncio.Lock] = {}
        self._by_key: dict[str, Job] = {}  # jobs that can be joined
        self._all: set[Job] = set()  # also cancelled jobs that end at their next step
        self._cache = Cache(limits.cache)
        self.counts = {"computed": 0, "shared": 0, "cached": 0}
        self.open()

    def open(self) -> None:
        """Accept jobs, also after `close`: an application may be started more than once."""
        self._closed = False
        self._threads = ThreadPoolExecutor(self._limits.work, thread_name_prefix="attnflow")

    def states(self) -> dict[str, int]:
        """Return the number of jobs in each state."""
        states = [job.progress.state for job in self._all]
        return {state: states.count(state) for state in ("working", "waiting")}

    def cached(self, key: str) -> bytes | None:
        """Return the cached result of an earlier job, if there is one."""
        content = self._cache.get(key)
        self.counts["cached"] += content is not None
        return content

    @contextmanager
    def join(self, key: str, model: str, work: Work) -> Generator[Job]:
        """Join the job of a key, starting it if needed; the last to leave cancels it."""
        job = self._by_key.get(key)
        if job is None:
            job = self._start(key, model, work)
        else:
            self.counts["shared"] += 1
        job.waiters += 1
        try:
            yield job
        finally:
            job.waiters -= 1
            if not job.waiters:
                self._cancel(job)

    def close(self) -> None:
        """Cancel all jobs; requests that wait get an error response."""
        self._closed = True
        for job in list(self._all):
            self._cancel(job)
        self._threads.shutdown(wait=False)

    def _start(self, key: str, model: str, work: Work) -> Job:
        if self._closed:
            raise _stopping()
        if self.states()["waiting"] >= self._limits.queue:
            raise ErrorResponse(
                503,
                "busy",
                f"{self._limits.queue} requests are waiting, which is the limit; try again in "
                f"{_RETRY_AFTER} seconds",
                {"retry-after": str(_RETRY_AFTER)},
            )
        job = Job(key, model, work)
        self._by_key[key] = job
        self._all.add(job)
        job.task = asyncio.create_task(self._run(job))
        # asyncio warns about exceptions that are not retrieved, as those of a cancelled job.
        job.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return job

    async def _run(self, job: Job) -> bytes:
        loop = asyncio.get_running_loop()

        def report(progress: JobProgress) -> None:  # called in the worker thread
            if job.cancelled.is_set():
                raise JobCancelled
            job.progress = progress
            if job.watchers:  # a step takes less time than waking the event loop
                _ = loop.call_soon_threadsafe(job.wake)

        def work() -> bytes:
            try:
                return job.work(report)
            except JobCancelled:
                # A BaseException from a task would end the event loop.
                raise _stopping() from None

        try:
            async with self._model_locks.setdefault(job.model, asyncio.Lock()), self._slots:
                job.update(JobProgress(state="working"))
                content = await loop.run_in_executor(self._threads, work)
        finally:
            self._forget(job)
            self._all.discard(job)
        self.counts["computed"] += 1
        self._cache.put(job.key, content)
        return content

    def _cancel(self, job: Job) -> None:
        self._forget(job)
        job.cancelled.set()
        # A thread cannot be killed: it ends at its next step.
        if job.task is not None and job.progress.state == "waiting":
            _ = job.task.cancel()

    def _forget(self, job: Job) -> None:
        if self._by_key.get(job.key) is job:
            del self._by_key[job.key]


async def watch(
    job: Job, disconnected: "asyncio.Task[None]", deadline: float, limits: Limits
) -> AsyncGenerator[JobProgress]:
    """Yield the progress of a job each time it changes, until the job is done.

    Raises ClientDisconnected when the task `disconnected` ends, and an ErrorResponse at the
    deadline (time of the event loop).
    """
    task = job.task
    assert task is not None  # noqa: S101 - started jobs have one
    job.watchers += 1
    try:
        while not task.done():
            event = job.changed  # taken before the yield, so that no change is missed
            yield job.progress
            changed = asyncio.create_task(event.wait())
            try:
                await _wait(task, disconnected, deadline, limits, changed)
            finally:
                _ = changed.cancel()
    finally:
        job.watchers -= 1


async def finish(
    job: Job, disconnected: "asyncio.Task[None]", deadline: float, limits: Limits
) -> None:
    """Wait until a job is done, without its progress; raises as `watch`."""
    assert job.task is not None  # noqa: S101 - started jobs have one
    while not job.task.done():
        await _wait(job.task, disconnected, deadline, limits)


async def _wait(
    task: "asyncio.Task[bytes]",
    disconnected: "asyncio.Task[None]",
    deadline: float,
    limits: Limits,
    *others: "asyncio.Task[Any]",
) -> None:
    """Wait until one of the tasks ends."""
    loop = asyncio.get_running_loop()
    _ = await asyncio.wait(
        {task, disconnected, *others},
        timeout=max(0.0, deadline - loop.time()),
        return_when=asyncio.FIRST_COMPLETED,
    )
    if disconnected.done():
        raise ClientDisconnected
    if loop.time() >= deadline and not task.done():
        raise ErrorResponse(
            504,
            "too_slow",
            f"the response took more than the limit of {limits.seconds:g} seconds; send a "
            "shorter text, or start the app with a larger --max-seconds",
        )


def result(job: Job) -> bytes:
    """Return the result of a finished job, or raise what it raised."""
    assert job.task is not None  # noqa: S101 - started jobs have one
    if job.task.cancelled():
        raise _stopping()
    return job.task.result()


def _stopping() -> ErrorResponse:
    return ErrorResponse(
        503, "stopping", "the app is being stopped; start it again, then try again"
    )
