"""`create_app`: the pieces put together as a FastAPI application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from attnflow._internal import optional
from attnflow.errors import InputError
from attnflow.models import Loaded
from attnflow.view.app._guard import LOOPBACK
from attnflow.view.app._limits import Limits

if TYPE_CHECKING:
    from fastapi import FastAPI


def create_app(
    models: Mapping[str, Loaded],
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    hosts: Sequence[str] = LOOPBACK,
) -> FastAPI:
    """The interactive page as a web application, with the HTTP API that it uses.

    Parameters
    ----------
    models
        Name → model. Requests choose by these names; the first is the default.
    limits
        How much requests may take.
    hosts
        Names and addresses that the app is reached by; a request for another one is refused, since
        a page of another site may have given its own name our address. "0.0.0.0" or "::" among them
        stands for every address, and for no name.

    Notes
    -----
    There is no authentication: whoever reaches the app may use it. Work under way is stopped by
    `app.state.answers.jobs.close()`, which the end of the application calls. Needs `pip install
    "attnflow[serve]"`.

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
            f"models is {models!r}; give at least one, by name: {{'verb-number': paper.load()}}"
        )
    for name, loaded in models.items():
        if not isinstance(cast("object", loaded), Loaded) or loaded.tokenizer is None:
            raise InputError(
                f"model {name!r} is {loaded!r}; wanted is what paper.load or models.load give, "
                "with a tokenizer"
            )
    from attnflow.view.app._application import application  # noqa: PLC0415 - it loads FastAPI

    return application(models, limits, hosts)


def require_packages() -> None:
    """Say what to install where FastAPI or uvicorn is missing; nothing is loaded."""
    optional.require("fastapi", "uvicorn", need="the local app needs", extra="serve")
