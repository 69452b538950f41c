"""Train the verb-number model with other settings, for the comparison in docs/paper-tables.md.

All are the paper's recipe with 8 epochs, but for what the name of a setting says; `long` has 24:

    python benchmarks/training_settings.py SETTING --data DIR --teacher FOLDER --out FOLDER

prints the accuracies and writes the model; the same command resumes a run. The tables of the models
are then printed by `attnflow reproduce tables --data DIR --models FOLDER …`.
"""

import argparse
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch import Tensor, nn

from attnflow.models import Loaded
from attnflow.paper import Augmentation, Mix, Recipe, Splits, load, load_splits, train
from attnflow.paper.training._dataset import TrainingData, batches

_RECIPE = Recipe(epochs=8, bf16=True)
_UNCHANGED = Augmentation(0.0, 0.0, 0.0, 0.0, 0.0)
SETTINGS = {
    "recipe": _RECIPE,
    "pure-distillation": replace(_RECIPE, teacher_weight=1.0),
    "more-padding": replace(_RECIPE, visible_padding=24),
    "learning-rate": replace(_RECIPE, learning_rate=5e-4),
    "no-augmentation": replace(
        _RECIPE, augmentation=_UNCHANGED, mix=replace(_RECIPE.mix, generated=0)
    ),
    # The natural mix alone, as in the paper: no attractor files, nothing generated or changed.
    "natural-mix": replace(
        _RECIPE,
        augmentation=_UNCHANGED,
        mix=Mix(natural=3.5, inner=1.0, attractors=0.0, generated=0),
    ),
    "lstm-teacher": _RECIPE,
    # Regularisation rises in the same epochs as with 8 epochs, and stays for 16 more.
    "long": replace(_RECIPE, epochs=24, regularization_ramp=(0.13 / 3, 0.33 / 3)),
}
_LSTM_EPOCHS, _LSTM_BATCH, _LSTM_LEARNING_RATE = 8, 64, 1e-3  # chosen


class Lstm(nn.Module):
    """The paper's teacher: two LSTM layers of 256 units that read the words in their order."""

    def __init__(self, vocabulary: int, width: int = 256) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width, padding_idx=0)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True, dropout=0.3)
        self.drop = nn.Dropout(0.3)
        self.classifier = nn.Linear(width, 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Any:
        """Return the logits at the last word of each sentence."""
        states, _ = self.lstm(self.drop(self.words(input_ids)))
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        last = attention_mask.sum(dim=1).long() - 1
        read = states[torch.arange(len(last)), last]
        return SimpleNamespace(logits=self.classifier(self.drop(read)))


def train_lstm(splits: Splits, path: Path) -> Lstm:
    """Return an LSTM trained on the sentences and labels of the recipe, or the one in `path`."""
    data = TrainingData.from_splits(splits)
    _ = torch.manual_seed(0)
    model = Lstm(len(data.vocabulary))
    if path.exists():
        _ = model.load_state_dict(torch.load(path, weights_only=True))
        return model.eval()
    optimizer = torch.optim.Adam(model.parameters(), lr=_LSTM_LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, _LSTM_EPOCHS)
    encode = data.vocabulary.encode
    held_out = [(encode(p.words), p.number) for p in splits.validation]
    for epoch in range(_LSTM_EPOCHS):
        _ = model.train()
        order = random.Random(epoch)  # noqa: S311 (sentences, not secrets)
        for ids, mask, labels in batches(data.epoch(_RECIPE, epoch), _LSTM_BATCH, order):
            loss = nn.functional.cross_entropy(model(ids, mask).logits, labels)
            optimizer.zero_grad()
            _ = loss.backward()
            _ = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            _ = optimizer.step()
        schedule.step()
        print(f"LSTM, epoch {epoch + 1}: validation accuracy {_accuracy(model, held_out):.4f}")
    torch.save(model.state_dict(), path)
    return model.eval()


@torch.no_grad()
def _accuracy(model: Lstm, prefixes: list[tuple[list[int], int]]) -> float:
    _ = model.eval()
    order = random.Random(0)  # noqa: S311 (sentences, not secrets)
    found = [
        model(ids, mask).logits.argmax(-1) == labels
        for ids, mask, labels in batches(prefixes, _LSTM_BATCH, order)
    ]
    return torch.cat(found).double().mean().item()


def main() -> None:
    """Train the model of one setting."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    _ = parser.add_argument("setting", choices=SETTINGS)
    _ = parser.add_argument("--data", type=Path, required=True)
    _ = parser.add_argument("--out", type=Path, required=True)
    _ = parser.add_argument("--teacher", type=Path, required=True, help="of --recipe accurate")
    _ = parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    splits = load_splits(arguments.data)
    teacher: Any = load(arguments.teacher)
    if arguments.setting == "lstm-teacher":
        lstm = train_lstm(splits, arguments.out.with_name(arguments.out.name + "-lstm.pt"))
        teacher = Loaded(cast("Any", lstm), teacher.tokenizer)
    result = train(
        splits,
        arguments.out,
        recipe=replace(SETTINGS[arguments.setting], seed=arguments.seed),
        teacher=teacher,
        threads=1,
        on_epoch=lambda log: print(log, flush=True),
    )
    for name in ("validation", "test", "wiki_test"):
        found = getattr(result.accuracies, name)
        print(f"accuracy, {name}: {found.distinct:.4f} of {found.count} prefixes")


if __name__ == "__main__":
    main()
