"""The interactive page as a local web app, and an HTTP API that other programs can call."""

from attnflow.view.app._create import create_app
from attnflow.view.app._limits import Limits
from attnflow.view.app._serve import serve

__all__ = ["Limits", "create_app", "serve"]
