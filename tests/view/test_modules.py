"""The page's files: all are shipped and listed, and joined they make one script."""

import re
from importlib.resources import files

import pytest

from attnflow.view._modules import joined, module_names, page_file

FOLDER = files("attnflow.view") / "page"
FILES = sorted(entry.name for entry in FOLDER.iterdir())
# Joined after the modules for a page; parts of the local app, which loads modules one by one.
STARTING = {"page-start.js", "app.js"}
IMPORT = re.compile(r'import \{ [\w$, ]+ \} from "\./([\w-]+\.js)";')
DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|const|let|class) ([\w$]+)", re.MULTILINE
)


def test_every_file_of_the_page_is_there() -> None:
    for name in ("page.html", "page.css", "modules.txt", "widget.js", "page-start.js"):
        assert page_file(name).strip(), name


def test_every_module_is_listed_once_and_the_last_mounts() -> None:
    scripts = {name for name in FILES if name.endswith(".js")} - STARTING
    listed = module_names()
    assert set(listed) >= {name for name in scripts if not name.startswith("app")}
    assert len(set(listed)) == len(listed)
    assert set(listed) <= scripts
    assert listed[-1] == "widget.js"


@pytest.mark.parametrize("name", [*module_names(), "page-start.js"])
def test_imports_stand_on_one_line_and_point_to_earlier_modules(name: str) -> None:
    earlier = module_names()[: module_names().index(name)] if name in module_names() else FILES
    for line in re.findall(r"^[ \t]*import\b[^(].*$", page_file(name), flags=re.MULTILINE):
        match = IMPORT.fullmatch(line)
        assert match, line
        assert match[1] in earlier


@pytest.mark.parametrize("name", [*module_names(), "page-start.js"])
def test_only_declarations_are_exported(name: str) -> None:
    exports = re.findall(r"^[ \t]*(export\b.*)$", page_file(name), flags=re.MULTILINE)
    for line in exports:
        assert re.match(r"export (async function|function\*?|const|class|default) ", line), line
        assert not line.startswith("export default") or name == "widget.js"


def test_top_level_names_are_unique() -> None:
    declared: dict[str, str] = {}
    for module in (*module_names(), "page-start.js"):
        for name in DECLARED.findall(page_file(module)):
            assert name not in declared, f"{name} is in {declared.get(name)} and {module}"
            declared[name] = module


def test_the_joined_script_imports_nothing_and_exports_itself_alone() -> None:
    script = joined()
    assert not re.search(r"^import\b", script, flags=re.MULTILINE)
    assert re.findall(r"^export\b.*$", script, flags=re.MULTILINE) == re.findall(
        r"^export default\b.*$", script, flags=re.MULTILINE
    )
    assert len(re.findall(r"^export default\b", script, flags=re.MULTILINE)) == 1


def test_no_script_can_end_the_element_it_stands_in() -> None:
    assert "</script" not in joined("page-start.js").lower()
    assert "<!--" not in joined("page-start.js")
    assert "</style" not in page_file("page.css").lower()


def test_script_and_style_stay_small_and_safe() -> None:
    script = joined("page-start.js")
    assert len((script + page_file("page.css") + page_file("page.html")).encode()) < 128_000
    for risky in ("import(", "eval(", "new Function", "innerHTML", "outerHTML", "document.write"):
        assert risky not in script
