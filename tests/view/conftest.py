"""What the tests of the page share: reading its document back."""

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray


def _decoded(array: dict[str, Any]) -> NDArray[np.float64]:
    """The numbers of an array of the document, the way the page's script reads them."""
    numbers = np.frombuffer(base64.b64decode(array["data"], validate=True), f"<{array['type']}")
    unit = array["scale"] / 65535 if array["type"] == "u2" else array["scale"]
    return numbers.reshape(array["shape"]).astype(np.float64) * unit


def _document(page: str) -> dict[str, Any]:
    (text,) = re.findall(
        r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, flags=re.DOTALL
    )
    return json.loads(text)


@pytest.fixture(scope="session")
def decoded() -> Callable[[dict[str, Any]], NDArray[np.float64]]:
    return _decoded


@pytest.fixture(scope="session")
def document_of() -> Callable[[str], dict[str, Any]]:
    """The document inside a page, found as a browser finds it: up to the first end of a script."""
    return _document
