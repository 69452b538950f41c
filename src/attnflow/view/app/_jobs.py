"""Work under way: each piece done once, whoever asks, and stopped when nobody waits for it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from attnflow.view.app._cache import Cache
from attnflow.view.app._limits import Limits
from attnflow.view.app._refusal import Refusal

# Seconds after which a client may try again. Chosen: an answer takes less, mostly.
_TRY_AGAIN = 2


class Stopped(BaseException):
    """Nobody waits any more. Not an Exception: nothing on its way up may take it for an error."""


class ClientGone(Exception):  # noqa: N818 - not an error
    """The client closed the connection; nobody reads an answer."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is."""

    state: str  # "waiting" for its turn, or "working"
    done: int = 0  # steps
    total: int = 0  # 0 as long as nobody knows


Report: TypeAlias = Callable[[Progress], None]
Work: TypeAlias = Callable[[Report], bytes]


@dataclass(eq=False, slots=True)
class Job:
    """One piece of work, how far it is, and how many wait for it."""

    key: str
    model: str
    work: Work
    progress: Progress = field(default_factory=lambda: Progress("waiting"))
    waiters: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)
    moved: asyncio.Event = field(default_factory=asyncio.Event)  # renewed at every step
    task: "asyncio.Task[bytes] | None" = None

    def move(self, progress: Progress) -> None:
        """Note how far it is, and wake whoever watches."""
        self.progress = progress
        moved, self.moved = self.moved, asyncio.Event()
        moved.set()


class Jobs:
    """All jobs of an app, in one event loop; the work itself runs in threads.

    One model works on one job at a time: reading its attention changes how it attends, for the time
    of a pass.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.work)
        self._turns: dict[str, asyncio.Lock] = {}
        self._by_key: dict[str, Job] = {}  # those that may be joined
        self._all: set[Job] = (
            set()
        )  # also those that nobody waits for and that end at their next step
        self._cache = Cache(limits.cache)
        self.counts = {"worked_out": 0, "shared": 0, "cached": 0}
        self.open()

    def open(self) -> None:
        """Take jobs, also after `close`: an application may be started more than once."""
        self._closed = False
        self._threads = ThreadPoolExecutor(self._limits.work, thread_name_prefix="attnflow")

    def states(self) -> dict[str, int]:
        """How many jobs are in each state."""
        states = [job.progress.state for job in self._all]
        return {state: states.count(state) for state in ("working", "waiting")}

    def kept(self, key: str) -> bytes | None:
        """The result of an earlier job, if there still is one."""
        found = self._cache.find(key)
        self.counts["cached"] += found is not None
        return found

    @contextmanager
    def joined(self, key: str, model: str, work: Work) -> Generator[Job]:
        """Wait for a job, which is begun unless it is under way; the last to leave stops it."""
        job = self._by_key.get(key)
        if job is None:
            job = self._begin(key, model, work)
        else:
            self.counts["shared"] += 1
        job.waiters += 1
        try:
            yield job
        finally:
            job.waiters -= 1
            if not job.waiters:
                self._stop(job)

    def close(self) -> None:
        """Stop everything; who waits is told so."""
        self._closed = True
        for job in list(self._all):
            self._stop(job)
        self._threads.shutdown(wait=False)

    def _begin(self, key: str, model: str, work: Work) -> Job:
        if self._closed:
            raise _stopping()
        if self.states()["waiting"] >= self._limits.queue:
            raise Refusal(
                503,
                "busy",
                f"{self._limits.queue} requests wait already, and no more may; try again in "
                f"{_TRY_AGAIN} seconds",
                {"retry-after": str(_TRY_AGAIN)},
            )
        job = Job(key, model, work)
        self._by_key[key] = job
        self._all.add(job)
        job.task = asyncio.create_task(self._run(job))
        # Of a job that nobody waits for, nobody asks how it ended, which asyncio would complain of.
        job.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return job

    async def _run(self, job: Job) -> bytes:
        loop = asyncio.get_running_loop()

        def report(progress: Progress) -> None:  # called in the thread that works
            if job.stopped.is_set():
                raise Stopped
            _ = loop.call_soon_threadsafe(job.move, progress)

        def work() -> bytes:
            try:
                return job.work(report)
            except Stopped:
                # What is no Exception would end the event loop if it came out of a task.
                raise _stopping() from None

        try:
            async with self._turns.setdefault(job.model, asyncio.Lock()), self._slots:
                job.move(Progress("working"))
                content = await loop.run_in_executor(self._threads, work)
        finally:
            self._forget(job)
            self._all.discard(job)
        self.counts["worked_out"] += 1
        self._cache.keep(job.key, content)
        return content

    def _stop(self, job: Job) -> None:
        self._forget(job)
        job.stopped.set()
        # A thread cannot be ended from outside: it ends by itself, at its next step.
        if job.task is not None and job.progress.state == "waiting":
            _ = job.task.cancel()

    def _forget(self, job: Job) -> None:
        if self._by_key.get(job.key) is job:
            del self._by_key[job.key]


async def steps(
    job: Job, gone: "asyncio.Task[None]", deadline: float, limits: Limits
) -> AsyncGenerator[Progress]:
    """How far a job is, each time it moves, until it is done.

    `gone` ends when the client does: then it is ClientGone. At the deadline, in the time of the
    event loop, it is a Refusal.
    """
    loop = asyncio.get_running_loop()
    task = job.task
    assert task is not None  # noqa: S101 - begun jobs have one
    while not task.done():
        event = job.moved  # before the yield: what moves meanwhile is not missed
        yield job.progress
        moved = asyncio.create_task(event.wait())
        try:
            _ = await asyncio.wait(
                {task, gone, moved},
                timeout=max(0.0, deadline - loop.time()),
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            _ = moved.cancel()
        if gone.done():
            raise ClientGone
        if loop.time() >= deadline and not task.done():
            raise Refusal(
                504,
                "too_slow",
                f"the answer took more than the {limits.seconds:g} seconds that are allowed; send "
                "a shorter text, or raise --max-seconds where the app is started",
            )


def result(job: Job) -> bytes:
    """What a finished job gave; what it raised is raised."""
    assert job.task is not None  # noqa: S101 - begun jobs have one
    if job.task.cancelled():
        raise _stopping()
    return job.task.result()


def _stopping() -> Refusal:
    return Refusal(503, "stopping", "the app is being stopped; start it again, then try again")
