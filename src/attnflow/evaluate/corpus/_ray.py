"""The engine that measures parts on a Ray cluster, in workers with a model each.

Ray starts workers and carries texts and values; reading, committing and resuming stay in the run.
"""

from __future__ import annotations

import itertools
import logging
import os
import socket
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from attnflow._internal.checks import Progress, as_float, as_int
from attnflow.errors import AttnflowError, InputError
from attnflow.evaluate._texts import LabelledText
from attnflow.evaluate.corpus._data import Part
from attnflow.evaluate.corpus._engine import Engine, Result
from attnflow.evaluate.corpus._worker import PartValues, Worker, WorkerFacts

_QUEUED = 2  # parts of a worker: one that it measures, and the next, so that it never waits
# Workers that may die with one part, or one after the other without measuring anything. Chosen: one
# or two may be an accident, such as a machine that goes away.
_DEATHS = 4
_PATIENCE = 3600  # seconds without any worker. Chosen: longer than it takes to load a large model
_REACHABLE = 5  # seconds for a connection. Chosen: long for a network of machines
# Seconds until a cluster says that it is one. Chosen: it takes two; Ray itself waits for minutes.
_ANSWER = 20
_LONGEST = 500  # characters of an error of Ray, which may hold a traceback. Chosen
_USAGE_STATS = "RAY_USAGE_STATS_ENABLED"


@contextmanager
def ray_engine(
    worker: Worker, *, address: str | None, workers: int | None, gpus: float
) -> Generator[Engine]:
    """Connect to a cluster, or start one on this machine, and yield the engine."""
    import ray

    if workers is not None:
        workers = as_int(workers, "workers", least=1)
    gpus = as_float(gpus, "gpus", "[0, inf)")
    ours = not ray.is_initialized()
    if ours:
        _connect(address)
    elif address is not None:
        raise InputError(
            f"address must be left out where this process is connected to Ray, got {address!r}"
        )
    # CPUs are what Ray counts with; what a worker uses are the threads of torch and of flow.
    engine = _RayEngine(worker, worker.threads or 1, gpus)
    try:
        engine.count = _worker_count(engine.cpus, gpus, workers)
        yield engine
    finally:
        engine.stop()
        if ours:
            ray.shutdown()


@dataclass(slots=True)
class _RayEngine:
    """A pool of actors. One that dies is replaced, and its parts go to any other one.

    With `max_restarts` of Ray instead, the parts of a dead actor would wait for it until there is a
    place to restart it, while other actors have nothing to do.
    """

    worker: Worker  # not started; every actor starts its own copy
    cpus: int  # of each actor
    gpus: float
    count: int = 1  # of actors
    facts: WorkerFacts | None = None
    starting: dict[Any, Any] = field(default_factory=dict)  # result of `start` → actor
    ready: list[Any] = field(default_factory=list)  # actors that have started
    running: dict[Any, tuple[Any, Part]] = field(default_factory=dict)  # result → actor and part
    failed_starts: int = 0  # one after the other
    last_error: str = ""  # of a worker that died, as Ray describes it

    def start(self) -> WorkerFacts:
        """Start the workers, and return the facts of the first that is ready."""
        for _ in range(self.count):
            self._add_actor()
        while self.facts is None:
            self._take_started(self._next_done())
        return self.facts

    def results(self, parts: Iterator[Part], progress: Progress) -> Iterator[Result]:  # noqa: ARG002
        """Yield the values of all parts as they are measured."""
        deaths: Counter[int] = Counter()  # of workers, by the number of the part that they had
        queue: deque[Part] = deque()
        while True:
            while True:
                if not queue:
                    queue.extend(itertools.islice(parts, 1))
                actor = self._least_busy()
                if not queue or actor is None:
                    break
                part = queue.popleft()
                self.running[actor.measure.remote(part.texts)] = (actor, part)
            if not queue and not self.running:
                return
            done = self._next_done()
            if done in self.starting:
                self._take_started(done)
                continue
            actor, part = self.running[done]
            found = self._get(done)
            if found is not None:
                del self.running[done]
                yield part, found
                continue
            lost = self._replace(actor)
            queue.extendleft(reversed(lost))
            part = lost[0]  # the one that it was measuring
            deaths[part.number] += 1
            if deaths[part.number] == _DEATHS:
                raise InputError(
                    f"{_DEATHS} workers of Ray died with texts {part.first} to "
                    f"{part.first + len(part.texts) - 1}, the last one so: {self.last_error}. If "
                    "memory ran out, use fewer workers. The same command resumes the run"
                )

    def stop(self) -> None:
        """End all workers."""
        for actor in [*self.starting.values(), *self.ready]:
            _kill(actor)

    def _least_busy(self) -> Any:
        """Return the worker with the fewest parts; None if all have enough."""
        busy = Counter(id(actor) for actor, _ in self.running.values())
        actor = min(self.ready, key=lambda actor: busy[id(actor)], default=None)
        return None if busy[id(actor)] >= _QUEUED else actor

    def _next_done(self) -> Any:
        """Wait for a worker that has started, or for a part that is measured or lost."""
        import ray

        # A worker that is ready may take as long as it takes.
        patience = None if self.running else _PATIENCE
        done, _ = ray.wait([*self.starting, *self.running], num_returns=1, timeout=patience)
        if not done:
            raise InputError(
                f"no worker of Ray could be started in {_PATIENCE} seconds. Check the resources of "
                "the cluster with ray status. The same command resumes the run"
            )
        return done[0]

    def _take_started(self, result: Any) -> None:
        actor = self.starting.pop(result)
        facts: WorkerFacts | None = self._get(result)
        if facts is None:
            self.failed_starts += 1
            if self.failed_starts == _DEATHS:
                raise InputError(
                    f"{_DEATHS} workers of Ray died before they had loaded the model, the last one "
                    f"so: {self.last_error}. Check that all machines have the same packages; if "
                    "memory ran out, use fewer workers"
                )
            self._add_actor()
            return
        if self.facts not in (None, facts):
            raise InputError(
                f"the workers of Ray differ: one has {self.facts}, another {facts}. Use the same "
                "model and the same versions of packages on all machines"
            )
        self.facts, self.failed_starts = facts, 0
        self.ready.append(actor)

    def _get(self, result: Any) -> Any:
        """Return a result; None if it is lost, with its worker or its machine."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        try:
            return ray.get(result)
        except RayTaskError as error:
            if isinstance(error.cause, AttnflowError):
                raise type(error.cause)(str(error.cause)) from error
            raise
        except RayError as error:
            self.last_error = " ".join(str(error).split())[:_LONGEST]
            return None

    def _replace(self, actor: Any) -> list[Part]:
        """Start a worker in the place of one that died, and return the parts that it had."""
        self.ready.remove(actor)
        _kill(actor)  # it may be alive, but out of reach
        self._add_actor()
        own = [result for result, (owner, _) in self.running.items() if owner is actor]
        return [self.running.pop(result)[1] for result in own]

    def _add_actor(self) -> None:
        import ray

        remote: Any = ray.remote(num_cpus=self.cpus, num_gpus=self.gpus)(_Actor)
        actor = remote.remote(self.worker)
        self.starting[actor.start.remote()] = actor


class _Actor:
    """A worker in a process of Ray."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def start(self) -> WorkerFacts:
        return self._worker.start()

    def measure(self, texts: Sequence[LabelledText]) -> PartValues:
        return self._worker.measure(texts)


