"""Edge weights: the time of each beside the plain forward pass of the same model."""

import statistics
from functools import partial
from typing import Any

import report
import timing
from plan import Plan

# Limits, in plain forward passes; n is the number of tokens.
_LIMITS = {"effective": 3.0, "gradient": 4.0, "norms": 6.0, "alti": 6.0}


def section(plan: Plan) -> report.Section:
    """A classifier of BERT-base's size with random weights."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    from attnflow import edges

    n_tokens = plan.edge_tokens
    config = BertConfig()  # its defaults are BERT-base
    model = BertForSequenceClassification(config).eval()
    ids = {"input_ids": torch.randint(config.vocab_size, (1, n_tokens))}
    runs: dict[str, Any] = {"plain": partial(_plain, model, ids)}
    runs |= {name: partial(getattr(edges, name), model, None, ids) for name in edges.EDGES}
    slow = runs.pop("value_zeroing")
    times = timing.in_turns(runs, plan.rounds)
    # It takes as long as all the others a hundred times, so it is measured once, beside the pass.
    times["value_zeroing"] = [timing.seconds(slow)]
    plain = statistics.median(times["plain"])
    rows, findings = list[list[str]](), list[report.Finding]()
    for name, found in times.items():
        ratio = statistics.median(found) / plain
        limit = n_tokens + 2 if name == "value_zeroing" else _LIMITS.get(name)
        goal = "" if limit is None else f"at most {limit:g} passes"
        rows.append([name, report.duration(statistics.median(found)), f"{ratio:.2f}", goal])
        if limit is not None:
            findings.append(
                report.Finding(
                    f"`edges.{name}`, {n_tokens} tokens, 12 layers, 12 heads",
                    report.duration(statistics.median(found)),
                    f"{ratio:.2f} times the plain forward pass",
                    goal,
                )
            )
    text = (
        f"A classifier of BERT-base's size with random weights, {n_tokens} tokens, float32; the "
        f"plain pass is without gradients and keeps no attention. {plan.rounds} rounds in turns, "
        "medians; value zeroing once."
    )
    head = ["", "time, median", "of the plain pass", "limit"]
    return report.Section("Edge weights", (text, report.table(head, rows)), tuple(findings))


def _plain(model: Any, ids: Any) -> object:
    import torch

    with torch.no_grad():
        return model(**ids)
