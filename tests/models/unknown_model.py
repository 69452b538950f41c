"""An architecture that is unknown to attnflow, written as transformers requires."""

from typing import Any

import torch
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS


class UnknownConfig(PreTrainedConfig):
    model_type = "unheard-of"

    def __init__(self, **settings: Any) -> None:
        self.width, self.layers, self.heads, self.vocab_size = 16, 3, 4, 400
        self.temperature: float | None = 0.7
        super().__init__(**settings)


def eager_attention_forward(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    temperature: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention with a temperature of its own, which no fused kernel knows of."""
    del module, attention_mask
    divisor = query.shape[-1] ** 0.5 if temperature is None else temperature
    weights = (query @ key.transpose(-2, -1) / divisor).softmax(dim=-1)
    return (weights @ value).transpose(1, 2), weights


class UnknownAttention(nn.Module):
    def __init__(self, config: UnknownConfig) -> None:
        super().__init__()
        self.config: Any = config
        self.is_causal = False
        self.projections = nn.Linear(config.width, 3 * config.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = self.projections(x).unflatten(-1, (3, self.config.heads, -1))
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # (batch, head, position, width)
        attention = ALL_ATTENTION_FUNCTIONS.get_interface(
            self.config._attn_implementation, eager_attention_forward
        )
        own = self.config.temperature
        settings = {} if own is None else {"temperature": own}
        output, _ = attention(self, query, key, value, None, **settings)
        return output.flatten(2)


class UnknownModel(PreTrainedModel):
    config_class = UnknownConfig
    main_input_name = "input_ids"

    def __init__(self, config: UnknownConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        self.blocks = nn.ModuleList(UnknownAttention(config) for _ in range(config.layers))
        self.post_init()

    def forward(self, input_ids: torch.Tensor) -> BaseModelOutput:
        x = self.embedding(input_ids)
        for block in self.blocks:
            x = x + block(x)
        return BaseModelOutput(last_hidden_state=x)


class PlainlyScaledModel(UnknownModel):
    """The same with nothing that a fused kernel does not know, as the model says of itself."""

    _supports_sdpa = True

    def __init__(self, config: UnknownConfig) -> None:
        config.temperature = None
        super().__init__(config)
