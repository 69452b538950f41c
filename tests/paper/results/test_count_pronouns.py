"""Figure 4, counted: the candidate that decides a pronoun, and how often methods point to it."""

import csv
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attnflow as af
from attnflow import models, paper
from attnflow.paper import PronounChoice, PronounSchema
from attnflow.paper.results import _pronoun_choice as reasons
from attnflow.paper.results._count_pronouns import _rules
from attnflow.paper.results._pronoun_choice import changed_inputs

NOUNS = ("author", "Sara", "book", "house", "love")
FRAMES = ("The {} saw the {} at [MASK] house", "To the {} of the {} about [MASK] love")
PRONOUNS = ("his", "her")
SCHEMAS = [
    PronounSchema(frame.format(*pair), pair, PRONOUNS)
    for frame in FRAMES
    for pair in itertools.permutations(NOUNS, 2)
    # The rest of the frame names no candidate.
    if pair[0] not in frame and pair[1] not in frame
]


@pytest.fixture(params=["varied_bert", "varied_gpt"])
def loaded(request: pytest.FixtureRequest) -> models.Loaded:
    return request.getfixturevalue(request.param)


def _log_odds(loaded: models.Loaded, text: str) -> float:
    """Of his against her, straight from the model: at the mask, or at the last position."""
    inputs = loaded.tokenizer(text, return_tensors="pt")
    vocabulary = loaded.tokenizer.get_vocab()
    ids = inputs["input_ids"][0].tolist()
    at = ids.index(vocabulary["[MASK]"]) if "[MASK]" in text else -1
    with torch.no_grad():
        logits = loaded.model(**inputs).logits[0, at].double()
    return float(logits[vocabulary["his"]] - logits[vocabulary["her"]])


def _input(loaded: models.Loaded, schema: PronounSchema) -> str:
    return schema.text if loaded.tokenizer.mask_token else schema.before


@pytest.mark.parametrize(
    ("text", "candidates", "expected"),
    [
        (
            "Someone met the CEO to",
            ("someone", "CEO"),
            ["Someone met someone to", "The CEO met the CEO to", "The person met the CEO to",
             "Someone met the person to"],
        ),
        (
            "The nurse saw a cook who",  # in the other order
            ("cook", "nurse"),
            ["A cook saw a cook who", "The nurse saw the nurse who", "The nurse saw the person who",
             "The person saw a cook who"],
        ),
    ],
)  # fmt: skip
def test_a_candidate_moves_with_its_article(
    text: str, candidates: tuple[str, str], expected: list[str]
) -> None:
    assert changed_inputs(PronounSchema(text, candidates, ("he", "she")), text) == expected


# The log-odds in the sentence, with the first candidate twice, and with the second twice.
@pytest.mark.parametrize(
    ("log_odds", "decides", "reason"),
    [
        # Replacing the second by the first leaves "he", replacing the first changes it.
        ((0.3, 2.0, -1.0), 0, ""),
        ((0.3, -2.0, 1.0), 1, ""),
        ((-0.3, 2.0, -1.0), 1, ""),
        ((-0.3, -2.0, 1.0), 0, ""),
        ((0.3, 2.0, 0.1), None, reasons.NEITHER),
        ((-0.3, -2.0, -0.1), None, reasons.NEITHER),
        ((0.3, -2.0, -0.1), None, reasons.EITHER),
        ((0.0, -2.0, 0.1), None, reasons.EQUAL),
        ((float("nan"), -2.0, 0.1), None, reasons.EQUAL),
    ],
)
def test_the_candidate_that_decides(
    log_odds: tuple[float, ...], decides: int | None, reason: str
) -> None:
    assert reasons._decision(log_odds) == reason
    choice = PronounChoice(SCHEMAS[0], "", log_odds, reason=reason)
    assert choice.decides == decides


def test_support_is_for_the_preferred_pronoun() -> None:
    he = PronounChoice(SCHEMAS[0], "", (1.0, 1.0, -1.0, 0.25, 1.5))
    assert he.pronoun == "his"
    assert he.support == (0.75, -0.5)
    she = PronounChoice(SCHEMAS[0], "", (-1.0, 1.0, -1.0, 0.25, -1.5))
    assert she.pronoun == "her"
    assert she.support == (1.25, -0.5)


