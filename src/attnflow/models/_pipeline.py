"""A pipeline of transformers, or a `Loaded`, in place of a model and its tokenizer."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload

from attnflow.models._model import checked_model
from attnflow.models.loading import Loaded

if TYPE_CHECKING:
    import transformers
    from torch import nn

P = ParamSpec("P")
T_co = TypeVar("T_co", covariant=True)
WithTokenizer: TypeAlias = "transformers.Pipeline | Loaded"

# What a pipeline reads its input with, the most complete first.
_READERS = ("processor", "tokenizer", "image_processor", "feature_extractor")


def model_and_tokenizer(model: Any, tokenizer: Any) -> tuple[nn.Module, Any]:
    """Return the checked model and the tokenizer or processor; a pipeline or `Loaded` has both.

    A tokenizer that is passed with it is used instead of its own.
    """
    if has_tokenizer(model):
        own = (getattr(model, name, None) for name in _READERS)
        if tokenizer is None:
            tokenizer = next((reader for reader in own if reader is not None), None)
        model = model.model
    return checked_model(model), tokenizer


class TakesPipeline(Protocol[P, T_co]):
    """A function of (model, tokenizer, text, …) that a pipeline and a text may be passed to."""

    @overload
    def __call__(self, *args: P.args, **settings: P.kwargs) -> T_co: ...
    @overload
    def __call__(self, model: WithTokenizer, *args: Any, **settings: Any) -> T_co: ...


def takes_pipeline(function: Callable[P, T_co]) -> TakesPipeline[P, T_co]:
    """Let a function of (model, tokenizer, text, …) be called with (pipeline, text, …).

    The function gets the pipeline's model and tokenizer, or those of a `Loaded`. A tokenizer or
    None after it is taken for one: a tokenizer is callable, a text is not.
    """

    @functools.wraps(function)
    def call(*args: Any, **settings: Any) -> T_co:
        pipeline, *others = args or (settings.get("model"),)
        if has_tokenizer(pipeline):
            if not args:
                del settings["model"]
            # None alone is the text, so that it is the error of a wrong text.
            text_follows = len(others) > 1 or "text" in settings
            if others and (callable(others[0]) or (others[0] is None and text_follows)):
                tokenizer = others.pop(0)
            else:
                tokenizer = settings.pop("tokenizer", None)
            args = (*model_and_tokenizer(pipeline, tokenizer), *others)
        return function(*args, **settings)

    return cast("TakesPipeline[P, T_co]", call)


def has_tokenizer(model: object) -> bool:
    """Whether this is a pipeline, without an import of transformers, or a `Loaded`."""
    return isinstance(model, Loaded) or any(
        kind.__name__ == "Pipeline" and kind.__module__.startswith("transformers.")
        for kind in type(model).__mro__
    )
