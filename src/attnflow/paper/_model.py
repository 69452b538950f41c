"""The paper's verb-number model: an encoder of GPT-2 blocks in which every token sees every token.

Section 2 of the paper: 6 layers, 8 heads, width 128, GPT-2 blocks without masking, a CLS token
first, whose final embedding the classifier reads. The blocks are transformers' own.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2PreTrainedModel
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.models.gpt2.modeling_gpt2 import GPT2Block
from transformers.utils.output_capturing import capture_outputs

LABELS = ("singular", "plural")


class VerbNumberConfig(GPT2Config):
    """The paper's sizes, on GPT-2's configuration. Dropout is this project's choice.

    The activation is GPT-2's own, by the name under which PyTorch computes it in one step.
    """

    model_type = "attnflow-verb-number"

    vocab_size: int = 10_000
    # 50 words, the longest in the corpus, CLS and the end marker; the rest is room to spare.
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
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        self.id2label = dict(enumerate(LABELS))
        self.label2id = {label: number for number, label in enumerate(LABELS)}


class VerbNumberModel(GPT2PreTrainedModel):
    """Whether the verb that follows a prefix is singular or plural: two logits, in this order.

    Examples
    --------
    >>> model = VerbNumberModel(VerbNumberConfig(vocab_size=10)).eval()
    >>> model(torch.tensor([[2, 5, 6, 3]])).logits.shape
    torch.Size([1, 2])
    """

    config_class = VerbNumberConfig
    base_model_prefix = ""

    def __init__(self, config: VerbNumberConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocab_size, config.n_embd, padding_idx=config.pad_token_id)
        self.positions = nn.Embedding(config.n_positions, config.n_embd)
        self.drop = nn.Dropout(config.embd_pdrop)
        self.blocks = nn.ModuleList(GPT2Block(config, layer_idx=i) for i in range(config.n_layer))
        for block in self.blocks:
            # Where there is no padding there is no mask, and fused attention asks the module.
            cast("Any", block).attn.is_causal = False
        self.norm = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.classifier = nn.Linear(config.n_embd, len(LABELS))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The embeddings of words; transformers asks for them by this name."""
        return self.words

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Take other embeddings of words."""
        self.words = cast("nn.Embedding", value)

    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Logits of (singular, plural) for each row of token ids, CLS first, end marker last.

        `attention_mask` is 1 for tokens and 0 for padding, which nothing attends to.
        `inputs_embeds` takes the place of `input_ids` where gradients of the word embeddings are
        asked for.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("pass either input_ids or inputs_embeds, and not both")
        embedded = self.words(input_ids) if inputs_embeds is None else inputs_embeds
        hidden = self.hidden(embedded, attention_mask, **kwargs)
        return SequenceClassifierOutput(logits=self.classifier(hidden[:, 0]))  # CLS stands first

    def hidden(self, embedded: Tensor, attention_mask: Tensor | None, **kwargs: Any) -> Tensor:
        """The last embedding of each token, normalised: (sentence, token, width)."""
        mask = create_bidirectional_mask(
            config=self.config, inputs_embeds=embedded, attention_mask=attention_mask
        )
        places = torch.arange(embedded.shape[1], device=embedded.device)
        hidden = self.drop(embedded + self.positions(places))
        for block in self.blocks:
            hidden = block(hidden, attention_mask=mask, **kwargs)
        return self.norm(hidden)
