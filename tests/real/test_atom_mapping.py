"""The benchmark on atom mapping counts right, and its reactions are what they say."""

import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reactions import REACTIONS, Reaction, element

import attnflow as af
from attnflow import models
from written_numbers import assert_same_but_for_rounding

ROOT = Path(__file__).parents[2]
atom_mapping: Any = importlib.import_module("atom_mapping")  # of the folder benchmarks

Load = Callable[[str], tuple[Any, Any]]

# Methanol, written the other way round; methylamine takes no part.
SMALL = Reaction("small", "[C:1][O:2].CN", "[O:2][C:1]")
TOKENS = ["[CLS]", "C", "O", ".", "C", "N", ">>", "O", "C", "[SEP]"]


# ---- reactions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("c", "C"),
        ("[CH3:1]", "C"),
        ("Cl", "Cl"),
        ("[Na+]", "Na"),
        ("[nH]", "N"),
        ("[BH4-]", "B"),
        ("Br", "Br"),
        ("[CLS]", ""),
        (">>", ""),
        ("1", ""),
        ("=", ""),
    ],
)
def test_tokens_of_atoms_have_an_element(token: str, expected: str):
    assert element(token) == expected


@pytest.mark.parametrize("reaction", REACTIONS, ids=lambda reaction: reaction.name)
def test_every_product_atom_was_a_reactant_atom_of_its_element(reaction: Reaction):
    def numbered(smiles: str) -> list[tuple[int, str]]:
        return [(int(n), element(e)) for e, n in re.findall(r"\[(\w+):(\d+)\]", smiles)]

    before, after = numbered(reaction.reactants), numbered(reaction.product)
    assert set(after) == set(before)
    assert len({number for number, _ in before}) == len(set(before))  # one element a number
    assert not Counter(after) - Counter(before)  # no atom is made
    assert 0 not in reaction.product_numbers
    assert ":" not in reaction.smiles


def test_the_mapping_is_taken_off():
    by_name = {reaction.name: reaction for reaction in REACTIONS}
    assert by_name["esterification"].smiles == "CC(=O)O.CCO>>CCOC(C)=O"
    assert by_name["reduction of a ketone"].smiles == "CC(=O)c1ccccc1.[BH4-]~[Na+]>>CC(O)c1ccccc1"
    assert by_name["esterification"].reactant_numbers == (1, 2, 3, 0, 4, 5, 6)


def test_rxnmapper_knows_every_token(real: Load):
    _, tokenizer = real("rxnmapper")
    for reaction in REACTIONS:
        tokens = tokenizer(reaction.smiles).tokens()
        assert "[UNK]" not in tokens
        assert "".join(tokens[1:-1]) == reaction.smiles
        assert len(reaction.reactant_numbers + reaction.product_numbers) == sum(
            bool(element(token)) for token in tokens
        )


# ---- counting -------------------------------------------------------------------------------


def test_atoms_are_found_among_the_tokens():
    found = atom_mapping.atoms(SMALL, TOKENS, element)
    assert (found.reactant, found.product) == ((1, 2, 4, 5), (7, 8))
    assert found.right.tolist() == [[False, True, False, False], [True, False, False, False]]
    assert found.same.tolist() == [[False, True, False, False], [True, False, True, False]]


def test_hits_are_counted_layer_by_layer():
    right = np.array([[False, True, False], [True, False, False]])
    everything = np.ones_like(right)
    scores = np.array(
        [
            [[0.1, 0.7, 0.2], [0.6, 0.3, 0.1]],  # both right
            [[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]],  # the first is wrong
            [[0.1, 0.7, 0.7], [0.0, 0.0, 0.0]],  # one of two and one of three that are highest
        ]
    )
    assert np.allclose(atom_mapping.hits(scores, right, everything), [2, 1, 1 / 2 + 1 / 3])
    others = np.array([[True, True, False], [True, True, True]])  # the wrong one is no choice
    assert np.allclose(atom_mapping.hits(scores, right, others), [2, 2, 1 + 1 / 3])
    assert atom_mapping.by_chance(right, others) == pytest.approx(1 / 2 + 1 / 3)


def test_the_table_of_a_hand_made_attention():
    weights = np.full((11, 6, len(TOKENS), len(TOKENS)), 0.1, np.float32)
    # In layer 1 the product's oxygen looks at the right atom and its carbon at the wrong carbon.
    weights[0, :, 7], weights[0, :, 8] = np.eye(10)[2], np.eye(10)[4]
    attention = af.Attention(weights, TOKENS)
    table = atom_mapping.measured([(attention, atom_mapping.atoms(SMALL, TOKENS, element))])
    rows = {line.split(" | ")[0].strip("| "): line for line in table.splitlines()}
    assert rows["1"] == "| 1 | 50% | 50% | 50% | 50% | 50% | 50% | 0 of 1 |"
    # Above it raw attention is even: one of four atoms; the oxygen is alone, the carbons are two.
    assert rows["2"].startswith("| 2 | 25% | 75% |")
    assert rows["by chance"] == "| by chance | 25% | 75% | 25% | 75% | 25% | 75% |  |"


