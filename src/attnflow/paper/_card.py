"""The model card: what a model is, how it was trained, what it reaches and where it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnflow.paper._splits import GENERATED
from attnflow.paper._vocabulary import SPECIAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnflow.paper._figures import Figures
    from attnflow.paper._measure import Accuracy
    from attnflow.paper._recipe import Recipe
    from attnflow.paper._splits import Splits
    from attnflow.paper._train import Epoch

_WEAK = 0.8  # chosen: below it, the card names a kind of sentence among the limits
_ENOUGH = 20  # prefixes; of fewer an accuracy says little

_WHAT = """# Verb-number model

Reads the words before a verb and says whether the verb is singular or plural: "the key to the
cabinets" → singular. The model of section 2 of Abnar & Zuidema, "Quantifying Attention Flow in
Transformers" (ACL 2020): an encoder of 6 GPT-2 blocks in which every token attends to every token,
8 heads, width 128, learned positions, a CLS token first, which the classifier reads, and the
marker `<?>` at the verb's place. Padding is masked. The weights are this project's own.

- vocabulary: {words:,} words beside the special ones; text is taken as people type it, unknown
  words become [UNK]
- weights: float16, {size:.1f} MB; computed with in float32
- load it with `attnflow.paper.load(folder)`; `README.md` is this card, `config.json` and
  `vocabulary.json` belong to the model, and `checkpoint.safetensors`, where there is one, is only
  for going on with a training run
"""

_FIGURES = """## Figures

Measured at the end of training, with the float16 weights of this folder. *Distinct* counts each
prefix once; *as they occur* counts it as often as it stands in its file.
"""

_COUNTED = """In wiki-test.txt attractors were counted with the nouns found in the training
sentences, so others are missed.
"""

_ON_GENERATED = """- It was trained on generated sentences of a few patterns and words. Its figures
  are of such sentences, and say nothing about natural ones."""

_CHOSEN = """- The recipe was chosen on the validation split of these sentences, whose figure is
  therefore a little too good."""

_ALWAYS = """\
- [UNK] never occurs in training, since the sentences have no unknown words; its embedding is
  zero, so that it tells the model nothing but its place. Words hidden in training are [MASK].
- English, the verb's present tense, and the form of its training sentences: small letters, rare
  words as their part of speech (NN, NNS, NNP, JJ, …). Words outside the vocabulary are all [UNK].
- Made to study how attention is read. It is no grammar checker.
"""

_TRAINED = """## How it was trained

`attnflow train verb-number {options}`: {epochs} epochs in {minutes}
minutes ({computed}). Trained on {natural:,} distinct prefixes in the
natural mix and {attractors:,} with attractors, of which an epoch takes a share, changed by chance:
nouns swapped and flipped in number, other clauses put in front, our own sentences mixed in.
Prefixes that are measured on never come up in training, neither as rows nor by such a change.
Beside the task the model guesses hidden words. First word embeddings come from the words'
neighbours; what is kept is a running mean of the weights.
"""

_LOSS = """The loss is that of training, with label smoothing; that of validation ended at {:.4f}.
"""

_GENERATED = """## Data

{:,} distinct sentences made by `attnflow.paper.generate`: no data of others is in it.
"""

_LINZEN = """## Data

