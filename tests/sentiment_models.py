"""Small sentiment models that know the words of a few short reviews, and these reviews as SST-2."""

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pronoun_models import word_piece

if TYPE_CHECKING:
    from attnflow.models import Loaded

OPINIONS = (("bad", "dull", "poor", "bleak"), ("good", "great", "fine", "warm"))
OTHERS = ("the", "a", "film", "story", "is", "and", "very", "of")
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_WORDS = [*_SPECIAL, *OTHERS, *OPINIONS[0], *OPINIONS[1]]


def reviews(count: int, seed: int) -> list[tuple[str, int]]:
    """Sentences of a few words, one of them an opinion, which is the label."""
    made = random.Random(seed)  # noqa: S311 (sentences, not secrets)
    rows: list[tuple[str, int]] = []
    for number in range(count):
        words = [*made.choices(OTHERS, k=made.randint(2, 6)), made.choice(OPINIONS[number % 2])]
        made.shuffle(words)
        rows.append((" ".join(words), number % 2))
    return rows


@pytest.fixture(scope="session")
def small_sst2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of SST-2 with 96 sentences for training, 20 for dev and 110 for test."""
    folder = tmp_path_factory.mktemp("data") / "sst2"
    folder.mkdir()
    for name, count, seed in (("train", 96, 0), ("dev", 20, 1)):
        rows = [f"{text} \t{label}\n" for text, label in reviews(count, seed)]
        _ = (folder / f"{name}.tsv").write_text("sentence\tlabel\n" + "".join(rows))
    rows = [f"{number}\t{text}\n" for number, (text, _) in enumerate(reviews(110, 2))]
    _ = (folder / "test.tsv").write_text("index\tsentence\n" + "".join(rows))
    return folder


@pytest.fixture(scope="session")
def small_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an encoder of two layers, with its tokenizer."""
    import torch
    import transformers as hf

    folder = tmp_path_factory.mktemp("models") / "base"
    _ = torch.manual_seed(0)
    config = hf.BertConfig(**_SIZES, num_hidden_layers=2, initializer_range=0.1)
    hf.BertModel(config).save_pretrained(folder)
    _ = tokenizer(folder)
    return folder


def tokenizer(folder: Path | None = None) -> Any:
    """The tokenizer of the reviews, also written to a folder."""
    made = word_piece(_WORDS, masks=True)
    made.model_max_length = _SIZES["max_position_embeddings"]
    if folder is not None:
        made.save_pretrained(folder)
    return made


_SIZES: dict[str, Any] = {
    "vocab_size": len(_WORDS),
    "hidden_size": 16,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 24,
}


@pytest.fixture(scope="session")
def small_sentiment() -> "Loaded":
    """A sentiment classifier of six layers with random weights, large enough to differ."""
    import torch
    import transformers as hf

    from attnflow.models import Loaded

    _ = torch.manual_seed(0)
    config = hf.BertConfig(**_SIZES, num_hidden_layers=6, initializer_range=0.4)
    return Loaded(hf.BertForSequenceClassification(config).eval(), tokenizer())


@pytest.fixture(scope="session")
def small_distilbert() -> "Loaded":
    """The same as a DistilBERT."""
    import torch
    import transformers as hf

    from attnflow.models import Loaded

    _ = torch.manual_seed(0)
    sizes: dict[str, Any] = {"dim": 16, "n_heads": 2, "hidden_dim": 16, "n_layers": 6}
    config = hf.DistilBertConfig(
        vocab_size=len(_WORDS), max_position_embeddings=24, initializer_range=0.4, **sizes
    )
    return Loaded(hf.DistilBertForSequenceClassification(config).eval(), tokenizer())
