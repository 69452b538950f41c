"""A model: what is known about it, and contexts to run it in.

What a pass changes is locked, and restored after it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from attnflow._internal.optional import require
from attnflow.errors import AttnflowError, InputError, UnsupportedModelError
from attnflow.models._families import FAMILIES, Family

if TYPE_CHECKING:
    from torch import nn

# A walk over all parameters takes as long as a layer of a small model.
_WEIGHT_COUNTS: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()


def checked_model(model: nn.Module) -> nn.Module:
    """Return the module that was passed to torch.compile, or the model itself.

    Raises MissingDependencyError if torch is not installed, and rejects models without hooks or
    weights.
    """
    if "torch" not in sys.modules:  # it is for every model
        require("torch", need="models need", extra="models")
    import torch

    model = getattr(model, "_orig_mod", model)
    if not isinstance(cast("object", model), torch.nn.Module):
        raise InputError(
            f"model: expected a torch module, such as attnflow.models.load(folder).model, got "
            f"{type(model).__name__}"
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise UnsupportedModelError(
            f"TorchScript ({type(model).__name__}) is not supported, since it calls no hooks. Pass "
            "the original module"
        )
    if any(parameter.is_meta for parameter in model.parameters()):
        raise InputError(
            f"{type(model).__name__} has parameters on the meta device, which have no values. Load "
            "the model onto a real device first"
        )
    return model


def is_pretrained(model: nn.Module) -> bool:
    """Return whether this is a Hugging Face model, without an import of transformers."""
    return any(kind.__module__ == "transformers.modeling_utils" for kind in type(model).__mro__)


def forward_parameters(model: nn.Module) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of the model's forward method by name."""
    forward: Any = model.forward
    return _parameters(getattr(forward, "__func__", forward))


# Cached: reading a signature takes 0.1 ms, and a pass needs it several times.
@functools.lru_cache(maxsize=64)
def _parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def accepts(model: nn.Module, name: str) -> bool:
    """Return whether the model's forward method takes an argument with this name."""
    parameters = forward_parameters(model)
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def has_decoder(model: nn.Module) -> bool:
    """Return whether the model is an encoder-decoder."""
    return "decoder_input_ids" in forward_parameters(model)


def check_parts(model: nn.Module, fields: Collection[str]) -> None:
    """Reject models with a text and a vision encoder, and text and image together."""
    parts = getattr(getattr(model, "config", None), "sub_configs", {})
    both = len(parts) > 1 and "input_ids" in fields and "pixel_values" in fields
    towers = hasattr(model, "text_model") and hasattr(model, "vision_model")
    if towers and (both or hasattr(model, "logit_scale")):  # as CLIP
        raise InputError(
            f"{type(model).__name__} has separate models for text and images. Pass one of them, as "
            "in attend(model.text_model, tokenizer, text) or "
            "attend(model.vision_model, None, pixel_values)"
        )
    if both:
        raise InputError(
            f"{type(model).__name__} got input_ids and pixel_values; text and image in one "
            "sequence are not supported. Pass the text alone, without image tokens"
        )


def check_vocabulary(model: nn.Module, ids: Sequence[int], name: str = "token ids") -> None:
    """Reject token ids outside the model's embedding table."""
    embedding = getattr(model, "get_input_embeddings", lambda: None)
    try:
        count = getattr(embedding(), "num_embeddings", None)
    except NotImplementedError:
        return
    if count is None:
        return
    unknown = [i for i in ids if not 0 <= i < count]
    if unknown:
        advice = ". Use the model's own tokenizer" if name == "token ids" else ""
        raise InputError(
            f"{name}: expected 0 to {count - 1} for {type(model).__name__}, "
            f"got {unknown[0]}{advice}"
        )


