"""Which solver the tests of this folder use."""

from typing import NoReturn

import pytest

from attnflow.maxflow import _choice, _pair, _threads, load_kernels


@pytest.fixture(scope="session", autouse=True)
def kernels() -> None:
    """Flows are solved by the kernels, however small they are, unless a test says otherwise."""
    load_kernels(1)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flows are solved in plain Python, however large they are."""

    def fail(_nodes: int) -> NoReturn:
        raise AssertionError("the kernels are used")

    monkeypatch.setattr(_choice, "_loaded", set[bool]())
    monkeypatch.setattr(_choice, "_most_work", lambda: 2**60)
    monkeypatch.setattr(_threads, "load_kernels", fail)
    monkeypatch.setattr(_pair, "load_kernels", fail)
