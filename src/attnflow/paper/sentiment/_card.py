"""The model card of a sentiment classifier, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnflow._internal.display import markdown_table
from attnflow.paper.runs import EpochLog
from attnflow.paper.sentiment._recipe import SentimentRecipe

_CARD = """# Sentiment classifier (SST-2)

Predicts whether a sentence of a film review is negative or positive, for Table 3 of Abnar &
Zuidema, "Quantifying Attention Flow in Transformers" (ACL 2020).

Accuracy on the {dev:,} sentences of the dev split: **{accuracy:.4f}**. The split decided nothing:
the settings were fixed before, and the weights are those after the last epoch.

- {kind}, {parameters:.1f} million parameters, fine-tuned from {base}.
- Load it with `attnflow.models.load(folder)`, or with `from_pretrained` of transformers.
- `checkpoint.safetensors`, if present, is only for resuming training.

## Limits

- English film reviews of about 2002, split and in lower case as in the data.
- Made for research on attention. It has the biases of its base model and of its reviews.

## Training

`attnflow train sst2 --base FOLDER --data DIR --out FOLDER{options}`

Trained on {train:,} sentences and phrases in {minutes} minutes (threads: {threads}, torch {torch},
transformers {transformers}).

{settings}

{history}

The loss is the training loss. The final dev loss is {loss:.4f}.

## Data

SST-2 as in GLUE (https://gluebenchmark.com): phrases and sentences of the Stanford Sentiment
Treebank, Socher et al., "Recursive Deep Models for Semantic Compositionality Over a Sentiment
Treebank" (EMNLP 2013). This folder does not contain them.
"""


def model_card(
    model: Any,
    base: object,
    recipe: SentimentRecipe,
    history: Sequence[EpochLog],
    *,
    train: int,
    dev: int,
    threads: int,
) -> str:
    """Return the card; `train` and `dev` are the sizes of the splits."""
    import torch
    import transformers

    options = f" --seed {recipe.seed}" if recipe.seed else ""
    options += f" --epochs {recipe.epochs}" + (" --bf16" if recipe.bf16 else "")
    settings = [["setting", "value"], *([k, str(v)] for k, v in recipe.to_dict().items())]
    epochs = [["epoch", "loss", "dev accuracy"]]
    epochs += [[str(e.epoch), f"{e.loss:.4f}", f"{e.validation_accuracy:.4f}"] for e in history]
    return _CARD.format(
        kind=type(model).__name__,
        parameters=sum(parameter.numel() for parameter in model.parameters()) / 1e6,
        base=_name(base),
        accuracy=history[-1].validation_accuracy,
        loss=history[-1].validation_loss,
        options=options,
        minutes=max(1, round(sum(epoch.seconds for epoch in history) / 60)),
        train=train,
        dev=dev,
        threads=threads,
        torch=torch.__version__,
        transformers=transformers.__version__,
        settings=markdown_table(settings),
        history=markdown_table(epochs),
    )


def _name(base: object) -> str:
    """Return a model id as it is, and of a folder the last two names of its path."""
    path = Path(str(base)).absolute()
    return "/".join(path.parts[-2:]) if path.is_dir() else str(base)
