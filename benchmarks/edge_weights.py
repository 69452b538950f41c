"""Edge weights: time of each beside the plain forward pass, and memory of norms and ALTI."""

import json
import statistics
import sys
from functools import partial
from typing import Any

import memory
import report
import timing
from plan import Plan

# Limits, in plain forward passes; n is the number of tokens.
_LIMITS = {"effective": 3.0, "gradient": 4.0, "norms": 6.0, "alti": 6.0}
_CAUSAL = "effective, causal"  # queries see different positions, and each has its own values
_MEMORY = ("norms", "alti")
# Whose medians are taken: what an allocator keeps for later differs from one to the next. Chosen.
_PROCESSES = 3


def section(plan: Plan) -> report.Section:
    """Classifiers of the size of BERT-base and GPT-2 with random weights."""
    from attnflow import edges

    n_tokens = plan.edge_tokens
    model, ids = _classifier(n_tokens)
    runs: dict[str, Any] = {"plain": partial(_plain, model, ids)}
    runs |= {name: partial(getattr(edges, name), model, None, ids) for name in edges.EDGES}
    slow = runs.pop("value_zeroing")
    decoder, causal_ids = _classifier(n_tokens, causal=True)
    runs["plain, causal"] = partial(_plain, decoder, causal_ids)
    runs[_CAUSAL] = partial(edges.effective, decoder, None, causal_ids)
    times = timing.in_turns(runs, plan.rounds)
    # It takes as long as all the others a hundred times, so it is measured once, between two
    # plain passes.
    plain = runs["plain"]
    once = timing.in_turns({"before": plain, "value_zeroing": slow, "after": plain}, 1)
    times["value_zeroing"] = once["value_zeroing"]
    beside = dict.fromkeys(times, times["plain"])
    beside |= dict.fromkeys(("plain, causal", _CAUSAL), times["plain, causal"])
    beside["value_zeroing"] = [*once["before"], *once["after"]]
    rows, findings = list[list[str]](), list[report.Finding]()
    for name, found in times.items():
        ratio = statistics.median(found) / statistics.median(beside[name])
        function, _, causal = name.partition(", ")
        limit = n_tokens + 2 if name == "value_zeroing" else _LIMITS.get(function)
        goal = "" if limit is None else f"at most {limit:g} passes"
        rows.append([name, report.duration(statistics.median(found)), f"{ratio:.2f}", goal])
        if limit is not None:
            findings.append(
                report.Finding(
                    f"`edges.{function}`, {n_tokens} tokens, 12 layers, 12 heads"
                    + (f", {causal}" if causal else ""),
                    report.duration(statistics.median(found)),
                    f"{ratio:.2f} times the plain forward pass",
                    goal,
                )
            )
    lengths = n_tokens, 4 * n_tokens  # the square of the length shows in the second
    peaks = [[name, *(f"{_peak(name, n):,.0f} MB" for n in lengths)] for name in _MEMORY]
    vectors = (4 * n**2 * model.config.hidden_size / 2**20 for n in lengths)
    peaks.append(["n² vectors of one layer (not run)", *(f"{size:,.0f} MB" for size in vectors)])
    text = (
        f"A classifier of BERT-base's size with random weights, {n_tokens} tokens, float32; the "
        f"plain pass is without gradients and keeps no attention. {plan.rounds} rounds in turns, "
        "medians; value zeroing once, between two plain passes. Causal is a classifier of GPT-2's "
        "size, beside its own plain pass."
    )
    about = (
        "Memory, in a process of its own: what the call takes more at its peak than before it, "
        f"after a call on a tiny input; the median of {_PROCESSES} processes. Beside it a vector "
        "of the model's width in float32 for each pair of positions, which never exist at once; "
        "short inputs have more of other things."
    )
    head = ["", "time, median", "of the plain pass", "limit"]
    sizes = ["peak of the call", *(f"{n:,} tokens" for n in lengths)]
    blocks = (text, report.table(head, rows), about, report.table(sizes, peaks))
    return report.Section("Edge weights", blocks, tuple(findings))


def _classifier(n_tokens: int, *, causal: bool = False) -> tuple[Any, dict[str, Any]]:
    """A model and its input; the defaults of both configurations are 12 layers of width 768."""
    import torch
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        GPT2Config,
        GPT2ForSequenceClassification,
    )

    if causal:
        model: Any = GPT2ForSequenceClassification(GPT2Config(pad_token_id=0))
    else:
        model = BertForSequenceClassification(BertConfig())
    return model.eval(), {"input_ids": torch.randint(1, model.config.vocab_size, (1, n_tokens))}


def _plain(model: Any, ids: Any) -> object:
    import torch

    with torch.no_grad():
        return model(**ids)


def _peak(name: str, n_tokens: int) -> float:
    """MB of a call at its peak, the median of some processes."""
    runs = [timing.in_new_process(__file__, name, str(n_tokens)) for _ in range(_PROCESSES)]
    return statistics.median(runs)


def _measure(name: str, n_tokens: int) -> float:
    """MB that a call takes more at its peak than before it, its result included."""
    from attnflow import edges

    model, ids = _classifier(n_tokens)
    run = partial(getattr(edges, name), model, None)
    _ = run({"input_ids": ids["input_ids"][:, :4]})
    return memory.extra_mb(partial(run, ids))


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]))))
