"""Which reactant atom is this product atom? What raw attention, rollout and flow of RXNMapper say.

RXNMapper (Schwaller et al. 2021, https://doi.org/10.1126/sciadv.abe4166) reads the atom mapping of
a reaction off the attention of one head of a language model for reactions. Here every product atom
asks by its own row: on which reactant atom is its highest score? RXNMapper itself does more: it
adds the reactants' rows and prefers neighbours of atoms that are mapped already. The reactions,
with the right answers, are in tests/real/reactions.py.

    python benchmarks/atom_mapping.py
    python benchmarks/atom_mapping.py --edges     all edge weights, by layer
"""

import argparse
import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import report
from numpy.typing import NDArray

import attnflow as af

# The head that RXNMapper reads: `layers=[10]`, `head=5` in its settings, which count from 0.
PUBLISHED_LAYER, PUBLISHED_HEAD = 11, 5
# Scores this close, of the highest, count as equal: the gap that a proof of flow may have.
_EQUAL = 1e-9

METHODS: dict[str, Callable[..., af.TokenAttention]] = {
    "raw": af.raw,
    "rollout": af.rollout,
    "flow": af.flow,
}


@dataclass(frozen=True, slots=True)
class Atoms:
    """The atoms of one reaction among the model's tokens."""

    reactant: tuple[int, ...]  # positions
    product: tuple[int, ...]
    right: NDArray[np.bool]  # (product atom, reactant atom): the one was the other
    same: NDArray[np.bool]  # (product atom, reactant atom): they are of one element


def atoms(reaction: Any, tokens: Sequence[str], element: Callable[[str], str]) -> Atoms:
    """Where the atoms of a reaction are among the tokens of its SMILES."""
    arrow = tokens.index(">>")
    places = [i for i, token in enumerate(tokens) if element(token)]
    reactant = tuple(i for i in places if i < arrow)
    product = tuple(i for i in places if i > arrow)
    before, after = np.array(reaction.reactant_numbers), np.array(reaction.product_numbers)
    assert (len(before), len(after)) == (len(reactant), len(product)), reaction.name
    right = after[:, None] == before
    assert right.any(axis=1).all(), f"{reaction.name}: a product atom comes from nowhere"
    kinds = np.array([element(token) for token in tokens])
    return Atoms(reactant, product, right, kinds[list(product), None] == kinds[list(reactant)])


def hits(scores: NDArray[np.float64], right: NDArray[np.bool], among: NDArray[np.bool]) -> Any:
    """How many product atoms have their highest score on a right reactant atom, for each layer.

    `scores` is (layer, product atom, reactant atom); only atoms `among` which are looked at. Where
    several share the highest score, the part of them that is right counts.
    """
    seen = np.where(among, scores, -np.inf)
    highest = seen >= seen.max(axis=-1, keepdims=True) * (1 - _EQUAL)
    return ((highest & right).sum(axis=-1) / highest.sum(axis=-1)).sum(axis=-1)


def by_chance(right: NDArray[np.bool], among: NDArray[np.bool]) -> float:
    """How many a blind choice would get right."""
    return float(((right & among).sum(axis=-1) / among.sum(axis=-1)).sum())


@dataclass(slots=True)
class Count:
    """Hits of one method, for each layer: among all reactant atoms and among the same element."""

    among_all: Any = 0
    among_same: Any = 0
    saturated: Any = 0  # reactions in which flow is the same for every product atom

    def add(self, found: af.TokenAttention, of: Atoms) -> None:
        """Count one more reaction."""
        self.saturated = self.saturated + np.array(found.saturated or False, dtype=int)
        scores = found.scores[:, :, list(of.reactant)]
        self.among_all = self.among_all + hits(scores, of.right, np.ones_like(of.right))
        self.among_same = self.among_same + hits(scores, of.right, of.same)