def _kill(actor: Any) -> None:
    import ray

    with suppress(Exception):  # it may be dead, or the cluster
        ray.kill(actor)


def _worker_count(threads: int, gpus: float, workers: int | None) -> int:
    """Return how many workers to start: by default, as many as CPUs and GPUs allow."""
    import ray

    resources = ray.cluster_resources()
    cpus, all_gpus = int(resources.get("CPU", 0)), float(resources.get("GPU", 0))
    most = cpus // threads
    if gpus and all_gpus < gpus * (workers or 1):
        raise InputError(
            f"gpus: the Ray cluster has {all_gpus:g} GPUs, got {workers or 1} workers with "
            f"{gpus:g} each"
        )
    if not most or (workers is not None and workers > most):
        raise InputError(
            f"workers: the Ray cluster has {cpus} CPUs, enough for {most} workers with {threads} "
            f"each (threads), got {workers or 1}"
        )
    if workers is None and gpus:
        most = min(most, int(all_gpus / gpus))
    return workers or most


def _connect(address: str | None) -> None:
    """Connect to the cluster at `address`, that of this machine, or a new one on it."""
    import ray

    address = address or os.environ.get("RAY_ADDRESS")
    if address not in (None, "auto", "local"):
        _check_reachable(address)
    before = os.environ.get(_USAGE_STATS)
    _ = os.environ.setdefault(_USAGE_STATS, "0")  # a cluster that attnflow starts sends nothing
    try:
        _ = ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        detail = " ".join(str(error).split())
        raise InputError(
            f"address: cannot connect to Ray at {address or 'this machine'}: {detail}"
        ) from error
    finally:
        if before is None:
            _ = os.environ.pop(_USAGE_STATS)


def _check_reachable(address: str) -> None:
    """Raise an InputError in seconds where there is no cluster; Ray itself tries for minutes."""
    parsed = urlsplit(address if "://" in address else f"//{address}")
    try:
        host, port = parsed.hostname, parsed.port
    except ValueError:
        host = port = None
    if host is None or port is None:
        raise InputError(f"address: expected HOST:PORT of a Ray cluster, got {address!r}")
    try:
        socket.create_connection((host, port), timeout=_REACHABLE).close()
    except OSError as error:
        raise InputError(
            f"address: no Ray cluster can be reached at {address}: {error}. Check the address and "
            "that ray start was run there"
        ) from error
    if parsed.scheme:  # a Ray client, which has limits of its own
        return
    check = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        _ = subprocess.run(check, check=True, capture_output=True, timeout=_ANSWER)  # noqa: S603
    except subprocess.SubprocessError as error:
        raise InputError(
            f"address: {address} answers, but not as a Ray cluster. Check the port: that of the "
            "cluster is 6379 unless ray start was given another"
        ) from error
