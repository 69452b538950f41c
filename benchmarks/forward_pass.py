"""The forward pass of a model as large as BERT-base, for scale: what attention itself costs."""

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any


def is_possible() -> bool:
    """Whether the packages it needs are installed."""
    return all(importlib.util.find_spec(name) for name in ("torch", "transformers"))


def runs(n_tokens: int, n_threads: int) -> dict[str, Callable[[], object]]:
    """A forward pass with eager attention, which gives the weights, and one with SDPA."""
    # By name: transformers is not installed where types are checked.
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    torch.set_num_threads(n_threads)
    config = transformers.BertConfig()  # its defaults are BERT-base
    ids = torch.randint(config.vocab_size, (1, n_tokens))

    def forward(model: Any, **options: bool) -> object:
        with torch.no_grad():
            return model(ids, **options)

    models = {
        kind: transformers.AutoModel.from_config(config, attn_implementation=kind).eval()
        for kind in ("eager", "sdpa")
    }
    return {
        "forward pass, eager, attentions returned": partial(
            forward, models["eager"], output_attentions=True
        ),
        "forward pass, SDPA": partial(forward, models["sdpa"]),
    }
