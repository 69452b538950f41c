"""Texts and tensors as the arguments of one forward pass.

This is the interface of `attnflow.models` for the other packages of attnflow, not for users.
"""

from attnflow.models._families import token_limit
from attnflow.models._model import (
    accepts,
    check_vocabulary,
    forward_parameters,
    has_decoder,
    is_pretrained,
    unwrap_compiled,
)
from attnflow.models.inputs._generate import Generate
from attnflow.models.inputs._inputs import Inputs, Positions
from attnflow.models.inputs._positions import join_origins, name_positions
from attnflow.models.inputs._prepare import ModelInput, Several, prepare
from attnflow.models.inputs._tokenize import count_tokens, inner_tokenizer, token_names

__all__ = [
    "Generate",
    "Inputs",
    "ModelInput",
    "Positions",
    "Several",
    "accepts",
    "check_vocabulary",
    "count_tokens",
    "forward_parameters",
    "has_decoder",
    "inner_tokenizer",
    "is_pretrained",
    "join_origins",
    "name_positions",
    "prepare",
    "token_limit",
    "token_names",
    "unwrap_compiled",
]
