"""Where packages that carry real weights keep them."""

import importlib.metadata
import importlib.util
from pathlib import Path


class NotInstalledError(LookupError):
    """A package that is needed for real weights is not here."""


def package_file(distribution: str, path: str) -> Path:
    """A file or folder of an installed package, found without importing the package."""
    try:
        found = importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        raise NotInstalledError(f"the package {distribution} is not installed") from None
    file = Path(str(found.locate_file(path)))
    if not file.exists():
        raise NotInstalledError(
            f"{distribution} {found.version} has no {path}; constraints.txt says which version has"
        )
    return file


def need(*modules: str) -> None:
    """What transformers, or a loader, imports to read a file."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise NotInstalledError(f"the package {module} is not installed")


def version(distribution: str) -> str:
    """Which version of an installed package this is."""
    return importlib.metadata.version(distribution)
