"""Rollout of long inputs by segments, beside the plain forward pass through fused attention."""

import json
import statistics
import sys
import time
from functools import partial
from typing import Any, NamedTuple

import memory
import report
import timing
from plan import Plan

_HEADS, _LAYERS, _SEGMENTS, _WIDTH = 12, 6, 16, 384  # MiniLM's shape
_UNKNOWN = "[UNK]"
# Whose medians are taken: what an allocator keeps for later differs from one to the next. Chosen.
_PROCESSES = 5
_WAYS = {"sdpa": "SDPA pass", "rollout": "rollout by segments"}


class Peak(NamedTuple):
    """Memory and time of one run: MB of the call and of the whole process, and seconds."""

    call: float
    process: float
    seconds: float


def section(plan: Plan) -> report.Section:
    """Time and memory at the first length, and that the longest one fits."""
    first, longest = plan.long_tokens
    runs = {way: partial(_run, way, _model(first), *_ids(first)) for way in _WAYS}
    times = timing.in_turns(runs, plan.rounds)
    ratio = statistics.median(a / b for a, b in zip(times["rollout"], times["sdpa"], strict=True))
    peaks = {(way, first): _peak(way, first, processes=_PROCESSES) for way in _WAYS}
    peaks |= {(way, longest): _peak(way, longest, processes=1) for way in _WAYS}
    rows = [
        [
            f"{tokens:,}",
            text,
            report.duration(statistics.median(times[way]))
            if tokens == first
            else f"{report.duration(peaks[way, tokens].seconds)} (once)",
            f"{peaks[way, tokens].call:,.0f} MB",
            f"{peaks[way, tokens].process:,.0f} MB",
        ]
        for tokens in (first, longest)
        for way, text in _WAYS.items()
    ]
    rows += [
        [
            f"{tokens:,}",
            "matrices of all heads (not run)",
            "",
            f"{_matrices_mb(tokens):,.0f} MB",
            "",
        ]
        for tokens in (first, longest)
    ]
    text = (
        f"A BERT of MiniLM's shape ({_LAYERS} layers, {_HEADS} heads of {_WIDTH // _HEADS}, random "
        f"weights, float32) on {first:,} and {longest:,} tokens, {_SEGMENTS} segments of equal "
        f"length; time in turns, {plan.rounds} rounds. Memory, in a process of its own: what "
        "the call takes more at its peak than before it, after a call on a tiny input, and the "
        "peak of the process, model and libraries included; at the first length the median of "
        f"{_PROCESSES} processes, at the second one process. For the matrices, what attention "
        "weights alone would take."
    )
    small, big, large = peaks["sdpa", first], peaks["rollout", first], peaks["rollout", longest]
    findings = (
        report.Finding(
            f"segment rollout, {first:,} tokens, {_LAYERS} layers, {_HEADS} heads, "
            f"{_SEGMENTS} segments",
            f"{report.duration(statistics.median(times['rollout']))}, {big.call:,.0f} MB for the "
            f"call, {big.process:,.0f} MB for the process",
            f"plain SDPA pass {report.duration(statistics.median(times['sdpa']))} "
            f"({ratio:.2f} times), {small.call:,.0f} MB for the call "
            f"({big.call / small.call:.2f} times), {small.process:,.0f} MB for the process "
            f"({big.process / small.process:.2f} times); matrices alone: "
            f"{_matrices_mb(first):,.0f} MB",
            "at most 2.5 times its time, 1.3 times the peak memory of its process",
        ),
        report.Finding(
            f"segment rollout, {longest:,} tokens",
            f"{report.duration(large.seconds)}, {large.call:,.0f} MB for the call, "
            f"{large.process:,.0f} MB for the process",
            f"matrices alone: {_matrices_mb(longest):,.0f} MB",
            "finishes on 24 GB",
        ),
    )
    head = ["tokens", "", "time, median", "peak of the call", "peak of the process"]
    return report.Section("Rollout of long inputs", (text, report.table(head, rows)), findings)


def _peak(way: str, tokens: int, *, processes: int) -> Peak:
    """The medians of some processes."""
    runs = [Peak(*timing.in_new_process(__file__, way, str(tokens))) for _ in range(processes)]
    return Peak(*(statistics.median(each) for each in zip(*runs, strict=True)))


def _matrices_mb(tokens: int) -> float:
    return 4 * _LAYERS * _HEADS * tokens**2 / 2**20


def _model(tokens: int) -> Any:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=_WIDTH,
        num_hidden_layers=_LAYERS,
        num_attention_heads=_HEADS,
        intermediate_size=4 * _WIDTH,
        max_position_embeddings=tokens,
    )
    return BertModel._from_config(config, attn_implementation="sdpa").eval()  # noqa: SLF001


def _ids(tokens: int) -> tuple[Any, str, Any]:
    """A text of as many words, its ids, and a tokenizer that knows them."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = [f"w{number}" for number in range(1000)]
    vocabulary = {word: number for number, word in enumerate([*words, _UNKNOWN])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token=_UNKNOWN))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, unk_token=_UNKNOWN)
    lines = [
        " ".join(words[(line * 37 + k) % 1000] for k in range(tokens // _SEGMENTS))
        for line in range(_SEGMENTS)
    ]
    text = "\n".join(lines)
    return tokenizer, text, tokenizer(text, return_tensors="pt").input_ids


def _run(way: str, model: Any, tokenizer: Any, text: str, ids: Any) -> object:
    import torch

    from attnflow.models import rollout_segments

    if way == "rollout":
        return rollout_segments(model, tokenizer, text, segments="lines")
    with torch.no_grad():
        return model(input_ids=ids)


def _measure(way: str, tokens: int) -> Peak:
    model = _model(tokens)
    given = _ids(tokens)
    _ = _run(way, model, *_ids(_SEGMENTS))  # loads what is loaded late
    start = time.perf_counter()
    call = memory.extra_mb(partial(_run, way, model, *given))
    return Peak(call, memory.peak_mb(), time.perf_counter() - start)


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]))))
