"""Notes on stderr about how scores were made: sinks, gradients, edges, unknown words."""

from collections.abc import Mapping
from typing import Any, cast

import typer

from attnflow._internal.display import percent, printable
from attnflow._internal.sinks import describe_sinks, sinks_to_remove
from attnflow.evaluate import Explanation
from attnflow.types import Attention, AttentionGraph, EncoderDecoderAttention

# How to exclude sinks, for commands without an option for it.
COMPUTE_WITHOUT = "attnflow compute --without"


def print_note(text: str) -> None:
    """Print a note on stderr."""
    typer.echo(f"note: {text}", err=True)


def print_sinks_note(attention: object, *, remedy: str = COMPUTE_WITHOUT) -> None:
    """Print one line about positions that take most of a layer's attention, if there are any.

    `remedy` is the option that excludes them. They are unknown for graphs and scores.
    """
    if not isinstance(attention, Attention | EncoderDecoderAttention):
        return
    if not (sinks := attention.sinks):
        return
    where = sorted({sink.position for sink in sinks})
    them = "it" if len(where) == 1 else "them"
    if remedy.endswith("--without"):
        remedy += " " + ",".join(map(str, where))
    print_note(f"{describe_sinks(sinks, attention.tokens)}; {remedy} takes {them} out")


def print_removed_sinks_note(explanation: Explanation) -> None:
    """Print one line about the sinks of an explanation: taken out, or why they are not."""
    attention, without = explanation.attention, explanation.without
    if not (sinks := attention.sinks):
        return
    described = describe_sinks(sinks, attention.tokens)
    it = "it" if len({sink.position for sink in sinks}) == 1 else "them"
    if without:
        print_without_note(described, len(without))
    elif explanation.edges != "attention":
        edges = explanation.edges
        print_note(f"{described}; --sinks takes {it} out of attention only, not of edges {edges}")
    elif sinks_to_remove(sinks, attention.n_tokens):
        print_note(f"{described}; --sinks remove takes {it} out")
    else:
        print_note(
            f"{described}; the scores keep {it}, as fewer than two other tokens would be left"
        )


def print_without_note(sinks: str, count: int) -> None:
    """Print one line about attention sinks that are taken out of scores, and how to keep them."""
    them = "it" if count == 1 else "them"
    print_note(f"{sinks}; the scores are without {them}, --sinks keep puts {them} back")


def print_unknown_note(explanation: Explanation, unknown: Mapping[int, str]) -> None:
    """Print one line about words that are not in the vocabulary, if there are any."""
    if not unknown:
        return
    each = ", ".join(map(printable, dict.fromkeys(unknown.values())))
    # A word that is [UNK] already does not change when it is replaced by it.
    unk, blank = explanation.tokens[min(unknown)], explanation.importance["blank_out"].settings
    nothing = "; their blank-out is 0 whatever they mean" if blank["replaced_by"] == unk else ""
    print_note(f"not in the model's vocabulary: {each}{nothing}")


def print_uncompared_note(explanation: Explanation) -> None:
    """Print one line if scores are of too few tokens for a rank correlation."""
    if methods := explanation.uncompared:
        which = "" if len(methods) == len(explanation.scores) else f" for {', '.join(methods)}"
        print_note(f"no rank correlation{which}: it needs at least three tokens with scores")


def print_gradient_note(explanation: Explanation) -> None:
    """Print one line if there are no input gradients."""
    if "input_gradient" in explanation.missing:
        print_note(
            "without input gradients: the model passes none on, as quantised models do; blank-out "
            "needs none"
        )


def print_edges_note(graphs: Mapping[Any, object]) -> None:
    """Print what was set to zero, and one line if effective attention is the same as attention."""
    for name, weights in graphs.items():
        if not isinstance(weights, AttentionGraph):
            continue
        if share := percent(cast("float", weights.settings.get("clipped", 0.0))):
            print_note(
                f"edges {name}: {share} of the weights, by absolute value, are negative and set to "
                "zero"
            )
    graph = graphs.get("effective")
    if isinstance(graph, AttentionGraph) and graph.settings.get("equals_attention"):
        print_note(
            "effective attention equals attention here, as it does for texts with no more tokens "
            "than a head has dimensions; only raw scores differ, as those of attention are without "
            "the residual connection"
        )
