"""The embeddings of what a model reads, caught on their way in and changed there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from attnflow.errors import UnsupportedModelError
from attnflow.importance._passes import Answer, answer_of

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from torch import Tensor, nn

    from attnflow.importance._example import Example

# From embeddings (row, position, width) to what the model goes on with.
Change: TypeAlias = "Callable[[Tensor], Tensor]"


def answer_through(
    model: nn.Module,
    fields: Mapping[str, Any],
    examples: Sequence[Example],
    change: Change,
) -> Answer:
    """What the model answers after `change` of the embeddings that it looks up for its ids.

    Embeddings that came ready are changed as well. What the model adds to them, such as the
    embeddings of positions, comes after it.
    """
    main = examples[0].main
    read: Tensor = fields[main]
    if read.is_floating_point():
        return answer_of(model, {**fields, main: change(read)}, examples)
    with _changing(model, read, change) as changed:
        answer = answer_of(model, fields, examples)
    if not changed:
        raise UnsupportedModelError(
            f"{type(model).__name__} read {main or 'the ids'} without an nn.Embedding that looks "
            "them up as they are, so its embeddings are not found; pass embeddings instead"
        )
    return answer


@contextlib.contextmanager
def _changing(model: nn.Module, ids: Tensor, change: Change) -> Generator[list[bool]]:
    """Hooks on every table that may look up the ids; the first one that does is changed."""
    changed: list[bool] = []

    def hook(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any], output: Any) -> Any:
        read = next(iter((*given, *named.values())), None)
        if changed or not _same(read, ids):
            return None  # the output stays as it is
        changed.append(True)
        return change(output)

    handles = [table.register_forward_hook(hook, with_kwargs=True) for table in _tables(model)]
    try:
        yield changed
    finally:
        for handle in handles:
            handle.remove()


def _tables(model: nn.Module) -> list[nn.Module]:
    """Modules that may look up the embeddings of tokens.

    Those that the model itself names, and all that share its weights: an encoder and a decoder may
    each have a module of their own for one table. Of a module that names none, all there are.
    """
    from torch import nn

    own = None
    with contextlib.suppress(NotImplementedError):  # some models do not say
        own = getattr(model, "get_input_embeddings", lambda: None)()
    tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
    if own is None:
        return [*tables]
    weight = getattr(own, "weight", None)
    return [own, *(table for table in tables if table is not own and table.weight is weight)]


def _same(read: Any, ids: Tensor) -> bool:
    import torch

    if not isinstance(read, torch.Tensor) or read.shape != ids.shape:
        return False
    return torch.equal(read.to(ids.device), ids)
