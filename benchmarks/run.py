"""Run all benchmarks and write benchmarks/results.md; with --quick, only show that they run.

What is measured stands in plan.py. Each part has a module of its own and gives a section.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import all_pairs
import app_load
import attending
import corpus
import edge_weights
import forward_pass
import graphs
import machine
import one_query
import page_speed
import paper_tables
import plan
import report
import rollout_chain
import segment_rollout
import start_up
import where_time_goes

from attnflow.maxflow import load_kernels


def main() -> None:
    """Measure, write the report, and print the table for the README."""
    parser = argparse.ArgumentParser(description=__doc__)
    _ = parser.add_argument("--quick", action="store_true", help="small sizes, generated attention")
    _ = parser.add_argument(
        "--out", type=Path, help="the report; default: results.md beside run.py"
    )
    options = parser.parse_args()
    if options.quick and options.out is None:
        parser.error("--quick needs --out: its numbers are not to be kept as results.md")
    out: Path = options.out or Path(__file__).with_name("results.md")
    chosen = plan.QUICK if options.quick else plan.FULL
    real = chosen.real_attention and graphs.real_model_is_installed()
    load_before, start = machine.load(), time.perf_counter()
    for n_tokens in (chosen.n_tokens, *(size.n_tokens for size in chosen.all_pairs)):
        load_kernels(n_tokens)  # compiles the kernels, or reads them from the cache
    sections: list[report.Section] = []
    for name, measure in _measures(chosen, real=real).items():
        print(f"{time.perf_counter() - start:5.0f} s  {name}", file=sys.stderr)
        sections.append(measure())
    minutes = (time.perf_counter() - start) / 60
    introduction = (
        f"Written by `make bench`, in {minutes:.1f} minutes. All in one run on one machine; the "
        f"ratios are what counts. {graphs.description(real=real)}\n\n{machine.facts(load_before)}"
    )
    _ = out.write_text(report.document("Benchmarks", introduction, sections), encoding="utf-8")
    print(report.for_readme(sections))


def _measures(chosen: plan.Plan, *, real: bool) -> dict[str, Callable[[], report.Section]]:
    by_depth = chosen.all_pairs[chosen.by_depth]
    return {
        **{c.name: partial(all_pairs.section, c, real=real) for c in chosen.all_pairs},
        "how flow is timed": all_pairs.method,
        "where the time goes": partial(where_time_goes.section, by_depth, real=real),
        "one query": partial(one_query.section, chosen, real=real),
        "rollout": partial(rollout_chain.section, chosen, real=real),
        **_of_models(chosen),
        "start-up": partial(start_up.section, chosen),
    }


def _of_models(chosen: plan.Plan) -> dict[str, Callable[[], report.Section]]:
    if not (chosen.forward_pass and forward_pass.is_possible()):
        return {}
    return {
        "attention from a model": partial(attending.section, chosen),
        "edge weights": partial(edge_weights.section, chosen),
        "rollout of long inputs": partial(segment_rollout.section, chosen),
        "the paper's tables": partial(paper_tables.section, chosen),
        "evaluation over a corpus": partial(corpus.section, chosen),
        **({"the local app": app_load.section} if app_load.is_possible() else {}),
        **({"the page": page_speed.section} if page_speed.is_possible() else {}),
    }


if __name__ == "__main__":
    main()
