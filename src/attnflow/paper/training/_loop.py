"""The training loop: losses, optimizer, averaged weights. This module imports torch."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from attnflow.paper.model import MASK, PAD, SPECIAL, VerbNumberConfig, VerbNumberModel
from attnflow.paper.runs import StepLog, new_optimizer, run_steps
from attnflow.paper.training._dataset import TrainingData, batches
from attnflow.paper.training._embeddings import cooccurrence_embeddings
from attnflow.paper.training._state import TrainingState

if TYPE_CHECKING:
    from attnflow.paper.training._recipe import Recipe

# Those of Vaswani et al. (2017), https://arxiv.org/abs/1706.03762.
_BETAS = (0.9, 0.98)
# Chosen: a common value for transformers.
_MAX_GRAD_NORM = 1.0
# Lowest learning rate, as a share of `learning_rate`. Chosen.
_MIN_LR_RATIO = 0.01


class _Dropout(nn.Dropout):
    """Dropout from 16 random bits for each value: five times as fast as torch's on a CPU."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - the name of nn.Dropout
        if not self.training or not self.p:
            return input
        # torch draws 64 bits as fast as 16.
        drawn = torch.empty(-(-input.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        bits = drawn.view(torch.int16)[: input.numel()].view(input.shape)
        kept = bits >= round(self.p * 2**16) - 2**15
        return input * (kept.to(input.dtype) / (1 - self.p))


def _attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> Tensor:
    """Return the output of attention, with softmax in float32.

    For sentences of some 20 words it is a tenth faster, of a step, than that of transformers: fused
    attention has a slow backward pass, and eager attention a slow softmax in bfloat16 and the slow
    dropout of torch.
    """
    scores = (query @ key.mT).float() / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = cast("Any", module).attn_dropout(scores.softmax(-1))
    return weights.to(value.dtype) @ value


class TrainingModel(nn.Module):
    """The model, and the bias of a masked language modelling head; only the model is saved."""

    def __init__(self, model: VerbNumberModel, *, mlm: bool) -> None:
        super().__init__()
        self.model = model
        self.bias = nn.Parameter(torch.zeros(model.config.vocab_size)) if mlm else None

    def losses(
        self,
        ids: Tensor,
        mask: Tensor | None,
        labels: Tensor,
        recipe: Recipe,
        teacher: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, int]:
        """Return the classification loss, the masked language modelling loss, and correct labels.

        `teacher` contains the teacher's probabilities (sentence, number). The head of masked
        language modelling shares the word embeddings.
        """
        model = self.model
        masked = (torch.rand(ids.shape) < recipe.mask_prob) & (ids >= len(SPECIAL))
        visible = None if recipe.visible_padding else mask
        hidden = model.hidden(model.words(ids.masked_fill(masked, SPECIAL.index(MASK))), visible)
        logits = model.classifier(hidden[:, 0]).float()
        loss = nn.functional.cross_entropy(logits, labels, label_smoothing=recipe.label_smoothing)
        if teacher is not None:
            distillation = nn.functional.cross_entropy(logits, teacher)
            loss = (1 - recipe.teacher_weight) * loss + recipe.teacher_weight * distillation
        correct = int((logits.detach().argmax(-1) == labels).sum())
        if self.bias is None or not masked.any():
            return loss, torch.zeros(()), correct
        words = hidden[masked] @ model.words.weight.T + self.bias  # (masked token, vocabulary)
        return loss, nn.functional.cross_entropy(words, ids[masked]), correct

    def squares(self) -> Tensor:
        """Return the sum of squares of all matrices of the model, embeddings included."""
        matrices = [p for p in self.model.parameters() if p.ndim > 1]
        return torch.stack([matrix.square().sum() for matrix in matrices]).sum()

    def set_dropout(self, recipe: Recipe, strength: float) -> None:
        """Set the probabilities of dropout to those of the recipe times `strength`."""
        self.model.drop = _Dropout(strength * recipe.embd_dropout)
        for block in cast("Any", self.model.blocks):
            block.attn.attn_dropout = _Dropout(strength * recipe.attn_dropout)
            block.attn.resid_dropout = _Dropout(strength * recipe.resid_dropout)
            block.mlp.dropout = _Dropout(strength * recipe.resid_dropout)


def new_state(
    data: TrainingData, recipe: Recipe, teacher: nn.Module | None = None
) -> TrainingState:
    """Return the state before the first step; the averaged weights start as the weights."""
    _ = torch.manual_seed(recipe.seed)
    config = VerbNumberConfig(
        vocab_size=len(data.vocabulary),
        attn_pdrop=recipe.attn_dropout,
        resid_pdrop=recipe.resid_dropout,
        embd_pdrop=recipe.embd_dropout,
        blank_token_id=SPECIAL.index(PAD) if recipe.visible_padding else None,
    )
    mlm = recipe.mlm_weight > 0
    model, ema_model = (TrainingModel(VerbNumberModel(config), mlm=mlm) for _ in range(2))
    for each in (model.model, teacher):
        if isinstance(each, VerbNumberModel):
            each.use_attention(_attention)
    if recipe.init_std is not None:
        for parameter in model.model.parameters():
            if parameter.ndim > 1:
                # TensorFlow's truncated normal distribution, which the paper's code uses, ends at
                # two standard deviations.
                limit = 2 * recipe.init_std
                _ = nn.init.trunc_normal_(parameter, std=recipe.init_std, a=-limit, b=limit)
    embeddings = cooccurrence_embeddings(
        data.texts, data.vocabulary, config.n_embd, seed=recipe.seed, std=recipe.embedding_std
    )
    with torch.no_grad():
        # The special tokens do not occur in texts.
        model.model.words.weight[len(SPECIAL) :] = embeddings[len(SPECIAL) :]
    _ = ema_model.load_state_dict(model.state_dict())
    total_steps = recipe.epochs * math.ceil(len(data.epoch(recipe, 0)) / recipe.batch_size)
    return TrainingState(
        recipe=recipe,
        data=data,
        model=model,
        ema_model=ema_model,
        optimizer=new_optimizer(
            model,
            learning_rate=recipe.learning_rate,
            betas=_BETAS,
            weight_decay=recipe.weight_decay,
        ),
        total_steps=total_steps,
        teacher=teacher,
    )


def run_epoch(
    state: TrainingState,
    on_step: Callable[[StepLog], None],
    interrupted: Callable[[], bool] = lambda: False,
) -> float:
    """Run the next epoch, or the rest of an interrupted one, and return its mean loss.

    `on_step` is called after each step. If `interrupted` then returns True, the state is complete
    and the epoch ends with a TrainingInterruptedError.
    """
    recipe, number = state.recipe, len(state.history)
    prefixes = state.data.epoch(recipe, number)
    order = random.Random(f"{recipe.seed} {number} order")  # noqa: S311 (sentences, not secrets)
    weights, averages = list(state.model.parameters()), list(state.ema_model.parameters())
    _ = state.model.train()

    def train_step(batch: tuple[Tensor, Tensor | None, Tensor]) -> tuple[float, int, int]:
        ids, mask, labels = batch
        for group in state.optimizer.param_groups:
            group["lr"] = _learning_rate(state.step, state.total_steps, recipe)
        strength = _regularization(state.step, state.total_steps, recipe)
        state.model.set_dropout(recipe, strength)
        with torch.autocast("cpu", torch.bfloat16, enabled=recipe.bf16):
            teacher = None if state.teacher is None else _probabilities(state.teacher, ids, mask)
            loss, mlm_loss, correct = state.model.losses(ids, mask, labels, recipe, teacher)
        total_loss = loss + recipe.mlm_weight * mlm_loss
        if recipe.l2_penalty * strength:
            total_loss = total_loss + recipe.l2_penalty * strength * state.model.squares()
        state.optimizer.zero_grad()
        _ = total_loss.backward()
        _ = nn.utils.clip_grad_norm_(weights, _MAX_GRAD_NORM)
        _ = state.optimizer.step()
        # A lower decay at the start: the average soon forgets the initial weights.
        decay = min(recipe.ema_decay, (1 + state.step) / (10 + state.step))
        with torch.no_grad():  # there is no public function for it
            cast("Any", torch)._foreach_lerp_(averages, weights, 1 - decay)
        return loss.item(), correct, len(labels)

    steps = math.ceil(len(prefixes) / recipe.batch_size)
    padded = batches(prefixes, recipe.batch_size, order, padding=recipe.visible_padding)
    return run_steps(state, padded, steps, train_step, on_step, interrupted)


@torch.no_grad()
def _probabilities(teacher: nn.Module, ids: Tensor, mask: Tensor | None) -> Tensor:
    return teacher(input_ids=ids, attention_mask=mask).logits.float().softmax(-1)


def _learning_rate(step: int, total_steps: int, recipe: Recipe) -> float:
    """Return the learning rate of the warmup-stable-decay schedule of Hu et al. (2024), MiniCPM."""
    warmup = (step + 1) / max(recipe.warmup_steps, 1)
    cooldown = (total_steps - step) / max(recipe.cooldown_ratio * total_steps, 1)
    return recipe.learning_rate * max(min(1.0, warmup, cooldown), _MIN_LR_RATIO)


def _regularization(step: int, total_steps: int, recipe: Recipe) -> float:
    """Return the factor of dropout and of the L2 penalty."""
    start, end = (share * total_steps for share in recipe.regularization_ramp)
    return 1.0 if step >= end else max((step - start) / max(end - start, 1.0), 0.0)