Sentences of Linzen, Dupoux & Goldberg, "Assessing the Ability of LSTMs to Learn Syntax-Sensitive
Dependencies" (TACL 2016, https://doi.org/10.1162/tacl_a_00115), in which all but the 10,000 most
common words are replaced by their part of speech. Prefixes that stand in several files, or twice in
one, were taken once; which split one belongs to is decided by a hash of its words.
"""

_LICENCE = """Licence of the data: none is stated beside the files, so none can be named here. Ask
its authors before you pass it on. The data itself is not in this folder.
"""


def card(
    figures: Figures,
    splits: Splits,
    recipe: Recipe,
    history: Sequence[Epoch],
    *,
    words: int,
    size: int,
    computed: str,
) -> str:
    """The card as Markdown.

    `words` is the size of the vocabulary, `size` that of the weights, and `computed` says with what
    the last bits of the weights may differ.
    """
    parts = (
        _WHAT.format(words=words - len(SPECIAL), size=size / 1e6),
        _reached(figures, splits),
        _limits(figures, splits),
        _trained(splits, recipe, history, computed),
        _data(splits),
    )
    return "\n".join(parts)


# ---- figures --------------------------------------------------------------------------------


def _reached(figures: Figures, splits: Splits) -> str:
    names = {
        "validation": figures.validation,
        _test_name(splits): figures.test,
        "wiki-test.txt, another file": figures.cross,
    }
    lines = [
        _FIGURES,
        "| sentences | distinct prefixes | accuracy, distinct | rows | accuracy, as they occur |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {found.count:,} | {found.distinct:.4f} | {found.rows:,} "
            f"| {found.natural:.4f} |"
            for name, found in names.items()
            if found is not None
        ),
        "",
        "By the number of attractors (nouns of the other number between subject and verb):",
        "",
        "| attractors | sentences | distinct prefixes | accuracy, distinct |",
        "|---|---|---|---|",
        *(
            f"| {kind} | {name} | {found.count:,} | {found.distinct:.4f} |"
            for name, kind, found in _by_attractors(figures, splits)
        ),
        "",
    ]
    if figures.cross_attractors:
        lines.append(_COUNTED)
    return "\n".join(lines)


def _test_name(splits: Splits) -> str:
    names = {source.name for source in splits.sources}
    return "held-out tenth of numpred.val" if "numpred.val" in names else "held-out tenth"


def _by_attractors(figures: Figures, splits: Splits) -> list[tuple[str, int, Accuracy]]:
    files = any(source.name.startswith("numpred.test") for source in splits.sources)
    rows = [
        (f"numpred.test.{kind}, kept apart" if files else "held-out tenth", kind, found)
        for kind, found in figures.test_attractors.items()
    ]
    rows += [("wiki-test.txt", kind, found) for kind, found in figures.cross_attractors.items()]
    return sorted(rows, key=lambda row: row[1])


# ---- limits ---------------------------------------------------------------------------------


def _limits(figures: Figures, splits: Splits) -> str:
    lines = ["## Limits", ""]
    lines.append(_ON_GENERATED if _generated(splits) else _CHOSEN)
    for name, kind, found in _by_attractors(figures, splits):
        if found.distinct < _WEAK and found.count >= _ENOUGH:
            chance = ": no better than chance" if found.distinct < 0.6 else ""
            many = f"{kind} attractor{'' if kind == 1 else 's'}"
            lines.append(
                f"- With {many} ({name}) it is right in {found.distinct:.2f} of {found.count:,} "
                f"prefixes{chance}."
            )
    return "\n".join((*lines, _ALWAYS))


# ---- training -------------------------------------------------------------------------------


def _trained(splits: Splits, recipe: Recipe, history: Sequence[Epoch], computed: str) -> str:
    seconds = sum(epoch.seconds for epoch in history)
    settings = recipe.plain()
    nested = {name: settings.pop(name) for name in ("mix", "augmentation")}
    last = history[-1]
    attractors = any(epoch.attractors is not None for epoch in history)
    lines = [
        _TRAINED.format(
            epochs=recipe.epochs,
            options=_options(splits, recipe),
            computed=computed,
            minutes=max(1, round(seconds / 60)),
            natural=len(splits.natural),
            attractors=len(splits.attractors),
        ),
        "| setting | value |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in settings.items()),
        *(f"| {part}: {k} | {v} |" for part, inner in nested.items() for k, v in inner.items()),
        "",
        "| epoch | loss | validation |" + (" its attractor sentences |" if attractors else ""),
        "|---|---|---|" + ("---|" if attractors else ""),
        *(
            f"| {epoch.number} | {epoch.loss:.4f} | {epoch.validation:.4f} |"
            + (f" {epoch.attractors:.4f} |" if epoch.attractors is not None else "")
            for epoch in _shown(history)
        ),
        "",
        _LOSS.format(last.validation_loss),
        "",
    ]
    return "\n".join(lines)


def _options(splits: Splits, recipe: Recipe) -> str:
    """The options of the command that trains such a model."""
    data = "" if _generated(splits) else "--data DIR "
    seed = f" --seed {recipe.seed}" if recipe.seed else ""
    return f"{data}--out FOLDER{seed} --epochs {recipe.epochs}"


def _shown(history: Sequence[Epoch]) -> Sequence[Epoch]:
    """All epochs, or about twenty of a long run, the last one among them."""
    step = -(-len(history) // 20)
    return history[::-step][::-1]


# ---- data -----------------------------------------------------------------------------------


def _data(splits: Splits) -> str:
    if _generated(splits):
        return _GENERATED.format(splits.sources[0].rows)
    lines = [
        _LINZEN,
        "| file | rows | rows that could not be read |",
        "|---|---|---|",
        *(f"| {each.name} | {each.rows:,} | {each.malformed:,} |" for each in splits.sources),
        "",
        "| split | distinct prefixes |",
        "|---|---|",
        *(f"| {name} | {len(part):,} |" for name, part in _parts(splits) if part),
        "",
        _LICENCE,
    ]
    return "\n".join(lines)


def _parts(splits: Splits) -> tuple[tuple[str, Sequence[object]], ...]:
    return (
        ("training, natural mix", splits.natural),
        ("training, with attractors", splits.attractors),
        ("validation", splits.validation),
        ("validation, with attractors", splits.attractor_validation),
        (_test_name(splits), splits.test),
        ("kept apart, with attractors", splits.attractor_test),
        ("wiki-test.txt", splits.cross),
    )


def _generated(splits: Splits) -> bool:
    return any(source.name == GENERATED for source in splits.sources)
