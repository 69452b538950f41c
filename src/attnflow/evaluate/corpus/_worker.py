"""Worker: a loaded model that measures the texts of parts, in this process or in another one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import metadata
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attnflow._internal import checks
from attnflow._internal.settings import thaw_settings
from attnflow._internal.version import __version__
from attnflow.edges import BlockLayout
from attnflow.errors import InputError
from attnflow.evaluate._measure import measure
from attnflow.evaluate._plan import Cell, EvaluationPlan
from attnflow.evaluate._texts import LabelledText
from attnflow.evaluate._threads import thread_count
from attnflow.importance import predict
from attnflow.models import Loaded
from attnflow.models.inputs import device_of, inner_tokenizer

Load: TypeAlias = Callable[[], Loaded]

# Packages whose versions decide numbers.
_PACKAGES = ("numba", "numpy", "tokenizers", "torch", "transformers")
# Fields of a configuration that say where and by what it was written.
_PROVENANCE = ("_name_or_path", "transformers_version")


class WorkerFacts(NamedTuple):
    """What a worker's results depend on besides texts and plan. All workers of a run agree."""

    model: str  # digest of configuration, weights and tokenizer
    versions: dict[str, str]  # of packages
    threads: int  # of torch; another number may change the last bits
    device: str  # type of the model's device, such as "cpu": others round differently
    labels: tuple[str, ...] | None  # the classes; None if the model predicts tokens
    mask_token: str | None  # of the tokenizer
    layout: dict[str, Any] | None = None  # where blocks keep their parts, if it was given


class PartValues(NamedTuple):
    """The measured values of a part."""

    cells: tuple[Cell, ...]
    values: NDArray[np.float64]  # (text, cell); NaN if undefined or failed
    errors: tuple[str | None, ...]  # of each text
    n_tokens: NDArray[np.int32]  # of each text
    settings: dict[str, Any]  # that importance and metrics recorded


@dataclass(slots=True)
class Worker:
    """A model that is loaded by `start`, once in each process."""

    load: Load
    plan: EvaluationPlan
    threads: int | None
    layout: BlockLayout | None = None
    _loaded: Loaded | None = field(default=None, init=False)

    def start(self) -> WorkerFacts:
        """Load the model and return what results depend on."""
        loaded = self._loaded = self.load()
        if loaded.tokenizer is None:
            raise InputError(f"expected a model with a tokenizer, got {loaded}")
        versions = {name: metadata.version(name) for name in _PACKAGES}
        labels = _labels(loaded) if self.plan.target == "label" else None
        return WorkerFacts(
            _digest(loaded),
            {"attnflow": __version__, **versions},
            thread_count(loaded.model, self.threads),
            device_of(loaded.model).type,
            labels,
            getattr(inner_tokenizer(loaded.tokenizer), "mask_token", None),
            None if self.layout is None else asdict(self.layout),
        )

    def measure(
        self, texts: Sequence[LabelledText], progress: checks.Progress | None = None
    ) -> PartValues:
        """Return the values of the texts of a part."""
        if self._loaded is None:
            raise RuntimeError("expected a worker that has started")
        found = measure(
            self._loaded.model, self._loaded.tokenizer, texts, self.plan,
            layout=self.layout, threads=self.threads, progress=progress,
        )  # fmt: skip
        return PartValues(
            found.cells,
            found.values,
            tuple(text.error for text in found.texts),
            np.array([text.n_tokens for text in found.texts], dtype=np.int32),
            thaw_settings(found.settings),
        )


def _labels(loaded: Loaded) -> tuple[str, ...] | None:
    """Return the names of the classes of a classifier; None for other models."""
    with suppress(InputError):  # the text does not fit, such as one without a mask token
        prediction = predict(loaded.model, loaded.tokenizer, "a")
        return tuple(prediction.probabilities) if prediction.position is None else None
    return None


def _digest(loaded: Loaded) -> str:
    """Return a digest of the configuration, the weights and the tokenizer of a model."""
    import torch

    model, tokenizer = loaded.model, loaded.tokenizer
    config = {k: v for k, v in model.config.to_dict().items() if k not in _PROVENANCE}
    backend = getattr(tokenizer, "backend_tokenizer", None)
    words: object = sorted(tokenizer.get_vocab().items())
    if backend is not None:  # truncation and padding are those of the last call
        parsed: dict[str, Any] = json.loads(backend.to_str())
        words = {k: v for k, v in parsed.items() if k not in ("truncation", "padding")}
    found = hashlib.sha256()
    for content in (type(model).__name__, config, type(tokenizer).__name__, words):
        found.update(json.dumps(content, sort_keys=True, default=str).encode())
    for name, tensor in model.state_dict().items():
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        content = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        found.update(memoryview(content.numpy()))
    return found.hexdigest()
