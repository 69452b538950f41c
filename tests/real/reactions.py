"""Well-known reactions whose atom mapping is plain.

A number after a colon says which reactant atom a product atom was before. Atoms that are alike in
their molecule, such as the two carbons beside the substituent of a phenyl ring, share one number:
either is right. Atoms without a number leave. Molecules are written as RDKit writes them, and
sorted, as in the data that RXNMapper was trained on; `~` joins the ions of a salt.
"""

import re
from dataclasses import dataclass

from vocabularies import SMILES

_MAPPED = re.compile(r"\[([A-Za-z][a-z]?)(?:H\d*)?:\d+\]")  # no charge: none here is mapped
_NUMBER = re.compile(r":(\d+)\]")
_NOT_ATOMS = {"[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"}


@dataclass(frozen=True, slots=True)
class Reaction:
    """Reactants and product as mapped SMILES."""

    name: str
    reactants: str
    product: str

    @property
    def smiles(self) -> str:
        """Without the mapping: what a model is given."""
        return _MAPPED.sub(r"\1", f"{self.reactants}>>{self.product}")

    @property
    def reactant_numbers(self) -> tuple[int, ...]:
        """The number of each atom of the reactants; 0 for one that leaves."""
        return _numbers(self.reactants)

    @property
    def product_numbers(self) -> tuple[int, ...]:
        """The number of each atom of the product."""
        return _numbers(self.product)


def element(token: str) -> str:
    """The element of an atom's token, "" for any other token: "c" and "[CH3:1]" are both C."""
    found = re.match(r"\[?(Br|Cl|[A-Z][a-z]?|[bcnosp])", token)
    if found is None or token in _NOT_ATOMS:
        return ""
    return found[1].capitalize()


def _numbers(smiles: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for token in re.findall(SMILES, smiles):
        if element(token):
            found = _NUMBER.search(token)
            numbers.append(int(found[1]) if found else 0)
    return tuple(numbers)


REACTIONS = (
    Reaction(
        "esterification",
        "[CH3:1][C:2](=[O:3])O.[CH3:4][CH2:5][OH:6]",
        "[CH3:4][CH2:5][O:6][C:2]([CH3:1])=[O:3]",
    ),
    Reaction(
        "amide from an acid chloride",
        "[CH3:1][C:2](=[O:3])Cl.[NH2:4][CH2:5][c:6]1[cH:7][cH:8][cH:9][cH:8][cH:7]1",
        "[CH3:1][C:2](=[O:3])[NH:4][CH2:5][c:6]1[cH:7][cH:8][cH:9][cH:8][cH:7]1",
    ),
    Reaction(
        "alkylation of an amine (SN2)",
        "Br[CH2:1][c:2]1[cH:3][cH:4][cH:5][cH:4][cH:3]1.[CH2:6]1[CH2:7][O:8][CH2:7][CH2:6][NH:9]1",
        "[cH:5]1[cH:4][cH:3][c:2]([CH2:1][N:9]2[CH2:6][CH2:7][O:8][CH2:7][CH2:6]2)[cH:3][cH:4]1",
    ),
    Reaction(
        "Williamson ether",
        "[CH3:1][CH2:2]I.[OH:3][c:4]1[cH:5][cH:6][cH:7][cH:6][cH:5]1",
        "[CH3:1][CH2:2][O:3][c:4]1[cH:5][cH:6][cH:7][cH:6][cH:5]1",
    ),
    Reaction(
        "reduction of a ketone",
        "[CH3:1][C:2](=[O:3])[c:4]1[cH:5][cH:6][cH:7][cH:6][cH:5]1.[BH4-]~[Na+]",
        "[CH3:1][CH:2]([OH:3])[c:4]1[cH:5][cH:6][cH:7][cH:6][cH:5]1",
    ),
    Reaction(
        "oxidation of an alcohol",
        "O=[Mn]=O.[OH:1][CH2:2][c:3]1[cH:4][cH:5][cH:6][cH:5][cH:4]1",
        "[O:1]=[CH:2][c:3]1[cH:4][cH:5][cH:6][cH:5][cH:4]1",
    ),
    Reaction(
        "Boc protection",
        "[CH3:1][C:2]([CH3:1])([CH3:1])[O:3][C:4](=[O:5])O[C:4](=[O:5])[O:3][C:2]([CH3:1])([CH3:1])"
        "[CH3:1].[NH2:6][CH2:7][c:8]1[cH:9][cH:10][cH:11][cH:10][cH:9]1",
        "[CH3:1][C:2]([CH3:1])([CH3:1])[O:3][C:4](=[O:5])[NH:6][CH2:7][c:8]1[cH:9][cH:10][cH:11]"
        "[cH:10][cH:9]1",
    ),
    Reaction(
        "Suzuki coupling",
        "Br[c:1]1[cH:2][cH:3][cH:4][cH:3][cH:2]1.[CH3:5][O:6][c:7]1[cH:8][cH:9][c:10](B(O)O)[cH:9]"
        "[cH:8]1",
        "[CH3:5][O:6][c:7]1[cH:8][cH:9][c:10](-[c:1]2[cH:2][cH:3][cH:4][cH:3][cH:2]2)[cH:9][cH:8]1",
    ),
    Reaction(
        "Diels-Alder",
        "[CH2:1]=[CH:2][CH:2]=[CH2:1].[O:3]=[C:4]1[CH:5]=[CH:5][C:4](=[O:3])[O:6]1",
        "[O:3]=[C:4]1[O:6][C:4](=[O:3])[CH:5]2[CH2:1][CH:2]=[CH:2][CH2:1][CH:5]12",
    ),
    Reaction(
        "reductive amination",
        "[CH3:1][NH2:2].O=[CH:3][c:4]1[cH:5][cH:6][cH:7][cH:6][cH:5]1.[BH4-]~[Na+]",
        "[CH3:1][NH:2][CH2:3][c:4]1[cH:5][cH:6][cH:7][cH:6][cH:5]1",
    ),
    Reaction(
        "sulfonamide",
        "[CH3:1][c:2]1[cH:3][cH:4][c:5]([S:6](=[O:7])(=[O:7])Cl)[cH:4][cH:3]1.[NH2:8][c:9]1[cH:10]"
        "[cH:11][cH:12][cH:11][cH:10]1",
        "[CH3:1][c:2]1[cH:3][cH:4][c:5]([S:6](=[O:7])(=[O:7])[NH:8][c:9]2[cH:10][cH:11][cH:12]"
        "[cH:11][cH:10]2)[cH:4][cH:3]1",
    ),
    Reaction(
        "acetylation (aspirin)",
        "[CH3:1][C:2](=[O:3])O[C:2]([CH3:1])=[O:3].[O:4]=[C:5]([OH:6])[c:7]1[cH:8][cH:9][cH:10]"
        "[cH:11][c:12]1[OH:13]",
        "[CH3:1][C:2](=[O:3])[O:13][c:12]1[cH:11][cH:10][cH:9][cH:8][c:7]1[C:5](=[O:4])[OH:6]",
    ),
)
