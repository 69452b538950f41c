"""`attnflow serve`: the interactive page as a local web app."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from attnflow.cli._loading import (
    SHIPPED,
    explain_memory_errors,
    explain_missing_head,
    loaded_model,
    loading,
)
from attnflow.cli._model_options import AllowPickle, Device, RemoteCode
from attnflow.cli._options import wrong
from attnflow.errors import InputError
from attnflow.importance import predict
from attnflow.models import Loaded
from attnflow.view.app import Limits, bind_socket, is_loopback, require_packages, serve

_DEFAULT = Limits()


def _limit(about: str, metavar: str = "N", lowest: int = 1) -> Any:
    return typer.Option(min=lowest, metavar=metavar, help=about)


def serve_command(
    model: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help="Folder or GGUF file of a Hugging Face classifier or language model, or the id of "
            "one on the hub; NAME=MODEL has it shown as NAME.  [default: verb-number, the paper's "
            "model, which comes with attnflow]",
        ),
    ] = None,
    *,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; by default only this machine has access."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="0 takes any that is free.")
    ] = 8765,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Show the app in the browser.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Another name that the app is reached by; may be given several times.",
        ),
    ] = None,
    max_characters: Annotated[int, _limit("Characters of a text.")] = _DEFAULT.characters,
    max_tokens: Annotated[int, _limit("Tokens of a text.")] = _DEFAULT.tokens,
    max_body: Annotated[int, _limit("Bytes of a request.", "BYTES")] = _DEFAULT.body,
    max_work: Annotated[int, _limit("Requests worked on at a time.")] = _DEFAULT.work,
    max_queue: Annotated[int, _limit("Requests that may wait.")] = _DEFAULT.queue,
    max_seconds: Annotated[float, _limit("Seconds to answer a request.", "S")] = _DEFAULT.seconds,
    max_cache: Annotated[int, _limit("Bytes of kept results.", "BYTES", 0)] = _DEFAULT.cache,
    allow_pickle: AllowPickle = False,
    remote_code: RemoteCode = False,
    device: Device = None,
) -> None:
    """Explain texts in the browser: the interactive page as a local web app.

    Type a sentence, choose one of the models, look, and share the link. Other programs can use the
    app too: the address /docs of the app describes its HTTP API. Ctrl-C stops it.
    """
    limits = Limits(
        characters=max_characters,
        body=max_body,
        tokens=max_tokens,
        work=max_work,
        queue=max_queue,
        seconds=max_seconds,
        cache=max_cache,
    )
    named = _named(model or [SHIPPED])
    require_packages()
    bind_socket(host, port).close()  # tried before models are loaded, which may take minutes
    load_settings = {"allow_pickle": allow_pickle, "remote_code": remote_code, "device": device}
    models = {name: _loaded(source, load_settings) for name, source in named.items()}
    if not is_loopback(host):
        typer.echo(
            f"warning: other machines can reach {host}, and the app has no authentication: "
            "whoever reaches it may use it",
            err=True,
        )
    serve(
        models,
        host=host,
        port=port,
        limits=limits,
        hosts=allow_host or (),
        open_browser=open_browser,
        on_ready=lambda address: typer.echo(f"attnflow is at {address} (Ctrl-C stops it)"),
    )


def _named(given: list[str]) -> dict[str, str]:
    """Return the folder or id by name, of arguments such as "folder" and "name=folder"."""
    named: dict[str, str] = {}
    for each in given:
        name, equals, source = each.partition("=")
        if not equals or Path(each).exists():
            # Users of the app see only the last part of a path. Links are not resolved.
            end = os.path.basename(os.path.abspath(each))  # noqa: PTH100, PTH119
            name, source = end if Path(each).is_dir() else each, each
        if not name or not source:
            raise wrong("MODEL", f"expected a folder or id, or NAME=MODEL, got {each!r}")
        if name in named:
            raise wrong("MODEL", f"two models have the name {name!r}. Pass one as NAME=MODEL")
        named[name] = source
    return named


def _loaded(source: str, settings: dict[str, Any]) -> Loaded:
    shipped = source == SHIPPED and not Path(source).is_dir()
    name = None if shipped else source
    with (
        loading(f"loading {source}", name),
        explain_memory_errors("a smaller model"),
        explain_missing_head(),
    ):
        loaded = loaded_model(name, settings)
        # Every request needs a prediction. An InputError is about this text, such as a missing
        # mask token, and not about the model.
        with suppress(InputError):
            _ = predict(loaded.model, loaded.tokenizer, "a")
        return loaded
