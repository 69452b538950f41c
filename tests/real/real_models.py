"""The real models by name, each with something of the kind that it was trained on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import from_folders
import pytest
import rebuilt

# The heavy chain of trastuzumab, its variable part.
ANTIBODY = (
    "EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAYLQMNSL"
    "RAEDTAVYYCSRWGGDGFYAMDYWGQGTLVTVSS"
)
REACTION = "CC(=O)OC(C)=O.O=C(O)c1ccccc1O>>CC(=O)Oc1ccccc1C(=O)O"  # aspirin
SENTENCE = "The author of the books that lie on the table is talented."


@dataclass(frozen=True, slots=True)
class RealModel:
    """How a model is loaded, and a text for it; an encoder-decoder has a target too."""

    load: Callable[[], tuple[Any, Any]]
    text: str = ""  # empty where it does not take text
    target: str | None = None
    small: bool = False  # its package is installed for every run of the tests


REAL_MODELS = {
    "minilm": RealModel(from_folders.minilm, SENTENCE, small=True),
    "rxnmapper": RealModel(from_folders.rxnmapper, REACTION, small=True),
    "smollm2": RealModel(from_folders.smollm2, SENTENCE, small=True),
    "rxnfp": RealModel(from_folders.rxnfp, REACTION),
    "antiberty": RealModel(from_folders.antiberty, ANTIBODY[:40]),
    "iglm": RealModel(from_folders.iglm, f"[HEAVY][HUMAN]{ANTIBODY[:40]}"),
    "mpnet": RealModel(from_folders.mpnet, SENTENCE),
    "whisper": RealModel(rebuilt.whisper),
    "flan_t5": RealModel(rebuilt.flan_t5, f"translate English to German: {SENTENCE}", "Der Autor"),
    "distilbert": RealModel(rebuilt.distilbert, SENTENCE),
    "cloneguard": RealModel(rebuilt.cloneguard, SENTENCE),
    "dinov2": RealModel(rebuilt.dinov2),
    "sapiens": RealModel(rebuilt.sapiens, ANTIBODY[:40]),
}


def marked(names: Iterable[str]) -> list[Any]:
    """Names for a parametrised test; those of models that are not small carry the mark `real`."""
    return [
        name if REAL_MODELS[name].small else pytest.param(name, marks=pytest.mark.real)
        for name in names
    ]
