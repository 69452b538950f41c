"""The local app under load: many clients on the loopback, the server in a process of its own."""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import report

from attnflow.paper import generate

CLIENTS, SECONDS = 50, 60.0  # as the project set its floor for
# Bytes of results that the app keeps. Chosen: full in the first seconds, so that memory that grows
# after them is a leak and not the cache.
_CACHE = 2_000_000
# One request in ten is about one of twenty sentences that everybody asks for. Chosen.
_POPULAR, _SHARE = 20, 0.1
# Requests of each client before the clock starts: code is loaded when first used, and memory that
# is needed for a moment is kept by the allocator.
_WARM = 8


@dataclass
class Load:
    """What the clients saw, and what the server held meanwhile."""

    seconds: list[float] = field(default_factory=list[float])  # of each request
    errors: list[str] = field(default_factory=list[str])
    held: dict[str, float] = field(default_factory=dict[str, float])  # moment → MB
    answers: dict[str, int] = field(default_factory=dict[str, int])  # how they came about


def is_possible() -> bool:
    """Whether the packages are there, and a system that tells how much another process holds."""
    return all(map(find_spec, ("fastapi", "uvicorn"))) and Path("/proc/self/status").exists()


def section(clients: int = CLIENTS, seconds: float = SECONDS) -> report.Section:
    """Latency, errors and memory."""
    with _server() as (process, address):
        load = asyncio.run(_load(address, process.pid, clients, seconds))
    if not load.seconds:
        raise RuntimeError(f"no request was answered: {load.errors[:3]}")
    p50, p95, p99 = np.percentile(load.seconds, [50, 95, 99])
    asked = sum(load.answers.values())
    answered = {name: f"{count / asked:.0%}" for name, count in load.answers.items()}
    rows = [
        ["requests", f"{len(load.seconds):,}"],
        ["a second", f"{len(load.seconds) / seconds:.0f}"],
        ["errors", f"{len(load.errors):,}"],
        ["p50", report.duration(p50)],
        ["p95", report.duration(p95)],
        ["p99", report.duration(p99)],
        ["answered from the cache", answered["cached"]],
        ["joined to an equal request", answered["shared"]],
        *([f"memory {moment}", f"{held:.0f} MB"] for moment, held in load.held.items()),
    ]
    text = (
        f"`attnflow serve` with the shipped model and a cache of {_CACHE / 1e6:.0f} MB, in a "
        f"process of its own; {clients} clients on the loopback for {seconds:.0f} s, each sending "
        "its next request when it has its answer, the page's data included. Sentences are "
        f"generated and differ, but one in {1 / _SHARE:.0f} is one of {_POPULAR}. Memory is what "
        f"the server's process holds; at the start each client has had {_WARM} answers. The "
        "clients run on the same cores."
    )
    first, *_, last = load.held.values()
    finding = report.Finding(
        f"the local app, {clients} clients for {seconds:.0f} s",
        f"{len(load.seconds) / seconds:.0f} a second, p95 {report.duration(p95)}, "
        f"{len(load.errors)} errors",
        f"memory {last - first:+.0f} MB of {first:.0f}",
        "on two cores 40 a second, p95 under 2 s; no error, memory flat",
    )
    table = report.table(["what", "measured"], rows)
    return report.Section("The local app under load", (text, table), (finding,))


@contextmanager
def _server() -> Generator[tuple[subprocess.Popen[str], str]]:
    """The program as users start it, and its address."""
    command = [Path(sys.executable).with_name("attnflow"), "serve", "--port", "0"]
    process = subprocess.Popen(
        [*map(str, command), "--max-cache", str(_CACHE)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        said = process.stdout.readline()  # "attnflow is at ADDRESS (Ctrl-C stops it)"
        if not said:
            raise RuntimeError("attnflow serve did not start")
        yield process, said.split()[3]
    finally:
        process.terminate()
        _ = process.communicate()


async def _load(address: str, server: int, clients: int, seconds: float) -> Load:
    load = Load()
    texts = _texts(seed=0)
    async with httpx2.AsyncClient(base_url=address, timeout=120, limits=_connections()) as client:
        async with asyncio.TaskGroup() as group:
            _ = [group.create_task(_warm(client, texts)) for _ in range(clients)]
        before = await _answers(client)
        end = time.perf_counter() + seconds
        load.held["at the start"] = _held_mb(server)

        async def ask_on() -> None:
            while time.perf_counter() < end:
                await _ask(client, next(texts), load)

        async with asyncio.TaskGroup() as group:
            _ = [group.create_task(ask_on()) for _ in range(clients)]
            for third in (1, 2):
                await asyncio.sleep(seconds / 3)
                load.held[f"after {third * seconds / 3:.0f} s"] = _held_mb(server)
        load.held["at the end"] = _held_mb(server)
        after = await _answers(client)
    load.answers = {name: after[name] - before[name] for name in after}
    return load


async def _warm(client: httpx2.AsyncClient, texts: Iterator[str]) -> None:
    for _ in range(_WARM):
        await _ask(client, next(texts), Load())


def _connections() -> httpx2.Limits:
    return httpx2.Limits(max_connections=None, max_keepalive_connections=None)


def _texts(seed: int) -> Iterator[str]:
    """Sentences without end."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    popular = [" ".join(prefix.words) for prefix in generate(_POPULAR, seed=seed)]
    while True:
        seed += 1
        for number, prefix in enumerate(generate(1000, seed=seed)):
            other = chance.random() < _SHARE
            # Few words make few sentences: a number that the model does not know tells them apart.
            yield chance.choice(popular) if other else f"{' '.join(prefix.words)} {seed}-{number}"


async def _ask(client: httpx2.AsyncClient, text: str, load: Load) -> None:
    start = time.perf_counter()
    try:
        answer = await client.post("/api/explain", json={"text": text, "page": True})
        _ = answer.raise_for_status()
        if answer.json()["text"] != text:
            load.errors.append("the answer to another text")
    except httpx2.HTTPError as error:
        load.errors.append(f"{type(error).__name__}: {error}")
    else:
        load.seconds.append(time.perf_counter() - start)


def _held_mb(process: int) -> float:
    for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the server is gone")


async def _answers(client: httpx2.AsyncClient) -> dict[str, int]:
    health: dict[str, Any] = (await client.get("/api/health")).json()
    return {name: health[name] for name in ("computed", "shared", "cached")}


if __name__ == "__main__":
    found = section()
    print("\n\n".join(found.blocks))
