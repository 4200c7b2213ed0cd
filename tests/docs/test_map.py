"""The pages for those who change Headrace name files, functions and classes that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = ["architecture.md", "add_a_pass.md", "how_a_message_travels.md"]
FOLDERS = (ROOT, ROOT / "headrace", ROOT / "headrace/cluster/transport")  # what the pages leave out of a path
_PATH = re.compile(r"`([\w/]+(?:\.py|/))`")
_NAMES = re.compile(r"`([\w/]+\.py)`: ((?:`[\w.]+`(?:, )?)+)")


def found(path: str) -> Path | None:
    return next((folder / path for folder in FOLDERS if (folder / path).exists()), None)


@cache
def defined(path: Path) -> set[str]:
    """The names that a module defines, at its top or in its classes; methods with their class too."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        names |= _names(node)
        if isinstance(node, ast.ClassDef):
            inner = set().union(*map(_names, node.body))
            names |= inner | {f"{node.name}.{name}" for name in inner}
    return names


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {node.target.id} if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else set()


@pytest.mark.parametrize("page", PAGES)
def test_every_path_is_there(page: str) -> None:
    paths = _PATH.findall((ROOT / "docs" / page).read_text())
    assert paths
    assert [path for path in paths if found(path) is None] == []


@pytest.mark.parametrize("page", ["architecture.md", "how_a_message_travels.md"])
def test_every_name_is_defined_in_its_file(page: str) -> None:
    missing = []
    stops = _NAMES.findall((ROOT / "docs" / page).read_text())
    for path, names in stops:
        file = found(path)
        there = set() if file is None else defined(file)
        missing += [f"{path}: {name}" for name in re.findall(r"`([\w.]+)`", names) if name not in there]
    assert len(stops) > 20
    assert missing == []


def test_every_room_is_on_the_map() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    system = ("core", "graph", "ops", "autodiff", "passes", "client", "cluster", "eager", "library", "tools")
    rooms = [path for top in ("runtime", "resources") for path in (ROOT / "headrace" / top).glob("*/__init__.py")]
    wanted = [*system, *(path.parent.relative_to(ROOT / "headrace").as_posix() for path in rooms)]
    assert len(rooms) > 8
    assert [room for room in wanted if f"\n| `{room}/` |" not in text] == []


def test_a_name_that_is_gone_is_missed() -> None:
    names = defined(ROOT / "headrace/resources/stepping/rendezvous.py")
    assert {"Rendezvous", "Rendezvous.send", "UNTAKEN"} <= names
    assert "Rendezvous.take" not in names
