"""The interactive page as a local web app, and an HTTP API that other programs can call."""

from attnflow.view.app._create import create_app, require_packages
from attnflow.view.app._limits import Limits
from attnflow.view.app._serve import bind_socket, is_loopback, serve

__all__ = ["Limits", "bind_socket", "create_app", "is_loopback", "require_packages", "serve"]