def measured(examples: Iterable[tuple[af.Attention, Atoms]]) -> str:
    """The table, over the product atoms of all reactions together."""
    layers = {name: Count() for name in METHODS}
    head = {name: Count() for name in METHODS}
    chance, total, n_layers, n_reactions = np.zeros(2), 0, 0, 0
    for attention, of in examples:
        n_layers, n_reactions = attention.n_layers, n_reactions + 1
        total += len(of.product)
        chance += by_chance(of.right, np.ones_like(of.right)), by_chance(of.right, of.same)
        for name, method in METHODS.items():
            layers[name].add(method(attention, queries=of.product), of)
            one = {"layers": PUBLISHED_LAYER, "head": PUBLISHED_HEAD}
            head[name].add(method(attention, queries=of.product, **one), of)
    rows = [_row(str(i + 1), layers, i, total, n_reactions) for i in range(n_layers)]
    alone = f"{PUBLISHED_LAYER}, head {PUBLISHED_HEAD} alone"
    rows.append(_row(alone, head, 0, total, n_reactions))
    rows.append(["by chance", *([_share(part, total) for part in chance] * len(METHODS)), ""])
    columns = [f"{name}, {among}" for name in METHODS for among in ("all", "same element")]
    return report.table(["layer", *columns, "flow is saturated in"], rows)


def by_edges(chosen: Iterable[tuple[Any, Atoms]], model: Any, tokenizer: Any) -> str:
    """The share of right atoms among all reactant atoms, for each edge weight, method and layer."""
    edges: Any = importlib.import_module("attnflow.edges")
    found: dict[tuple[str, str], Any] = {}
    total, chance = 0, 0.0
    for reaction, of in chosen:
        total += len(of.product)
        chance += by_chance(of.right, np.ones_like(of.right))
        for name in edges.EDGES:
            # Gradients are of what the model predicts at a product atom: a graph for each atom.
            asked: Any = [[place] for place in of.product] if name == "gradient" else [of.product]
            graphs = [
                edges.edge_graph(
                    model,
                    tokenizer,
                    reaction.smiles,
                    name,
                    position=queries[0] if name == "gradient" else None,
                )
                for queries in asked
            ]
            for method, compute in METHODS.items():
                scores = [
                    compute(graph, queries=queries).scores[:, :, list(of.reactant)]
                    for graph, queries in zip(graphs, asked, strict=True)
                ]
                count = hits(np.concatenate(scores, axis=1), of.right, np.ones_like(of.right))
                found[name, method] = found.get((name, method), 0) + count
    rows = [
        [name, method, *(_share(part, total) for part in parts)]
        for (name, method), parts in found.items()
    ]
    n_layers = len(rows[0]) - 2
    rows.append(["by chance", "", *[_share(chance, total)] * n_layers])
    return report.table(["edges", "method", *(f"L{i + 1}" for i in range(n_layers))], rows)


def _row(
    name: str, counts: dict[str, Count], layer: int, total: int, n_reactions: int
) -> list[str]:
    each = [
        part[layer] for count in counts.values() for part in (count.among_all, count.among_same)
    ]
    saturated = f"{counts['flow'].saturated[layer]} of {n_reactions}"
    return [name, *(_share(part, total) for part in each), saturated]


def _share(part: float, total: int) -> str:
    return f"{part / total:.0%}"


def report_atoms(*, first: int | None = None, edges: bool = False) -> str:
    """The table of raw attention, rollout and flow, or that of all edge weights, with its title."""
    # By name: they live with the tests of real models.
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "real"))
    reactions: Any = importlib.import_module("reactions")
    models: Any = importlib.import_module("attnflow.models")
    model, tokenizer = importlib.import_module("from_folders").rxnmapper()
    chosen = reactions.REACTIONS[:first]
    attended = [models.attend(model, tokenizer, each.smiles) for each in chosen]
    examples = [
        (attention, atoms(each, attention.tokens, reactions.element))
        for each, attention in zip(chosen, attended, strict=True)
    ]
    count = sum(len(of.product) for _, of in examples)
    title = (
        f"RXNMapper on {len(chosen)} reactions: how many of {count} product atoms have their "
        "highest score on the right reactant atom, among all reactant atoms"
    )
    if edges:
        table = by_edges(zip(chosen, (of for _, of in examples), strict=True), model, tokenizer)
        return (
            f"{title}. Raw scores are over the positions of the layer below. Gradients are of the "
            f"token that the model predicts at each product atom.\n\n{table}"
        )
    return (
        f"{title} and among those of the same element. Raw scores are over the positions of the "
        f"layer below, those of rollout and flow over the input.\n\n{measured(examples)}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="how often attention names the right atom")
    _ = parser.add_argument("--first", type=int, help="only so many reactions")
    _ = parser.add_argument("--edges", action="store_true", help="all edge weights, by layer")
    options = parser.parse_args()
    print(report_atoms(first=options.first, edges=options.edges))


if __name__ == "__main__":
    main()
