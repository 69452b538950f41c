"""`image`: scores of patches over the picture."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import attnflow as af
from attnflow import plot as typed_plot

# Of many kinds of artists that matplotlib's types do not tell apart.
plot: Any = typed_plot


@pytest.fixture
def seen() -> af.TokenAttention:
    """Two rows of three patches after a class token, two layers."""
    origin = af.Origin(grid=af.Grid(rows=2, columns=3, prefix=1))
    scores = np.arange(14.0).reshape(2, 1, 7)
    return af.TokenAttention(scores, list("c012345"), [1, 2], [0], "flow", origin=origin)


def test_the_grid_covers_the_complete_picture(seen: af.TokenAttention) -> None:
    ax = plot.image(seen, np.zeros((40, 60, 3)))
    picture, grid = ax.images
    assert picture.get_array().shape == (40, 60, 3)
    assert np.array_equal(grid.get_array(), [[8, 9, 10], [11, 12, 13]])
    assert grid.get_extent() == picture.get_extent()
    assert grid.get_interpolation() == "bilinear"
    assert "layer 2" in ax.get_title()


def test_the_colour_bar_has_an_arrow_where_scores_exceed_it() -> None:
    origin = af.Origin(grid=af.Grid(rows=2, columns=3, prefix=1))
    row = np.array([0.1, 0.9, 0.03, 0.02, 0.02, 0.02, 0.01])
    for scores, extend in ((row, "max"), (np.minimum(row, 0.03), "neither")):
        t = af.TokenAttention([[scores]], list("c012345"), [6], [0], "rollout", origin=origin)
        ax = plot.image(t, np.zeros((4, 6)))
        bar = ax.images[1].colorbar
        assert (bar.extend, bar.ax.get_ylabel(), bar.vmax) == (extend, "share", 0.03)
        assert plot.image(t, np.zeros((4, 6)), colorbar=False).images[1].colorbar is None


def test_the_title_says_that_flow_is_flat_or_saturated(seen: af.TokenAttention) -> None:
    flat = replace(seen, flat=np.array([[False], [True]]))
    assert plot.image(flat, np.zeros((4, 6))).get_title() == "Attention flow, layer 2 (flat)"
    assert plot.image(flat, np.zeros((4, 6)), layer=1).get_title() == "Attention flow, layer 1"
    saturated = replace(seen, saturated=(True, False))
    ax = plot.image(saturated, np.zeros((4, 6)), layer=1)
    assert ax.get_title() == "Attention flow, layer 1 (saturated)"


def test_a_line_says_what_was_taken_out(seen: af.TokenAttention) -> None:
    t = replace(seen, settings={"without": (0,)})
    assert plot.image(t, np.zeros((4, 6))).get_xlabel() == "without position 0 c"
    assert plot.image(seen, np.zeros((4, 6))).get_xlabel() == ""


def test_another_layer_and_hard_patches_can_be_had(seen: af.TokenAttention) -> None:
    grid = plot.image(seen, np.zeros((4, 6)), layer=1, smooth=False).images[1]
    assert np.array_equal(grid.get_array(), [[1, 2, 3], [4, 5, 6]])
    assert grid.get_interpolation() == "nearest"


@pytest.mark.parametrize(
    "picture",
    [
        np.full((4, 6), 255, dtype=np.uint8),
        np.full((4, 6, 1), 1.0),
        np.full((4, 6, 3), 1.0, dtype=np.float32),
        np.full((4, 6, 4), 255),
        np.full((4, 6), True),
    ],
)
def test_pictures_come_in_many_forms(seen: af.TokenAttention, picture: Any) -> None:
    shown = plot.image(seen, picture).images[0].get_array()
    assert float(np.min(shown)) == 1.0


def test_an_image_of_pillow_is_a_picture(seen: af.TokenAttention) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    shown = plot.image(seen, image.new("RGB", (6, 4), "red")).images[0].get_array()
    assert shown[0, 0].tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("mode", ["CMYK", "P", "HSV", "YCbCr", "PA", "RGBX"])
def test_an_image_of_pillow_has_its_colours_in_any_mode(seen: af.TokenAttention, mode: str) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    red = image.new("RGB", (6, 4), "red")
    given = red.convert("P").convert("PA") if mode == "PA" else red.convert(mode)
    shown = plot.image(seen, given).images[0].get_array()
    assert np.allclose(shown[0, 0, :3], [1.0, 0.0, 0.0], atol=0.01)


def test_an_image_of_pillow_keeps_its_transparency(seen: af.TokenAttention) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    grey = image.new("LA", (6, 4), (255, 0))
    palette = image.new("P", (6, 4), 0)
    palette.info["transparency"] = 0
    for given in (grey, palette):
        assert plot.image(seen, given).images[0].get_array()[0, 0, 3] == 0.0


def test_an_image_of_pillow_that_rgb_cannot_show_is_refused(seen: af.TokenAttention) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    with pytest.raises(af.InputError, match=r"La .*in RGB"):
        _ = plot.image(seen, image.new("LA", (6, 4)).convert("La"))


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (np.zeros((3, 40, 60)), r"transpose\(1, 2, 0\)"),
        (np.zeros((4,)), "shape"),
        (np.full((4, 6, 3), -1.5), "not the output of the model's processor"),
        (np.full((4, 6), np.nan), "0 to 1"),
        (np.full((4, 6), 300), "0 to 255"),
        (np.full((4, 6), "a"), "expected integers or floats"),
    ],
)
def test_an_invalid_picture_raises_an_error(
    seen: af.TokenAttention, picture: Any, message: str
) -> None:
    with pytest.raises(af.InputError, match=message):
        _ = plot.image(seen, picture)


def test_scores_that_are_not_of_a_picture_raise_an_error(attention: af.Attention) -> None:
    with pytest.raises(af.InputError, match="patches"):
        _ = plot.image(af.raw(attention), np.zeros((4, 6)))


def test_given_axes_are_used(seen: af.TokenAttention) -> None:
    ax = Figure().subplots()
    assert plot.image(seen, np.zeros((4, 6)), ax=ax) is ax
    with pytest.raises(af.InputError, match="opacity"):
        _ = plot.image(seen, np.zeros((4, 6)), opacity=2, ax=ax)
