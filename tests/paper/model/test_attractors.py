from attnflow.paper import PLURAL, SINGULAR, Prefix
from attnflow.paper.data import Nouns
from attnflow.paper.model import count_attractors


def test_attractors_are_counted_after_the_subject_alone() -> None:
    nouns = Nouns((("key", "keys"), ("cabinet", "cabinets")))
    assert (
        count_attractors(
            Prefix(("the", "key", "to", "the", "cabinets"), SINGULAR, subject=1), nouns
        )
        == 1
    )
    assert (
        count_attractors(Prefix(("the", "keys", "to", "the", "cabinets"), PLURAL, subject=1), nouns)
        == 0
    )
    before = Prefix(("in", "cabinets", "the", "key"), SINGULAR, subject=3)
    assert count_attractors(before, nouns) == 0
    assert count_attractors(Prefix(("the", "key"), SINGULAR), nouns) is None
