"""The paper's verb-number model: an encoder of GPT-2 blocks without a causal mask.

Section 2 of the paper: 6 layers, 8 heads, width 128, GPT-2 blocks without masking, and a CLS token
at the start whose final embedding the classifier takes. The blocks are those of transformers, with
the same names and shapes of parameters, written in plain torch: the modelling code of transformers
takes longer to import than the model takes to answer. This module imports torch and the
configurations of transformers.
"""

from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn
from transformers import GPT2Config
from transformers.modeling_outputs import SequenceClassifierOutput

LABELS = ("singular", "plural")
# Two names of the activation of GPT-2.
_ACTIVATIONS = ("gelu_pytorch_tanh", "gelu_new")


class VerbNumberConfig(GPT2Config):
    """The configuration of GPT-2 with the paper's sizes.

    `gelu_pytorch_tanh` is the activation of GPT-2 (`gelu_new`), computed by one PyTorch kernel.
    `blank_token_id` is the token that stands for no word: that of padding if tokens attended to
    padding in training, else None.
    """

    model_type = "attnflow-verb-number"

    vocab_size: int = 10_000
    # The longest prefix of the corpus has 50 words; with CLS and the end marker 52 tokens.
    n_positions: int = 64
    n_embd: int = 128
    n_layer: int = 6
    n_head: int = 8
    activation_function: str = "gelu_pytorch_tanh"
    resid_pdrop: float | int = 0.1
    embd_pdrop: float | int = 0.1
    attn_pdrop: float | int = 0.0
    use_cache: bool = False
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    pad_token_id: int | None = 0
    blank_token_id: int | None = None
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        self.id2label = dict(enumerate(LABELS))
        self.label2id = {label: number for number, label in enumerate(LABELS)}


class Conv1D(nn.Module):
    """A linear layer with the weight (input, output), as GPT-2 stores it."""

    def __init__(self, width: int, out_width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, out_width))
        self.bias = nn.Parameter(torch.zeros(out_width))
        _ = nn.init.normal_(self.weight, std=0.02)

    def forward(self, hidden: Tensor) -> Tensor:
        """Return `hidden @ weight + bias`."""
        return nn.functional.linear(hidden, self.weight.t(), self.bias)


class AttentionFunction(Protocol):
    """Attention of queries, keys and values (sentence, head, token, width of a head)."""

    def __call__(
        self,
        module: "SelfAttention",
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
    ) -> Tensor:
        """Return the attended values. `mask` is True for keys that count; None for all."""
        ...


def _fused_attention(
    module: "SelfAttention", query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> Tensor:
    dropout = module.attn_dropout.p if module.training else 0.0
    return nn.functional.scaled_dot_product_attention(query, key, value, mask, dropout)


class SelfAttention(nn.Module):
    """The attention of GPT-2, in which every token attends to every other."""

    is_causal = False

    def __init__(self, config: VerbNumberConfig) -> None:
        super().__init__()
        if config.n_embd % config.n_head:
            raise ValueError(
                f"n_embd must be a multiple of n_head, got {config.n_embd} and {config.n_head}"
            )
        self.n_heads = config.n_head
        self.c_attn = Conv1D(config.n_embd, 3 * config.n_embd)
        self.c_proj = Conv1D(config.n_embd, config.n_embd)
        self.attn_dropout = nn.Dropout(config.attn_pdrop)
        self.resid_dropout = nn.Dropout(config.resid_pdrop)
        self.attention_function: AttentionFunction = _fused_attention

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """Return what each token takes from the others, projected."""
        parts = self.c_attn(hidden).unflatten(-1, (3, self.n_heads, -1))
        # (query, key and value; sentence, head, token, width of a head)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        attended = self.attention_function(self, query, key, value, mask)
        return self.resid_dropout(self.c_proj(attended.transpose(1, 2).flatten(2)))


class FeedForward(nn.Module):
    """The two layers after attention."""

    def __init__(self, config: VerbNumberConfig) -> None:
        super().__init__()
        if config.activation_function not in _ACTIVATIONS:
            raise ValueError(
                f"activation_function: expected {' or '.join(_ACTIVATIONS)}, got "
                f"{config.activation_function!r}"
            )
        inner = 4 * config.n_embd if config.n_inner is None else config.n_inner
        self.c_fc = Conv1D(config.n_embd, inner)
        self.c_proj = Conv1D(inner, config.n_embd)
        self.dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, hidden: Tensor) -> Tensor:
        """Return the output of the layers for each token."""
        inner = nn.functional.gelu(self.c_fc(hidden), approximate="tanh")
        return self.dropout(self.c_proj(inner))


