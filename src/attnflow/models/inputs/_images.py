"""Images of PIL, which the processor of a model turns into tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attnflow.errors import InputError
from attnflow.models._model import accepts, device_of, dtype_of

if TYPE_CHECKING:
    from torch import nn


def is_image(given: object) -> bool:
    """Whether this is an image of PIL, without an import of it."""
    return any(kind.__module__.partition(".")[0] == "PIL" for kind in type(given).__mro__)


def are_images(given: object) -> bool:
    """Whether this is a list of images."""
    return isinstance(given, list) and bool(given) and all(map(is_image, cast("list[Any]", given)))


def image_tensors(model: nn.Module, processor: Any, images: list[Any]) -> dict[str, Any]:
    """Return the arguments of the forward pass that a processor makes of images."""
    import torch

    named = getattr(processor, "model_input_names", ())
    if processor is None or not callable(processor) or "pixel_values" not in named:
        raise InputError(
            f"an image needs the image processor of the model in place of a tokenizer, got "
            f"{'None' if processor is None else type(processor).__name__}. Pass one, such as "
            "AutoImageProcessor.from_pretrained loads"
        )
    read: Any = processor
    try:
        if getattr(getattr(model, "config", None), "num_channels", 3) == 3:
            images = [image.convert("RGB") for image in images]
        made: dict[str, Any] = dict(read(images=images, return_tensors="pt"))
    except (TypeError, ValueError) as reason:
        raise InputError(
            f"{type(processor).__name__} cannot read the image: {reason}. Pass its output, as in "
            "attend(model, None, processor(…, return_tensors='pt'))"
        ) from reason
    device, dtype = device_of(model), dtype_of(model)
    return {
        name: value.to(device, dtype if value.is_floating_point() else None)
        for name, value in made.items()
        if isinstance(value, torch.Tensor) and accepts(model, name)
    }
