"""`attnflow generate`: a small file of synthetic attention for first experiments."""

from pathlib import Path
from typing import Annotated

import typer

from attnflow.cli._options import output_path, wrong
from attnflow.errors import InputError
from attnflow.types import random_attention

_MAX_BYTES = 2**30  # of the weights. Chosen: over twice the attention of BERT-large for 512 tokens


def generate(
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write, .npz or .safetensors.")
    ],
    *,
    tokens: Annotated[
        str, typer.Option(metavar="TEXT", help="Tokens, separated by spaces.")
    ] = "[CLS] the key to the cabinets",  # the paper's Figure 1 example, cut short
    layers: Annotated[int, typer.Option(min=1, help="Number of layers.")] = 6,
    heads: Annotated[int, typer.Option(min=1, help="Number of heads of each layer.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same weights.")] = 0,
    causal: Annotated[
        bool, typer.Option("--causal", help="Tokens see only earlier ones, as in a decoder.")
    ] = False,
) -> None:
    """Write synthetic attention for first experiments.

    It has the character of a trained encoder's, but no model made it.
    """
    out = output_path(out, option="OUT")
    names = tokens.split()
    if not names:
        raise wrong("--tokens", "expected at least one token, got none")
    if len(names) == 1 and names[0].isdecimal():  # meant as how many
        raise wrong(
            "--tokens", f'expected the tokens themselves, as in "the key is", got {names[0]}'
        )
    if (size := 4 * layers * heads * len(names) ** 2) > _MAX_BYTES:
        raise InputError(
            f"{layers} layers, {heads} heads and {len(names)} tokens need {size / 1e9:,.1f} GB of "
            f"memory, expected at most {_MAX_BYTES / 1e9:.1f} GB. Choose smaller sizes"
        )
    attention = random_attention(layers, heads, len(names), seed=seed, causal=causal, tokens=names)
    attention.save(out)
    typer.echo(
        f"wrote {out}: generated attention of {layers} layers, {heads} heads, {len(names)} tokens"
    )
