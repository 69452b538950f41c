"""Optional packages: checked before any work, and named in the error where they are missing."""

import importlib.util

from attnflow.errors import MissingDependencyError

# The optional dependencies of pyproject.toml, by extra; a test compares the two.
EXTRAS = {
    "models": ("safetensors>=0.4", "torch>=2.6", "transformers>=5.2,<5.23"),
    "pandas": ("pandas>=2.2.2",),
    "parquet": ("pyarrow>=16",),
    "plot": ("matplotlib>=3.10",),
    "ray": ("ray>=2.40",),
    "safetensors": ("safetensors>=0.4",),
    "serve": ("fastapi>=0.115", "uvicorn>=0.30"),
    "view": ("anywidget>=0.9",),
}


def require(*packages: str, need: str, extra: str) -> None:
    """Raise a MissingDependencyError where one of `packages` is not installed; import nothing.

    `need` begins the sentence; `extra` names the optional dependencies to install.

    >>> require("nowhere", need="figures need", extra="plot")
    Traceback (most recent call last):
    attnflow.errors.MissingDependencyError: figures need nowhere, which is not installed; run pip
    install "matplotlib>=3.10"
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(
                f"{need} {package}, which is not installed; run {install_command(extra)}"
            )


def install_command(*extras: str) -> str:
    """Return the command that installs the packages of some extras, wherever attnflow comes from.

    >>> install_command("plot", "view")
    'pip install "matplotlib>=3.10" "anywidget>=0.9"'
    """
    return " ".join(["pip install", *(f'"{name}"' for extra in extras for name in EXTRAS[extra])])
