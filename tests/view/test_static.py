"""The built files of the page: present, marked as generated, small and safe to inline."""

import pytest

from attnflow.view._static import static_file

SCRIPTS = ["page.js", "widget.js", "app.js"]


@pytest.mark.parametrize("name", [*SCRIPTS, "page.css", "app.css"])
def test_a_built_file_names_its_licence_and_its_sources(name: str) -> None:
    banner = static_file(name).partition("\n")[0]
    assert "MIT" in banner
    assert "page/src" in banner


def test_scripts_are_complete_but_for_the_widget_that_the_app_loads() -> None:
    imports = {name: static_file(name).count("import{") for name in SCRIPTS}
    assert imports == {"page.js": 0, "widget.js": 0, "app.js": 1}
    assert 'from"./widget.js"' in static_file("app.js")


def test_no_file_can_end_the_element_it_is_inlined_in() -> None:
    assert "</script" not in static_file("page.js").lower()
    assert "<!--" not in static_file("page.js")
    assert "</style" not in static_file("page.css").lower()


def test_script_and_style_stay_small_and_safe() -> None:
    page = "".join(static_file(f"page.{suffix}") for suffix in ("js", "css", "html"))
    assert len(page.encode()) < 100_000
    for name in SCRIPTS:
        for risky in (
            "import(",
            "eval(",
            "new Function",
            "innerHTML",
            "outerHTML",
            "document.write",
        ):
            assert risky not in static_file(name), name
