"""The ends of scales, and edges that would cover others, are those of Python."""

from typing import Any

import numpy as np

from attnflow._internal.scale import largest_other, scale_end
from attnflow.plot._scale import fans, widest_edge


def test_the_end_of_a_scale_is_that_of_python(modules: Any) -> None:
    random = np.random.default_rng(0)
    rows = [random.lognormal(sigma=2, size=count) for count in (1, 2, 3, *range(4, 40))]
    found = modules.evaluate(
        """async (rows) => {
          const { scaleEnd } = await import("/compute/scale.js");
          return rows.map((row) => scaleEnd(Float64Array.from(row)));
        }""",
        [row.tolist() for row in rows],
    )
    assert found == [scale_end(row) for row in rows]


def test_the_end_of_a_scale_of_cells_is_that_of_python(modules: Any) -> None:
    random = np.random.default_rng(1)
    tables = [random.lognormal(sigma=2, size=(3, count)) for count in (1, 5, 12, 40)]
    found = modules.evaluate(
        """async (tables) => {
          const { robustMax } = await import("/compute/scale.js");
          const skipped = new Set([2]);
          const floats = (row) => Float64Array.from(row);
          return tables.map((rows) => robustMax(rows.map(floats), skipped));
        }""",
        [table.tolist() for table in tables],
    )
    ends = [largest_other(table, np.arange(table.shape[1]) == 2) for table in tables]
    assert [scale["max"] for scale in found] == ends
    expected = [bool(table.max() > end) for table, end in zip(tables, ends, strict=True)]
    assert [scale["exceeds"] for scale in found] == expected


def _edges() -> list[Any]:
    """Edges to sinks, of causal attention, of few queries, and one that is stronger than others."""
    random = np.random.default_rng(2)
    found: list[Any] = []
    for rows, columns in ((30, 30), (60, 60), (12, 12), (3, 30), (8, 30), (1, 30)):
        even = random.uniform(0.01, 0.03, size=(rows, columns))
        strong, sunk = even.copy(), even.copy()
        strong[0, 4] = 0.4
        sunk[:, [0, 7]] = 0.3
        found += [even, strong, sunk, np.tril(strong), np.tril(sunk)]
    return found


def test_the_widest_edge_and_the_edges_that_would_cover_others_are_those_of_python(
    modules: Any,
) -> None:
    edges = _edges()
    found = modules.evaluate(
        """async (all) => {
          const { coveringColumns, edgesEnd } = await import("/compute/scale.js");
          return all.map(({ columns, values }) => {
            const block = { from: 1, to: 0, columns, values: Float64Array.from(values) };
            const end = edgesEnd([block], { own: true, sinks: new Set() });
            return { end, covering: [...coveringColumns(block, true)] };
          });
        }""",
        [{"columns": one.shape[1], "values": one.ravel().tolist()} for one in edges],
    )
    own = [np.eye(*one.shape, dtype=np.bool_) for one in edges]
    ends = [widest_edge(one, mask) for one, mask in zip(edges, own, strict=True)]
    assert [each["end"] for each in found] == ends
    covering = [
        np.flatnonzero(fans(one, mask)).tolist() if one.shape[1] > 20 else []
        for one, mask in zip(edges, own, strict=True)
    ]
    assert [each["covering"] for each in found] == covering
    assert {0, 7} in map(set, covering)
    assert [] in covering
