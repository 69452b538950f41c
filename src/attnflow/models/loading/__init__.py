"""Models and tokenizers from a folder or the Hugging Face hub."""

from attnflow.models.loading._load import Loaded, load, quiet_transformers

__all__ = ["Loaded", "load", "quiet_transformers"]
