"""The embeddings that a model looks up: hooks that replace them, and gradients by them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from attnflow.errors import NoGradientError, UnsupportedModelError
from attnflow.models.scoring import recordable

if TYPE_CHECKING:
    from torch import Tensor, nn

# From the embeddings (row, position, width) that a model looks up to those that it goes on with.
Change: TypeAlias = "Callable[[Tensor], Tensor]"
# Rows of a table that are looked up at once for its mean, to save memory. Chosen.
_ROWS = 8192


@contextlib.contextmanager
def changed_embeddings(
    model: nn.Module, fields: Mapping[str, Any], main: str, change: Change
) -> Generator[dict[str, Any]]:
    """Apply `change` to the embeddings of the ids `fields[main]` in the pass made inside.

    Yields the arguments for the pass. If `fields[main]` holds embeddings, these are changed.
    Embeddings that the model adds, such as those of positions, are added after the change.
    """
    fields = recordable(fields)
    ids: Tensor = fields[main]
    if ids.is_floating_point():
        yield {**fields, main: change(ids)}
        return
    with _changed(model, fields, main, lambda embeddings, _: change(embeddings)) as same:
        yield same


@contextlib.contextmanager
def mean_embeddings(
    model: nn.Module, fields: Mapping[str, Any], main: str, places: Sequence[tuple[int, int]]
) -> Generator[dict[str, Any]]:
    """Replace the embeddings at places (row, position) by the mean embedding of the vocabulary.

    Yields the arguments for the pass made inside. The mean is over all rows of the table that looks
    up the ids `fields[main]`, as the table gives them, since some scale their rows.
    """
    import torch

    def change(embeddings: Tensor, table: nn.Module) -> Tensor:
        if not places:
            return embeddings
        changed = embeddings.clone()
        rows = torch.tensor(places, device=embeddings.device)
        changed[rows[:, 0], rows[:, 1]] = _mean_of(table, embeddings.device).to(embeddings.dtype)
        return changed

    with _changed(model, fields, main, change) as same:
        yield same


@contextlib.contextmanager
def _changed(
    model: nn.Module,
    fields: Mapping[str, Any],
    main: str,
    change: Callable[[Tensor, nn.Module], Tensor],
) -> Generator[dict[str, Any]]:
    """Apply `change` to the embeddings of the ids `fields[main]`, with the table they are from."""
    ids: Tensor = fields[main]
    changed = False

    def hook(table: nn.Module, given: tuple[Any, ...], named: dict[str, Any], output: Any) -> Any:
        nonlocal changed
        read = next(iter((*given, *named.values())), None)
        if changed or not _same(read, ids):
            return None  # the output stays as it is
        changed = True  # only the first table that looks up the ids
        return change(output, table)

    tables = embedding_tables(model)
    handles = [table.register_forward_hook(hook, with_kwargs=True) for table in tables]
    try:
        yield {**fields}
    finally:
        for handle in handles:
            handle.remove()
    if not changed:
        raise UnsupportedModelError(
            f"{type(model).__name__} has no nn.Embedding that looks up {main or 'the ids'} as they "
            "are, so its embeddings are unknown; pass embeddings instead"
        )


def embedding_tables(model: nn.Module) -> list[nn.Module]:
    """Return the modules that may look up the embeddings of tokens.

    They are the model's input embeddings and all modules that share their weights, since an encoder
    and a decoder may each have a module for one table; or every nn.Embedding of a plain module.
    """
    from torch import nn

    own = None
    with contextlib.suppress(NotImplementedError):  # raised by models that do not implement it
        own = getattr(model, "get_input_embeddings", lambda: None)()
    tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
    if own is None:
        return [*tables]
    weight = getattr(own, "weight", None)
    return [own, *(table for table in tables if table is not own and table.weight is weight)]


def _mean_of(table: Any, device: Any) -> Tensor:
    """Return the mean (width) of the embeddings that a table gives for all of its ids."""
    import torch

    ids = torch.arange(len(table.weight), device=device)
    total = sum(table(part[None])[0].double().sum(dim=0) for part in ids.split(_ROWS))
    return cast("Tensor", total) / len(ids)


def _same(read: Any, ids: Tensor) -> bool:
    import torch

    if not isinstance(read, torch.Tensor) or read.shape != ids.shape:
        return False
    return torch.equal(read.to(ids.device), ids)


class Leaf:
    """A change that makes embeddings a leaf of autograd, to take a gradient by them.

    Without `points` the leaf holds the embeddings that the model looks up.
    """

    def __init__(self, points: Tensor | None = None) -> None:
        self._points = points
        self._leaf: Tensor | None = None

    def __call__(self, embeddings: Tensor) -> Tensor:
        points = embeddings if self._points is None else self._points
        self._leaf = points.detach().clone().requires_grad_()
        return self._leaf

    @property
    def embeddings(self) -> Tensor:
        """The embeddings of the pass, after it."""
        assert self._leaf is not None  # noqa: S101 (a pass that looks none up is an error before)
        return self._leaf


def gradient(model: nn.Module, scores: Tensor, leaf: Leaf) -> Tensor:
    """Return the derivatives (row, position, width) of each row's score by the row's embeddings.

    The `.grad` of the weights does not change.
    """
    import torch

    found = None
    if scores.requires_grad:
        (found,) = torch.autograd.grad(scores.sum(), leaf.embeddings, allow_unused=True)
    if found is None:
        raise NoGradientError(
            f"the output of {type(model).__name__} has no gradient with respect to its embeddings: "
            "it detaches them, is quantised or runs without gradients. Use blank_out"
        )
    return found.detach()
