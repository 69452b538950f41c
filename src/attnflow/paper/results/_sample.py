"""The sentences of a table."""

import random

from attnflow.paper.data import Prefix, Splits, generate


def sample(
    splits: Splits | None, count: int, *, seed: int = 0, subject: bool = False
) -> list[Prefix]:
    """Return `count` distinct natural sentences that were not trained on; all if there are fewer.

    Parameters
    ----------
    splits
        The result of `load_splits`: sentences come from its test splits. None generates sentences,
        some of which a model may have been trained on.
    count
        Number of sentences.
    seed
        Seed of the random sample.
    subject
        Whether to return only sentences with a known subject.

    Examples
    --------
    >>> len(sample(None, 10))
    10
    """
    if splits is None:
        # Short sentences are often generated twice; three times as many have enough distinct ones.
        found = list({prefix.words: prefix for prefix in generate(3 * count, seed=seed)}.values())
    else:
        found = [*splits.test, *splits.wiki_test]
        if subject:
            found = [prefix for prefix in found if prefix.subject is not None]
        random.Random(seed).shuffle(found)  # noqa: S311 (sentences, not secrets)
    return found[:count]