def without_cache(model: nn.Module, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs with use_cache=False, if the model has a cache."""
    if "use_cache" in forward_parameters(model):
        return {"use_cache": False, **fields}
    return fields


def family_of(model: object) -> Family:
    """Return the properties of a model's family; the defaults if it has no entry."""
    config = getattr(model, "config", None)
    return FAMILIES.get(getattr(config, "model_type", ""), Family())


def layer_count(model: object) -> int | None:
    """Return the number of layers in the config of a model; None if unknown."""
    layers = getattr(getattr(model, "config", None), "num_hidden_layers", None)
    return layers if isinstance(layers, int) and layers > 0 else None


def token_limit(model: object) -> int | None:
    """Return how many tokens a model takes at most; None if unlimited or unknown.

    Examples
    --------
    >>> from attnflow import models, paper
    >>> models.token_limit(paper.load().model)
    64
    """
    config, family = getattr(model, "config", None), family_of(model)
    limit = getattr(config, "max_position_embeddings", None)
    if family.any_length or not isinstance(limit, int) or limit < 1:
        return None
    if family.counts_after_padding:
        limit -= (getattr(config, "pad_token_id", None) or 0) + 1
    return limit


def device_of(model: nn.Module) -> Any:
    """Return the device of the model's first parameter, which is that of its input."""
    import torch

    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def dtype_of(model: nn.Module) -> Any:
    """Return the dtype of the model's first floating-point parameter."""
    import torch

    types = (parameter.dtype for parameter in model.parameters())
    return next((dtype for dtype in types if dtype.is_floating_point), torch.float32)


def weight_count(model: nn.Module) -> int:
    """Return the number of weights of a model, counted when it is first asked for."""
    count = _WEIGHT_COUNTS.get(model)
    if count is None:
        count = sum(parameter.numel() for parameter in model.parameters())
        _WEIGHT_COUNTS[model] = count
    return count


def inner_tokenizer(tokenizer: Any) -> Any:
    """Return the tokenizer, or that of a processor."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    if isinstance(inner, type) or not hasattr(inner, "convert_ids_to_tokens"):
        raise InputError(
            "tokenizer: expected one of transformers, such as attnflow.models.load(folder)"
            f".tokenizer, got {type(tokenizer).__name__}. Wrap one of the package tokenizers in "
            "PreTrainedTokenizerFast(tokenizer_object=…)"
        )
    return inner


def configs_of(modules: Iterable[nn.Module]) -> list[Any]:
    """Return every config in which a module may look up its attention implementation."""
    found: dict[int, Any] = {}

    def add(config: object) -> None:
        if hasattr(config, "_attn_implementation_internal") and id(config) not in found:
            found[id(config)] = config
            for part in cast("Any", config).sub_configs:
                add(getattr(config, part, None))

    for module in modules:
        if "config" in vars(module):  # getattr takes ten times as long
            add(module.config)
    return list(found.values())


# A pass changes modules and configs and restores them, so threads run passes that share any of them
# one after the other: the thread that uses a module or a config, by its id.
_users: dict[int, int] = {}
_released = threading.Condition()


@contextlib.contextmanager
def evaluation_mode(model: nn.Module) -> Generator[None]:
    """Lock the model for this thread and set evaluation mode; restores the mode of each module.

    Locks its modules and configs, all at once, so that passes cannot wait for each other: models
    may share a config or submodules, and one may be a submodule of the other.
    """
    modules = list(model.modules())
    parts = {id(part) for part in (*modules, *configs_of(modules))}
    thread = threading.get_ident()
    with _released:
        _ = _released.wait_for(lambda: {_users.get(part, thread) for part in parts} <= {thread})
        parts.difference_update(_users)  # this thread already uses the others
        _users.update(dict.fromkeys(parts, thread))
    training = [module for module in modules if module.training]
    try:
        for module in training:
            module.training = False
        yield
    finally:
        for module in training:
            module.training = True
        with _released:
            for part in parts:
                del _users[part]
            _released.notify_all()


class SharedContext:
    """A context that changes the whole process: the first thread enters it, the last leaves it."""

    def __init__(self, enter: Callable[[], contextlib.AbstractContextManager[object]]) -> None:
        self._enter, self._entered = enter, contextlib.ExitStack()
        self._lock, self._users = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                _ = self._entered.enter_context(self._enter())
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._entered.close()


@contextlib.contextmanager
def explain_failure(what: str, advice: str) -> Generator[None]:
    """Raise InputError for the errors that PyTorch and models raise for wrong input.

    Other errors, and those about memory, are raised unchanged.
    """
    try:
        yield
    except AttnflowError:
        raise
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as reason:
        if "memory" in str(reason):
            raise
        raise InputError(
            f"{what}: {type(reason).__name__}: {' '.join(str(reason).split()).rstrip('.')}; "
            f"{advice} for the traceback"
        ) from reason


def force_eager() -> contextlib.AbstractContextManager[None]:
    """Return a context in which compiled code runs eagerly, since it calls no hooks."""
    if "torch._dynamo" not in sys.modules:  # nothing is compiled, and importing it takes seconds
        return contextlib.nullcontext()
    return _EAGER


def _eager_stance() -> contextlib.AbstractContextManager[object]:
    import torch

    return torch.compiler.set_stance("force_eager")


_EAGER = SharedContext(_eager_stance)
