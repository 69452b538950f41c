"""Pictures as DINOv2 takes them."""

from typing import Any


def noise(side: int) -> Any:
    """Random pixels (1, 3, side, side)."""
    import torch

    return torch.randn(1, 3, side, side, generator=torch.Generator().manual_seed(0))


def red_disc(side: int = 224) -> tuple[Any, Any]:
    """A red disc on grey, and whether each patch of 14 × 14 pixels is inside (row, column)."""
    import torch

    places = torch.arange(side) - side * 0.35
    inside = places[:, None] ** 2 + places**2 < (0.19 * side) ** 2  # 11 % of the picture
    image = torch.full((3, side, side), 0.5)
    image[:, inside] = torch.tensor([0.9, 0.1, 0.1])[:, None]
    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    pixels = (image - mean[:, None, None]) / deviation[:, None, None]
    patches = inside.unfold(0, 14, 14).unfold(1, 14, 14).float().mean(dim=(2, 3)) > 0.5
    return pixels[None], patches