class Block(nn.Module):
    """A block of GPT-2, which normalises before attention and before the layers after it."""

    def __init__(self, config: VerbNumberConfig) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.attn = SelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.mlp = FeedForward(config)

    def forward(self, hidden: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the embeddings (sentence, token, width) after the block."""
        hidden = hidden + self.attn(self.ln_1(hidden), mask)
        return hidden + self.mlp(self.ln_2(hidden))


class VerbNumberModel(nn.Module):
    """A classifier of the verb after a prefix: two logits, singular and plural.

    Examples
    --------
    >>> model = VerbNumberModel(VerbNumberConfig(vocab_size=10)).eval()
    >>> model(torch.tensor([[2, 5, 6, 3]])).logits.shape
    torch.Size([1, 2])
    """

    main_input_name = "input_ids"  # as models of transformers say it

    def __init__(self, config: VerbNumberConfig) -> None:
        super().__init__()
        self.config = config
        # An embedding at `padding_idx` is not trained.
        untrained = None if config.blank_token_id == config.pad_token_id else config.pad_token_id
        self.words = nn.Embedding(config.vocab_size, config.n_embd, padding_idx=untrained)
        self.positions = nn.Embedding(config.n_positions, config.n_embd)
        self.drop = nn.Dropout(config.embd_pdrop)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.norm = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.classifier = nn.Linear(config.n_embd, len(LABELS))
        _ = self.apply(self._initialize)

    def _initialize(self, module: nn.Module) -> None:
        """Draw the weights of a module as transformers does, also in the same order."""
        if isinstance(module, nn.Linear | nn.Embedding | Conv1D):
            _ = nn.init.normal_(module.weight, std=self.config.initializer_range)
        if isinstance(module, nn.Linear):
            _ = nn.init.zeros_(module.bias)
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            with torch.no_grad():
                _ = module.weight[module.padding_idx].zero_()

    def get_input_embeddings(self) -> nn.Module:
        """Return the word embeddings; the name is that of transformers."""
        return self.words

    def use_attention(self, function: AttentionFunction) -> None:
        """Compute the attention of all blocks with a function, instead of torch's fused one."""
        for block in self.blocks:
            cast("Block", block).attn.attention_function = function

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """Return the logits (singular, plural) for each row of token ids.

        A row begins with CLS and ends with the end marker. `attention_mask` is 1 for tokens and 0
        for padding, which no token attends to. `inputs_embeds` replaces `input_ids`, for gradients
        with respect to the word embeddings.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("pass either input_ids or inputs_embeds, not both")
        embedded = self.words(input_ids) if inputs_embeds is None else inputs_embeds
        first = self.hidden(embedded, attention_mask)[:, 0]  # CLS
        return SequenceClassifierOutput(logits=self.classifier(first))

    def hidden(self, embedded: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Return the final embedding of each token, normalised: (sentence, token, width)."""
        mask = None
        if attention_mask is not None and not attention_mask.all():
            mask = attention_mask.bool()[:, None, None, :]  # (sentence, head, query, key)
        hidden = self.drop(embedded + self.positions.weight[: embedded.shape[1]])
        for block in self.blocks:
            hidden = block(hidden, mask)
        return self.norm(hidden)
