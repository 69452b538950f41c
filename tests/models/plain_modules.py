"""Plain PyTorch modules as people write them, three layers of width 16 with 4 heads each."""

from typing import Any

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class MultiheadEncoder(nn.Module):
    """`nn.MultiheadAttention` as is; `asked` goes with every call of it."""

    def __init__(self, *, batch_first: bool = True, **asked: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.MultiheadAttention(16, 4, dropout=0.1, batch_first=batch_first) for _ in range(3)
        )
        self.asked = asked

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x, x, x, **self.asked)[0]
        return x


class FunctionAttention(nn.Module):
    """As in timm's vision transformers: the fused function, called by the module itself."""

    def __init__(self, *, groups: int = 1, **settings: Any) -> None:
        super().__init__()
        self.q, self.kv = nn.Linear(16, 16), nn.Linear(16, 2 * 16 // groups)
        self.settings = settings
        self.attn_drop = nn.Dropout(0.1)  # not called: its rate goes to the function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query = self.q(x).unflatten(-1, (-1, 4)).transpose(1, 2)
        key, value = self.kv(x).unflatten(-1, (2, -1, 4)).permute(2, 0, 3, 1, 4)
        rate = self.attn_drop.p if self.training else 0.0
        out = scaled_dot_product_attention(query, key, value, dropout_p=rate, **self.settings)
        return out.transpose(1, 2).flatten(2)


class DropoutAttention(nn.Module):
    """As in older vision transformers: a softmax and a dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 3 * 16)
        self.attn_drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.qkv(x).unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        weights = (query @ key.transpose(-2, -1) / 2).softmax(dim=-1)
        return (self.attn_drop(weights) @ value).transpose(1, 2).flatten(2)


class Blocks(nn.Module):
    """Layers of attention with residual connections between them."""

    def __init__(self, *attention: nn.Module) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(attention)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = x + block(x)
        return x


class FunctionViT(Blocks):
    def __init__(self, *, groups: int = 1, **settings: Any) -> None:
        super().__init__(*(FunctionAttention(groups=groups, **settings) for _ in range(3)))


class DropoutViT(Blocks):
    def __init__(self) -> None:
        super().__init__(*(DropoutAttention() for _ in range(3)))