def test_choices_are_those_of_the_model(loaded: models.Loaded) -> None:
    found = paper.count_pronouns(loaded.model, loaded.tokenizer, SCHEMAS)
    assert len(found.sentences) == len(SCHEMAS) > 20
    assert len(found.table.texts) > 2
    for choice, schema in zip(found.sentences, SCHEMAS, strict=True):
        assert choice.schema == schema
        text = _input(loaded, schema)
        own = [_log_odds(loaded, each) for each in (text, *changed_inputs(schema, text))]
        assert choice.log_odds == pytest.approx(own, abs=1e-4)
        assert choice.pronoun == PRONOUNS[own[0] < 0]
        sentence, first, second = (value > 0 for value in own[:3])
        decides = None if first == second else int(sentence != first)
        assert choice.decides == decides
    kept = [choice.text for choice in found.sentences if not choice.reason]
    assert found.table.texts == tuple(kept)
    assert sum(found.left_out.values()) == len(SCHEMAS) - len(kept)


def test_hits_are_those_of_the_methods(loaded: models.Loaded) -> None:
    found = paper.count_pronouns(loaded.model, loaded.tokenizer, SCHEMAS)
    counted = [choice for choice in found.sentences if not choice.reason]
    causal = not loaded.tokenizer.mask_token
    for choice, values in zip(counted, found.table.values, strict=True):
        a: Any = models.attend(loaded.model, loaded.tokenizer, choice.text)
        at = a.n_tokens - 1 if causal else a.tokens.index("[MASK]")
        field: Any = {"receptive_field": causal}
        by_method = [af.raw(a), af.rollout(a, **field), af.flow(a, **field)]
        # The tokens of each candidate: Sara has two.
        pieces = [loaded.tokenizer.tokenize(noun) for noun in choice.schema.candidates]
        places = [[a.tokens.index(piece) for piece in each] for each in pieces]
        own = choice.decides
        assert own is not None
        for scores, hits in zip(by_method, values, strict=True):
            rows = scores.scores[:, scores.queries.index(at)]
            one, other = (rows[:, places[which]].sum(axis=1) for which in (own, 1 - own))
            assert np.array_equal(hits, np.where(one > other, 1.0, 0.0))


def test_only_a_decoder_is_corrected(varied_bert: models.Loaded, varied_gpt: models.Loaded) -> None:
    masked = paper.count_pronouns(varied_bert.model, varied_bert.tokenizer, SCHEMAS)
    assert masked.uncorrected is None
    assert masked.table.settings["receptive_field"] is False
    causal = paper.count_pronouns(varied_gpt.model, varied_gpt.tokenizer, SCHEMAS)
    assert causal.uncorrected is not None
    assert causal.uncorrected.rows == ("rollout, uncorrected", "flow, uncorrected")
    assert causal.uncorrected.texts == causal.table.texts
    assert causal.table.settings["receptive_field"] is True
    choice = next(choice for choice in causal.sentences if not choice.reason)
    a: Any = models.attend(varied_gpt.model, varied_gpt.tokenizer, choice.text)
    row = af.rollout(a, queries=a.n_tokens - 1).to_words()
    at = [row.tokens.index(noun) for noun in choice.schema.candidates]
    own = choice.decides
    assert own is not None
    larger = row.scores[:, 0, at[own]] > row.scores[:, 0, at[1 - own]]
    assert np.array_equal(causal.uncorrected.values[0, 0], larger.astype(float))


def test_rules_by_hand(varied_bert: models.Loaded) -> None:
    found = paper.count_pronouns(varied_bert.model, varied_bert.tokenizer, SCHEMAS)
    counted = [choice for choice in found.sentences if not choice.reason]
    rules = found.table.per_text
    assert list(rules) == [
        "chance", "first candidate", "nearest candidate", "larger support", "larger effect",
    ]  # fmt: skip
    assert set(rules["chance"]) == {0.5}
    for place, choice in enumerate(counted):
        own = choice.decides
        assert own is not None
        # In these frames the first candidate is the first of the pair, and the second is nearest.
        assert rules["first candidate"][place] == (own == 0)
        assert rules["nearest candidate"][place] == (own == 1)
        support = choice.support
        assert rules["larger support"][place] == (support[own] > support[1 - own])
        assert rules["larger effect"][place] == (abs(support[own]) > abs(support[1 - own]))


