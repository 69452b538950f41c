"""What the tests of the app share; what is no fixture stands in a module beside them."""

import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from fastapi.testclient import TestClient

import attnflow as af
from attnflow import paper
from attnflow.models import Loaded
from attnflow.types import random_attention
from attnflow.view.app import Limits, create_app

sys.path.insert(0, str(Path(__file__).parent))

from served_apps import Gated, Server, serving

Client: TypeAlias = Callable[..., TestClient]
Serving: TypeAlias = Callable[..., Server]


@pytest.fixture(scope="session", autouse=True)
def kernels() -> None:
    """Compile the kernels of flow: where they are not cached it takes longer than a page waits."""
    for threads in (1, 2):
        _ = af.flow(random_attention(4, 1, 8), threads=threads)


@pytest.fixture(scope="session")
def verb_number() -> Loaded:
    return paper.load()


@pytest.fixture
def client(verb_number: Loaded) -> Generator[Client]:
    """Make a client of an app in this process, with these limits; by default the shipped model."""
    opened: list[TestClient] = []

    def make(models: Mapping[str, Loaded] | None = None, **limits: Any) -> TestClient:
        app = create_app(models or {"verb-number": verb_number}, limits=Limits(**limits))
        made = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
        opened.append(made.__enter__())
        return made

    yield make
    for each in opened:
        each.__exit__(None, None, None)


@pytest.fixture
def served(verb_number: Loaded) -> Generator[Serving]:
    """Start an app behind a real server; by default with the shipped model."""
    with_open = []

    def start(
        models: Mapping[str, Loaded] | None = None,
        config: Mapping[str, Any] | None = None,
        **limits: Any,
    ) -> Server:
        known = models or {"verb-number": verb_number}
        opened = serving(known, Limits(**limits), **(config or {}))
        server = opened.__enter__()
        with_open.append(opened)
        return server

    yield start
    for each in with_open:
        _ = each.__exit__(None, None, None)


@pytest.fixture
def gated() -> Generator[Gated]:
    """A model of its own whose passes wait until the test opens the gate."""
    model = Gated(paper.load())
    yield model
    model.gate.set()  # so that no thread is left waiting