def test_edge_weights_are_counted_and_gradients_asked_for_each_product_atom(
    monkeypatch: pytest.MonkeyPatch,
):
    """Every graph is right about its atoms, but that of norms, which looks at the first token."""
    reactant, asked = {7: 2, 8: 1}, list[tuple[str, int | None]]()

    def edge_graph(_model: Any, _tokenizer: Any, text: str, name: str, position: int | None) -> Any:
        asked.append((name, position))
        assert text == SMALL.smiles
        weights = np.full((len(TOKENS), len(TOKENS)), 0.1)
        for atom in reactant if position is None else [position]:
            weights[atom] = np.eye(len(TOKENS))[1 if name == "norms" else reactant[atom]]
        return af.AttentionGraph([weights], TOKENS)

    monkeypatch.setattr("attnflow.edges.EDGES", ("attention", "gradient", "norms"))
    monkeypatch.setattr("attnflow.edges.edge_graph", edge_graph)
    example = SMALL, atom_mapping.atoms(SMALL, TOKENS, element)
    table = atom_mapping.by_edges([example, example], None, None)
    once = [("attention", None), ("gradient", 7), ("gradient", 8), ("norms", None)]
    assert asked == 2 * once
    assert table.splitlines()[2:] == [
        f"| {name} | {method} | {share} |"
        for name, share in (("attention", "100%"), ("gradient", "100%"), ("norms", "50%"))
        for method in ("raw", "rollout", "flow")
    ] + ["| by chance |  | 25% |"]


# ---- the program ----------------------------------------------------------------------------


def test_the_program_prints_a_row_for_each_layer(real: Load):
    _ = real("rxnmapper")
    result = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "atom_mapping.py", "--first", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    about, _, *table = result.stdout.splitlines()
    assert "on 2 reactions: how many of 17 product atoms" in about
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert cells[0][:3] == ["layer", "raw, all", "raw, same element"]
    names = [str(layer) for layer in range(1, 13)]
    assert [row[0] for row in cells[2:]] == [*names, "11, head 5 alone", "by chance"]
    shares = [cell for row in cells[2:] for cell in row[1:7]]
    assert all(re.fullmatch(r"\d+%", share) and int(share[:-1]) <= 100 for share in shares)
    # One layer is composed with nothing, so the three methods agree.
    assert cells[2][1:3] == cells[2][3:5] == cells[2][5:7]


# ---- the tables in docs/atom-mapping.md ------------------------------------------------------


def _documented(column: str) -> tuple[str, str]:
    """What the page says about the table whose first column is this one, and the table."""
    text = (ROOT / "docs" / "atom-mapping.md").read_text(encoding="utf-8")
    [(about, table)] = re.findall(
        rf"^(.+)\n\n((?:\| {column} \|.*\n)(?:\|.*\n)+)", text, re.MULTILINE
    )
    return about, table


def test_raw_attention_and_rollout_are_as_in_the_table(real: Load):
    model, tokenizer = real("rxnmapper")
    layers, methods = (3, 12), {"raw": af.raw, "rollout": af.rollout}
    counts, total = {name: atom_mapping.Count() for name in methods}, 0
    _, kept = _documented("layer")
    rows = [[cell.strip() for cell in line.split("|")[1:]] for line in kept.splitlines()]
    for reaction in REACTIONS:
        attention: Any = models.attend(model, tokenizer, reaction.smiles)
        of = atom_mapping.atoms(reaction, attention.tokens, element)
        total += len(of.product)
        for name, method in methods.items():
            counts[name].add(method(attention, layers=layers, queries=of.product), of)
    for place, layer in enumerate(layers):
        parts = [part for count in counts.values() for part in (count.among_all, count.among_same)]
        shares = " ".join(f"{part[place] / total:.0%}" for part in parts)
        (documented,) = [row[1:5] for row in rows if row[0] == str(layer)]
        assert_same_but_for_rounding(shares, " ".join(documented))


@pytest.mark.real  # flow of all layers takes half a minute or more
@pytest.mark.parametrize(("column", "options"), [("layer", []), ("edges", ["--edges"])])
def test_the_program_prints_the_tables_that_are_kept(real: Load, column: str, options: list[str]):
    _ = real("rxnmapper")
    result = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "atom_mapping.py", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    about, _, *table = result.stdout.splitlines()
    kept_about, kept = _documented(column)
    assert about == kept_about
    assert_same_but_for_rounding("\n".join(table), kept)