@pytest.mark.parametrize(
    ("text", "first", "nearest"),
    [
        ("The author at [MASK] house saw the book", 1, 1),  # 1 word before, 2 after
        ("The author at the house saw [MASK] love of the book", 1, 0),  # 4 words, 2 words
        ("The author saw at [MASK] love of the book", 1, 0.5),  # 2 words, 2 words
        ("At [MASK] house the book saw the author", 0, 0),  # 3 words, 1 word
    ],
)
def test_a_candidate_may_come_after_the_pronoun(text: str, first: int, nearest: float) -> None:
    schema = PronounSchema(text, ("author", "book"), PRONOUNS)
    choice = PronounChoice(schema, text, (1.0, 1.0, -1.0, 0.5, 0.75))
    assert choice.decides == 0
    assert _rules(choice) == (0.5, first, nearest, 1, 1)


def test_sentences_that_cannot_be_counted_are_reported(varied_gpt: models.Loaded) -> None:
    def schema(text: str) -> PronounSchema:
        return PronounSchema(text, ("author", "book"), PRONOUNS)

    cases = {
        "The author saw [MASK] book": reasons.TOO_LATE,
        "[MASK] author saw the book": reasons.TOO_LATE,
        "The author saw the author at the book of [MASK] love": reasons.NOT_ONCE,
        "The author saw Sara at [MASK] love": reasons.NOT_ONCE,
        "The author saw the book of his love at [MASK] house": reasons.REVEALED,
    }
    found = paper.count_pronouns(
        varied_gpt.model, varied_gpt.tokenizer, [*SCHEMAS, *map(schema, cases), *SCHEMAS]
    )
    own = found.sentences[len(SCHEMAS) : len(SCHEMAS) + len(cases)]
    assert [choice.reason for choice in own] == list(cases.values())
    assert all(choice.log_odds == () and choice.pronoun == "" for choice in own)
    again = found.sentences[len(SCHEMAS) + len(cases) :]
    assert {choice.reason for choice in again} == {reasons.REPEATED}
    assert found.left_out[reasons.TOO_LATE] == 2


def test_a_masked_model_reads_what_comes_after(varied_bert: models.Loaded) -> None:
    pair = ("author", "book")
    late = PronounSchema("The author saw [MASK] book", pair, PRONOUNS)
    told = PronounSchema("The author saw the book at [MASK] house of his", pair, PRONOUNS)
    found = paper.count_pronouns(varied_bert.model, varied_bert.tokenizer, [*SCHEMAS, late, told])
    assert found.sentences[-2].log_odds
    assert found.sentences[-1].reason == reasons.REVEALED


def test_a_sentence_that_fails_does_not_stop_the_others(varied_gpt: models.Loaded) -> None:
    unknown = PronounSchema(FRAMES[0].format("author", "Sara"), ("author", "Sara"), ("he", "she"))
    long = PronounSchema("the " * 40 + SCHEMAS[0].text, SCHEMAS[0].candidates, PRONOUNS)
    found = paper.count_pronouns(varied_gpt.model, varied_gpt.tokenizer, [unknown, *SCHEMAS, long])
    first, *rest, last = found.sentences
    assert first.reason == last.reason == reasons.FAILED
    assert "vocabulary" in first.error
    assert "32" in last.error  # positions of the model
    plain = paper.count_pronouns(varied_gpt.model, varied_gpt.tokenizer, SCHEMAS)
    assert [choice.decides for choice in rest] == [choice.decides for choice in plain.sentences]


def test_without_a_sentence_to_count_the_reasons_are_named(varied_gpt: models.Loaded) -> None:
    late = PronounSchema("The author saw [MASK] book", ("author", "book"), PRONOUNS)
    with pytest.raises(af.InputError, match="1: a candidate comes after the pronoun"):
        _ = paper.count_pronouns(varied_gpt.model, varied_gpt.tokenizer, [late])


