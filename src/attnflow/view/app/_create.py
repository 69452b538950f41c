"""`create_app`: the interactive page as a FastAPI application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from attnflow._internal import optional
from attnflow.errors import InputError
from attnflow.models import Loaded
from attnflow.view.app._limits import Limits
from attnflow.view.app._security import LOOPBACK

if TYPE_CHECKING:
    from fastapi import FastAPI


def create_app(
    models: Mapping[str, Loaded],
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    hosts: Sequence[str] = LOOPBACK,
) -> FastAPI:
    """Return the interactive page as a web application, with its HTTP API.

    Parameters
    ----------
    models
        Name → model. Requests choose by name; the first is the default.
    limits
        Limits of requests.
    hosts
        Names and addresses of the app. A request with another Host header is rejected, because a
        page of another site may point its own name to our address (DNS rebinding). "0.0.0.0" or
        "::" allows every IP address, and no name.

    Notes
    -----
    There is no authentication: whoever reaches the app can use it. The shutdown of the application
    cancels running jobs. Needs the extra `serve`.

    Examples
    --------
    >>> from attnflow import paper
    >>> from attnflow.view.app import create_app
    >>> app = create_app({"verb-number": paper.load()})
    >>> sorted(app.openapi()["paths"])
    ['/api/explain', '/api/explain/stream', '/api/health', '/api/models']
    """
    require_packages()
    if not isinstance(cast("object", models), Mapping) or not models:
        raise InputError(
            f"models must be a mapping with at least one model, got {models!r}. Pass for example "
            "{'verb-number': paper.load()}"
        )
    for name, loaded in models.items():
        if not isinstance(cast("object", loaded), Loaded) or loaded.tokenizer is None:
            raise InputError(
                f"model {name!r}: expected a Loaded with a tokenizer, got {type(loaded).__name__}. "
                "Pass what paper.load or models.load return"
            )
    from attnflow.view.app._application import application  # noqa: PLC0415 - imports FastAPI

    return application(models, limits, hosts)


def require_packages() -> None:
    """Raise MissingDependencyError where FastAPI or uvicorn is missing; nothing is imported."""
    optional.require("fastapi", "uvicorn", need="the local app needs", extra="serve")
