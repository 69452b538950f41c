"""What the run found, as Markdown: the sections of results.md and the table for the README."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the summary."""

    what: str
    attnflow: str
    beside: str  # what others need for the same, and how many times that is
    floor: str  # what the project asks of itself; empty where it set no floor


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report: paragraphs and tables, and what of it belongs into the summary."""

    title: str
    blocks: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def document(title: str, introduction: str, sections: Sequence[Section]) -> str:
    """The whole report, the summary first."""
    findings = [finding for section in sections for finding in section.findings]
    summary = table(
        ["what", "attnflow", "compared with", "required"],
        [[f.what, f.attnflow, f.beside, f.floor] for f in findings],
    )
    parts = [f"# {title}", introduction, "## Summary", summary]
    for section in sections:
        parts += [f"## {section.title}", *section.blocks]
    return "\n\n".join(parts) + "\n"


def for_readme(sections: Sequence[Section]) -> str:
    """The summary without the floors."""
    findings = [finding for section in sections for finding in section.findings]
    return table(
        ["what", "attnflow", "compared with"], [[f.what, f.attnflow, f.beside] for f in findings]
    )


def duration(seconds: float) -> str:
    """Three figures and a unit: 0.0123 is "12.3 ms"."""
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (600.0, 1.0, "s")):
        if seconds < limit:
            return f"{_figures(seconds * factor)} {unit}"
    if seconds < 10 * 3600:
        return f"{_figures(seconds / 60)} min"
    return f"{_figures(seconds / 3600)} h"


def ratio(value: float) -> str:
    """How many times, in three figures: "1,240 times"."""
    return f"{_figures(value)} times"


def _figures(value: float) -> str:
    if value >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