def test_progress_counts_sentences_that_can_be_asked(varied_gpt: models.Loaded) -> None:
    late = PronounSchema("The author saw [MASK] book", ("author", "book"), PRONOUNS)
    seen: list[tuple[int, int]] = []
    _ = paper.count_pronouns(
        varied_gpt.model, varied_gpt.tokenizer, [late, *SCHEMAS],
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen[0] == (0, len(SCHEMAS))
    assert seen[-1] == (len(SCHEMAS), len(SCHEMAS))


def test_tables_and_files_have_the_shares(varied_gpt: models.Loaded, tmp_path: Path) -> None:
    found = paper.count_pronouns(varied_gpt.model, varied_gpt.tokenizer, SCHEMAS)
    path = tmp_path / "counts.csv"
    sentences = found.save(path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5 * 3 + 4  # methods by layer, and rules
    shares, balanced = found.shares(), found.shares(balanced=True)
    assert list(shares) == ["raw", "rollout", "flow", "rollout, uncorrected", "flow, uncorrected"]
    for row in rows[:15]:
        place = int(row["layer"]) - 1
        for prefix, every in (("", shares), ("balanced_", balanced)):
            for name in ("share", "low", "high"):
                own = getattr(every[row["row"]], name)[place]
                assert float(row[f"{prefix}{name}"] or "nan") == pytest.approx(own, nan_ok=True)
    rules = found.rules()
    assert [row["row"] for row in rows[15:]] == list(rules) == list(found.table.per_text)[1:]
    for row in rows[15:]:
        assert row["layer"] == ""
        assert float(row["share"]) == pytest.approx(found.table.per_text_means[row["row"]][0])
        assert float(row["low"]) == pytest.approx(float(rules[row["row"]].low))
    with sentences.open(newline="", encoding="utf-8") as file:
        every = list(csv.DictReader(file))
    assert [row["sentence"] for row in every] == [schema.text for schema in SCHEMAS]
    for row, choice in zip(every, found.sentences, strict=True):
        assert row["left_out"] == choice.reason
        assert float(row["log_odds_without_2"]) == pytest.approx(choice.log_odds[4])
        assert bool(row["decides"]) == (not choice.reason)
    header, _, *lines = found.markdown().splitlines()
    assert header.replace(" ", "") == (
        "|layer|raw|rollout|flow|raw,balanced|rollout,balanced|flow,balanced|"
    )
    assert len(lines) == 3
    raw = shares["raw"]
    assert f"{raw.share[2]:.2f} [{raw.low[2]:.2f}, {raw.high[2]:.2f}]" in lines[2]


def test_the_balanced_share_is_the_mean_over_who_decides(varied_gpt: models.Loaded) -> None:
    found = paper.count_pronouns(varied_gpt.model, varied_gpt.tokenizer, SCHEMAS)
    first = np.array([choice.decides == 0 for choice in found.sentences if not choice.reason])
    assert 0 < first.sum() < len(first)
    values = found.table.values[:, 1]
    expected = (values[first].mean(axis=0) + values[~first].mean(axis=0)) / 2
    assert np.allclose(found.shares(balanced=True)["rollout"].share, expected)


def test_the_figure_has_shares_with_bands_and_rules(varied_gpt: models.Loaded) -> None:
    found = paper.count_pronouns(varied_gpt.model, varied_gpt.tokenizer, SCHEMAS)
    figure: Any = paper.pronoun_counts_figure(found, title="a title")
    left, right = figure.axes
    assert figure.get_suptitle() == "a title"
    for ax, shares in ((left, found.shares()), (right, found.shares(balanced=True))):
        lines = {line.get_label(): line for line in ax.lines}
        for name in ("raw", "rollout", "flow"):
            assert np.allclose(lines[name].get_ydata(), shares[name].share, equal_nan=True)
        assert len(ax.collections) == 3
    for ax, rules in ((left, found.rules()), (right, found.rules(balanced=True))):
        drawn = {line.get_label(): line.get_ydata()[0] for line in ax.lines[3:]}
        assert drawn.pop("chance") == 0.5
        assert len(drawn) == 2
        for name, value in drawn.items():
            assert value == pytest.approx(float(rules[name].share))
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 8


def test_a_classifier_is_no_language_model() -> None:
    shipped = paper.load()
    with pytest.raises(af.UnsupportedModelError, match="bert-base-uncased"):
        _ = paper.count_pronouns(shipped.model, shipped.tokenizer, SCHEMAS)
