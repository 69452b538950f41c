"""Models and tokenizers from a folder or the Hugging Face hub."""

from attnflow.models.loading._load import Loaded, check_device, load, quiet_transformers

__all__ = ["Loaded", "check_device", "load", "quiet_transformers"]
