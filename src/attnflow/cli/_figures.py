"""`attnflow reproduce figure-1` to `figure-4`: write the figures of the paper to files."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from attnflow import paper, plot
from attnflow._internal.display import printable
from attnflow.cli._loading import cached_folder, explain_memory_errors, loaded_model, loading
from attnflow.cli._model_options import AllowPickle, Device, RemoteCode, Sinks
from attnflow.cli._notes import print_note, print_without_note
from attnflow.cli._options import check_place, wrong
from attnflow.cli._progress import progress_bar
from attnflow.cli._pronoun_counts import PronounFolder, read_pronoun_data, write_counts
from attnflow.cli._texts import encodable
from attnflow.errors import InputError

_BERT = "bert-base-uncased"  # the paper's

Out: TypeAlias = Annotated[
    Path, typer.Option(metavar="DIR", help="Folder for the figure; created if missing.")
]
Format: TypeAlias = Annotated[plot.Format, typer.Option("--format", help="Format of the figure.")]
Model: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder of a model of attnflow train verb-number.  [default: the shipped model]",
    ),
]


def figure_1(*, out: Out = Path(), kind: Format = "svg", model: Model = None) -> None:
    """Figure 1: raw attention, rollout and flow of a sentence, as graphs."""
    _verb_number("figure-1", paper.figure_1, out, kind, model)


def figure_2(*, out: Out = Path(), kind: Format = "svg", model: Model = None) -> None:
    """Figure 2: raw attention of CLS at all layers, for three sentences."""
    _verb_number("figure-2", paper.figure_2, out, kind, model)


def figure_3(*, out: Out = Path(), kind: Format = "svg", model: Model = None) -> None:
    """Figure 3: rollout and flow of CLS at all layers, for three sentences."""
    _verb_number("figure-3", paper.figure_3, out, kind, model)


def figure_4(
    *,
    out: Out = Path(),
    kind: Format = "svg",
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Folder, GGUF file or hub id of a masked language model or a decoder. The default "
            "is loaded from a folder of that name or from the cache of the hub.",
        ),
    ] = _BERT,
    sentence: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="A sentence with [MASK] at the position of a pronoun.  [default: the paper's two]",
        ),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="The words that the pronoun may refer to; with --sentence."
        ),
    ] = None,
    pronouns: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="A pronoun for each candidate; with --sentence."),
    ] = None,
    data: PronounFolder = None,
    sinks: Sinks = "remove",
    receptive_field: Annotated[
        bool | None,
        typer.Option(
            "--receptive-field/--no-receptive-field",
            help="Divide rollout and flow of a decoder by those of uniform causal attention in the "
            "figure.  [default: yes for a decoder]",
        ),
    ] = None,
    allow_pickle: AllowPickle = False,
    remote_code: RemoteCode = False,
    device: Device = None,
) -> None:
    """Figure 4: pronoun resolution by attention and by the prediction of the model.

    Attention from the position of the pronoun to two candidates at all layers, and the
    probabilities of two pronouns. A decoder predicts the pronoun from the words before it. With
    --data, also how often each method gives more weight to the candidate that decides the pronoun:
    replaced by the other candidate, it changes the pronoun, and the other does not.
    """
    plot.require_matplotlib()
    path = _path(out, "figure-4", kind)
    sentences = _sentences(sentence, candidates, pronouns)
    data_sets = read_pronoun_data(data)
    settings = {"allow_pickle": allow_pickle, "remote_code": remote_code, "device": device}
    with loading("drawing", model) as progress, explain_memory_errors("a shorter sentence"):
        if model == _BERT:
            otherwise = (
                "pass --model with the folder or hub id of a masked language model or a decoder"
            )
            folder = cached_folder(model, "google-bert", otherwise=otherwise)
        else:
            folder = model
        loaded = loaded_model(folder, settings)
        progress(0, 1)
        figure = paper.figure_4(
            loaded.model,
            loaded.tokenizer,
            sentences,
            sinks=sinks,
            receptive_field=receptive_field,
        )
    _write(figure, path)
    _print_notes(figure)
    for data_set in data_sets:
        with progress_bar(data_set.name) as progress:
            counts = paper.count_pronouns(
                loaded.model, loaded.tokenizer, data_set.schemas, progress=progress
            )
        write_counts(counts, data_set, path, model=model, folder=str(data))


def _verb_number(
    name: str, draw: Callable[..., paper.PaperFigure], out: Path, kind: str, model: Path | None
) -> None:
    plot.require_matplotlib()
    path = _path(out, name, kind)
    with loading("drawing") as progress:
        loaded = paper.load(model)
        progress(0, 1)
        figure = draw(loaded.model, loaded.tokenizer)
    _write(figure, path)


def _print_notes(figure: paper.PaperFigure) -> None:
    """Print how the scores of Figure 4 were made, with the options for the paper's scores."""
    if figure.without:
        words = ", ".join(map(printable, figure.without))
        print_without_note(f"attention sinks: {words}", len(figure.without))
    if figure.receptive_field:
        print_note(
            "rollout and flow are corrected for the receptive field, --no-receptive-field leaves "
            "it out"
        )


def _path(out: Path, name: str, kind: str) -> Path:
    """Return the path of the figure; raise an error if it cannot be written."""
    check_place(out, option="--out")
    if out.exists() and not out.is_dir():
        raise wrong("--out", f"expected a folder, got the file {str(out)!r}")
    if out.suffix.removeprefix(".").lower() in plot.FORMATS and not out.exists():
        raise wrong(
            "--out",
            f"expected a folder for {name}.{kind}, got {str(out)!r}, which looks like a file. "
            "Choose another name, and the format with --format",
        )
    return out / f"{name}.{kind}"


def _write(figure: paper.PaperFigure, path: Path) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as reason:
        raise InputError(
            f"the folder {path.parent} cannot be created: {reason.strerror}. Choose another --out"
        ) from reason
    plot.save(figure.figure, path)
    for line in figure.predictions:
        typer.echo(printable(line))
    typer.echo(f"wrote {path}")


def _sentences(
    sentence: str | None, candidates: str | None, pronouns: str | None
) -> tuple[paper.PronounSentence, ...]:
    if sentence is None:
        for option, value in (("--candidates", candidates), ("--pronouns", pronouns)):
            if value is not None:
                raise wrong(option, "needs --sentence")
        return paper.FIGURE_4
    text = encodable(sentence, option="--sentence")
    pairs: list[tuple[str, str]] = []
    for option, value in (("--candidates", candidates), ("--pronouns", pronouns)):
        words = tuple(word.strip() for word in (value or "").split(","))
        if len(words) != 2 or not all(words) or len(set(words)) < 2:
            raise wrong(option, f"expected two different words such as his,her, got {value!r}")
        pairs.append((encodable(words[0], option=option), encodable(words[1], option=option)))
    try:
        return (paper.PronounSentence(text, pairs[0], pairs[1]),)
    except InputError as reason:
        raise wrong("--sentence", str(reason)) from reason
