"""Texts and tensors as the arguments of one forward pass.

This is the interface of `attnflow.models` for the other packages of attnflow, not for users.
"""

from attnflow.models._decoders import is_decoder
from attnflow.models._model import (
    accepts,
    check_vocabulary,
    checked_model,
    device_of,
    forward_parameters,
    has_decoder,
    inner_tokenizer,
    is_pretrained,
    layer_count,
    token_limit,
    weight_count,
)
from attnflow.models.inputs._generate import Generate
from attnflow.models.inputs._inputs import (
    Inputs,
    Positions,
    TokenizedText,
    name_example,
    name_positions,
    token_names,
)
from attnflow.models.inputs._prepare import (
    ModelInput,
    Several,
    SeveralTexts,
    Single,
    TextInput,
    WithTokenizer,
    batch_texts,
    count_tokens,
    is_single,
    model_and_tokenizer,
    prepare,
    takes_padding,
    takes_pipeline,
    tokenize_text,
)
from attnflow.models.inputs._texts import Chat, OneText, Pair, is_text

__all__ = [
    "Chat", "Generate", "Inputs", "ModelInput", "OneText", "Pair", "Positions", "Several",
    "SeveralTexts", "Single", "TextInput", "TokenizedText", "WithTokenizer", "accepts",
    "batch_texts", "check_vocabulary", "checked_model", "count_tokens", "device_of",
    "forward_parameters", "has_decoder", "inner_tokenizer", "is_decoder", "is_pretrained",
    "is_single", "is_text", "layer_count", "model_and_tokenizer", "name_example", "name_positions",
    "prepare", "takes_padding", "takes_pipeline", "token_limit", "token_names", "tokenize_text",
    "weight_count",
]  # fmt: skip
