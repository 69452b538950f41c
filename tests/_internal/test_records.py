"""What the record types share: fixed fields, equality, hashes, copies."""

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

import attnflow as af
from attnflow.types import LayerTable

ATTENTION = af.random_attention(2, 2, 3)
SETTINGS = {"sizes": [1, 2], "nested": {"onto": 0}}
RECORDS: list[Any] = [
    ATTENTION,
    af.EncoderDecoderAttention(
        [[[[1.0]]]], [[[[1.0]]]], [[[[1.0]]]], ["a"], ["b"], origin=af.Origin(text="a\nb")
    ),
    af.max_flow(ATTENTION, source=(2, 0), sink=1),
    ATTENTION.graph(head=1),
    af.rollout(ATTENTION),
    af.Importance([1.0, 2.0], ["a", "b"], "blank_out", SETTINGS, af.Origin(text="ab")),
    LayerTable([[[0.1, np.nan]]], ["raw"], [1, 2], ["a"], {"blank_out": [np.nan]}, SETTINGS),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_copies_are_equal_records(record: Any):
    pickled = pickle.loads(pickle.dumps(record))  # noqa: S301 (our own)
    for other in (pickled, copy.copy(record), copy.deepcopy(record), dataclasses.replace(record)):
        assert other == record
        assert hash(other) == hash(record)
        assert repr(other) == repr(record)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_every_field_is_fixed_and_counts_for_equality(record: Any):
    assert len(dataclasses.fields(record)) > 0
    for field in dataclasses.fields(record):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, field.name, None)
        if field.init:
            other = copy.copy(record)
            object.__setattr__(other, field.name, "another")
            assert record != other
    assert record != "record"


def test_arrays_differ_by_values_and_by_where_they_are_undefined():
    table = LayerTable([[[np.nan, 1.0]]], ["raw"], [1, 2], ["a"])
    assert table == LayerTable([[[np.nan, 1.0]]], ["raw"], [1, 2], ["a"])
    assert table != LayerTable([[[1.0, np.nan]]], ["raw"], [1, 2], ["a"])
    assert table != LayerTable([[[np.nan, 2.0]]], ["raw"], [1, 2], ["a"])


def test_a_table_of_many_layers_with_settings_can_be_hashed():
    assert len({*RECORDS, *copy.deepcopy(RECORDS)}) == len(RECORDS)
