"""One epoch after another: the losses, the optimizer and the mean of the weights."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from attnflow.paper._batches import Example, batches
from attnflow.paper._model import VerbNumberConfig, VerbNumberModel
from attnflow.paper._neighbours import embeddings_from_neighbours
from attnflow.paper._vocabulary import MASK, SPECIAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnflow.paper._material import Material
    from attnflow.paper._recipe import Recipe

# Those of Vaswani et al. (2017), https://arxiv.org/abs/1706.03762.
_BETAS = (0.9, 0.98)
# Chosen, as most who train transformers do.
_LONGEST_GRADIENT = 1.0
# Of the rate, at the first and the last step. Chosen.
_LOWEST_RATE = 0.01


class Learner(nn.Module):
    """The model, and beside it what it needs to guess hidden words; only the model is kept."""

    def __init__(self, model: VerbNumberModel) -> None:
        super().__init__()
        self.model = model
        self.bias = nn.Parameter(torch.zeros(model.config.vocab_size))

    def losses(
        self, ids: Tensor, mask: Tensor | None, numbers: Tensor, recipe: Recipe
    ) -> tuple[Tensor, Tensor, int]:
        """The loss of the verbs' numbers, that of words hidden behind MASK, and how many are right.

        Right are the numbers, not the words.
        """
        model = self.model
        hidden = (torch.rand(ids.shape) < recipe.hide) & (ids >= len(SPECIAL))
        last = model.hidden(model.words(ids.masked_fill(hidden, SPECIAL.index(MASK))), mask)
        smoothing = recipe.smoothing
        logits = model.classifier(last[:, 0])
        loss = nn.functional.cross_entropy(logits, numbers, label_smoothing=smoothing)
        right = int((logits.detach().argmax(-1) == numbers).sum())
        if not (recipe.guess and hidden.any()):
            return loss, torch.zeros(()), right
        scores = last[hidden] @ model.words.weight.T + self.bias  # (hidden word, vocabulary)
        return loss, nn.functional.cross_entropy(scores, ids[hidden]), right


class InterruptedBetweenStepsError(KeyboardInterrupt):
    """Ctrl-C, at a moment when a run can be saved and resumed bit by bit."""


@dataclass(frozen=True, slots=True)
class Begun:
    """How far an epoch has come: its steps, and sums over their sentences."""

    done: int = 0
    lost: float = 0.0
    right: int = 0
    seen: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Run:
    """A run under way: what is learnt, the mean of it, and how far it has come."""

    recipe: Recipe
    material: Material
    learner: Learner
    mean: Learner
    optimizer: torch.optim.AdamW
    total: int  # steps
    step: int = 0
    begun: Begun = Begun()  # of the epoch under way
    random: Tensor | None = None  # torch's random numbers, as that epoch has left them


def fresh(material: Material, recipe: Recipe) -> Run:
    """A run before its first step. The mean of the weights begins as the weights."""
    _ = torch.manual_seed(recipe.seed)
    config = VerbNumberConfig(
        vocab_size=len(material.vocabulary), resid_pdrop=recipe.dropout, embd_pdrop=recipe.dropout
    )
    learner, mean = Learner(VerbNumberModel(config)), Learner(VerbNumberModel(config))
    first = embeddings_from_neighbours(
        material.texts, material.vocabulary, config.n_embd, seed=recipe.seed, spread=recipe.spread
    )
    with torch.no_grad():
        # The special ones have no neighbours.
        learner.model.words.weight[len(SPECIAL) :] = first[len(SPECIAL) :]
    _ = mean.load_state_dict(learner.state_dict())
    total = recipe.epochs * math.ceil(len(_epoch(material, recipe, 0)) / recipe.batch)
    return Run(recipe, material, learner, mean, _optimizer(learner, recipe), total)


def run_epoch(
    run: Run,
    number: int,
    told: Callable[[int, int, float, float], None],
    interrupted: Callable[[], bool] = lambda: False,
) -> float:
    """One epoch of a run, or the rest of one that was begun, and its mean loss.

    After each step `told` gets the steps done and those of the epoch, and the mean loss and the
    share of right numbers so far, on the sentences as they are trained on: changed, words hidden.
    Then, if `interrupted`, the epoch ends with an InterruptedBetweenStepsError.
    """
    recipe = run.recipe
    examples = _epoch(run.material, recipe, number)
    _ = torch.manual_seed(recipe.seed * 1_000_003 + number)  # dropout, and the words to hide
    order = random.Random(f"{recipe.seed} {number} order")  # noqa: S311 (sentences, not secrets)
    weights, means = list(run.learner.parameters()), list(run.mean.parameters())
    begun, steps = run.begun, math.ceil(len(examples) / recipe.batch)
    if run.random is not None:
        torch.set_rng_state(run.random)
    _ = run.learner.train()
    left = itertools.islice(batches(examples, recipe.batch, order), begun.done, None)
    for ids, mask, numbers in left:
        for group in run.optimizer.param_groups:
            group["lr"] = _rate(run.step, run.total, recipe)
        loss, guessing, right_here = run.learner.losses(ids, mask, numbers, recipe)
        run.optimizer.zero_grad()
        _ = (loss + recipe.guess * guessing).backward()
        _ = nn.utils.clip_grad_norm_(weights, _LONGEST_GRADIENT)
        _ = run.optimizer.step()
        # The mean of a young run is mostly of its last steps.
        keep = min(recipe.average, (1 + run.step) / (10 + run.step))
        with torch.no_grad():  # there is no public function for it
            cast("Any", torch)._foreach_lerp_(means, weights, 1 - keep)
        begun = replace(
            begun,
            done=begun.done + 1,
            lost=begun.lost + loss.item() * len(numbers),
            right=begun.right + right_here,
            seen=begun.seen + len(numbers),
        )
        run.step += 1
        told(begun.done, steps, begun.lost / begun.seen, begun.right / begun.seen)
        if begun.done < steps and interrupted():
            run.begun, run.random = begun, torch.get_rng_state()
            raise InterruptedBetweenStepsError
    run.begun, run.random = Begun(), None
    return begun.lost / len(examples)


def _epoch(material: Material, recipe: Recipe, number: int) -> list[Example]:
    return material.epoch(recipe.mix, recipe.augmentation, seed=recipe.seed, number=number)


def _optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": recipe.decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=_BETAS, fused=True)


def _rate(step: int, total: int, recipe: Recipe) -> float:
    """Up, level, down: Hu et al. (2024), "MiniCPM", call it warmup, stable, decay."""
    rising = (step + 1) / max(recipe.warmup, 1)
    falling = (total - step) / max(recipe.cooldown * total, 1)
    return recipe.rate * max(min(1.0, rising, falling), _LOWEST_RATE)
