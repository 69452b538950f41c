"""The end of a scale is that of Python."""

from typing import Any

import numpy as np

from attnflow._internal.scale import scale_end


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
