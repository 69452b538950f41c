"""The paper's verb-number model: an encoder of GPT-2 blocks without a causal mask.

Section 2 of the paper: 6 layers, 8 heads, width 128, GPT-2 blocks without masking, and a CLS token
at the start whose final embedding the classifier takes. The blocks are those of transformers. This
module imports torch and transformers.
"""

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


class VerbNumberModel(GPT2PreTrainedModel):
    """A classifier of the verb after a prefix: two logits, singular and plural.

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
        # An embedding at `padding_idx` is not trained.
        untrained = None if config.blank_token_id == config.pad_token_id else config.pad_token_id
        self.words = nn.Embedding(config.vocab_size, config.n_embd, padding_idx=untrained)
        self.positions = nn.Embedding(config.n_positions, config.n_embd)
        self.drop = nn.Dropout(config.embd_pdrop)
        self.blocks = nn.ModuleList(GPT2Block(config, layer_idx=i) for i in range(config.n_layer))
        for block in self.blocks:
            # Fused attention without a mask uses this attribute of the module.
            cast("Any", block).attn.is_causal = False
        self.norm = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.classifier = nn.Linear(config.n_embd, len(LABELS))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the word embeddings; the name is that of transformers."""
        return self.words

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the word embeddings."""
        self.words = cast("nn.Embedding", value)

    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Return the logits (singular, plural) for each row of token ids.

        A row begins with CLS and ends with the end marker. `attention_mask` is 1 for tokens and 0
        for padding, which no token attends to. `inputs_embeds` replaces `input_ids`, for gradients
        with respect to the word embeddings.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("pass either input_ids or inputs_embeds, not both")
        embedded = self.words(input_ids) if inputs_embeds is None else inputs_embeds
        first = self.hidden(embedded, attention_mask, **kwargs)[:, 0]  # CLS
        return SequenceClassifierOutput(logits=self.classifier(first))

    def hidden(self, embedded: Tensor, attention_mask: Tensor | None, **kwargs: Any) -> Tensor:
        """Return the final embedding of each token, normalised: (sentence, token, width)."""
        mask = create_bidirectional_mask(
            config=self.config, inputs_embeds=embedded, attention_mask=attention_mask
        )
        positions = torch.arange(embedded.shape[1], device=embedded.device)
        hidden = self.drop(embedded + self.positions(positions))
        for block in self.blocks:
            output = block(hidden, attention_mask=mask, **kwargs)
            hidden = output[0] if isinstance(output, tuple) else output  # as in older transformers
        return self.norm(hidden)
