"""cloneguard's classifier: BERT, the mean over positions, and two linear layers."""

from typing import Any


def prompt_guard() -> Any:
    """The model, with random weights. Its class is made here so that importing loads no torch."""
    import torch
    from transformers import BertConfig, BertModel, BertPreTrainedModel
    from transformers.modeling_outputs import SequenceClassifierOutput

    class PromptGuard(BertPreTrainedModel):
        """Logits of "harmless" and "an injection"."""

        def __init__(self, config: BertConfig) -> None:
            super().__init__(config)
            self.bert = BertModel(config, add_pooling_layer=False)
            self.classifier = torch.nn.Sequential(
                torch.nn.Linear(config.hidden_size, 128),
                torch.nn.ReLU(),
                torch.nn.Dropout(0.1),
                torch.nn.Linear(128, 2),
            )
            self.post_init()

        def forward(self, input_ids: Any, attention_mask: Any = None, **options: Any) -> Any:
            found = self.bert(input_ids, attention_mask=attention_mask, **options)
            states = found.last_hidden_state  # (batch, position, width)
            if attention_mask is None:
                attention_mask = torch.ones_like(input_ids)
            seen = attention_mask.unsqueeze(-1).to(states.dtype)
            mean = (states * seen).sum(1) / seen.sum(1)
            return SequenceClassifierOutput(
                logits=self.classifier(mean), attentions=found.attentions
            )

    return PromptGuard(
        BertConfig(
            hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
        )
    )
