"""Small models are modules beside the tests, and beside those of `attnflow.models`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models")]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Models of sixteen numbers a position: threads would only wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
