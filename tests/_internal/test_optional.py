import re
import tomllib
from pathlib import Path

import pytest

import attnflow as af
from attnflow._internal.optional import EXTRAS, require

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _requirements(extra: str) -> tuple[str, ...]:
    """What an extra of pyproject.toml installs, but for other extras of attnflow."""
    listed = PROJECT["optional-dependencies"][extra]
    return tuple(name for name in listed if not name.startswith("attnflow["))


def test_errors_name_the_packages_of_the_extras() -> None:
    assert {extra: _requirements(extra) for extra in EXTRAS} == EXTRAS


def test_all_is_every_extra_for_users_but_ray() -> None:
    (named,) = PROJECT["optional-dependencies"]["all"]
    assert named == f"attnflow[{','.join(sorted(EXTRAS.keys() - {'ray'}))}]"
    assert set(PROJECT["optional-dependencies"]) == {*EXTRAS, "all", "dev", "docs"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_package_is_named_with_a_command_that_installs_it(extra: str) -> None:
    require("numpy", need="tests need", extra=extra)
    with pytest.raises(af.MissingDependencyError, match="tests need nowhere, which is") as error:
        require("numpy", "nowhere", need="tests need", extra=extra)
    command = str(error.value).partition("run pip install ")[2]
    assert tuple(re.findall(r'"(.+?)"', command)) == EXTRAS[extra]


def test_capped_packages_are_capped_at_what_is_tested() -> None:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    capped = [name for name in (*PROJECT["dependencies"], *EXTRAS["models"]) if "<" in name]
    assert [re.split(r"[<>=]", name)[0] for name in capped] == ["numba", "transformers"]
    for requirement in capped:
        name, major, minor = re.fullmatch(r"(\w+)>=[\d.]+,<(\d+)\.(\d+)", requirement).groups()  # type: ignore[union-attr]
        assert re.search(rf"^{name}=={major}\.{int(minor) - 1}\.\d+", constraints, re.MULTILINE)
