"""Names that torch does not promise to keep: only the door uses them, they are there, and a page lists them."""

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[4]
PACKAGE = ROOT / "headrace"
DOOR = PACKAGE / "runtime" / "compiler" / "torch_door"
BELOW = PACKAGE / "resources" / "calling" / "torch_names.py"  # what ops and eager calls use
POOLS = PACKAGE / "ops" / "internal" / "opaque.py"  # how the compiler writes max pools
PAGE = ROOT / "docs" / "next_torch.md"
PRIVATE = re.compile(r"(^|\.)_[A-Za-z]|\.fx\.experimental")


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of names and attributes; nothing of other expressions."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id])) if isinstance(node, ast.Name) else ""


def private_names(file: Path) -> Iterator[str]:
    """The dotted names of torch's that a file imports or spells out, if a part of them begins with an underscore."""
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "torch" in text else ():
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            found = [dotted(node)]
        elif isinstance(node, ast.Call) and dotted(node.func) == "importlib.import_module":
            found = [str(node.args[0].value)] if isinstance(node.args[0], ast.Constant) else []
        else:
            continue
        names = (re.sub(r"^aten\.", "torch.ops.aten.", name) for name in found)
        yield from (name for name in names if name.startswith("torch.") and PRIVATE.search(name))


def names_of(files: list[Path]) -> set[str]:
    found = {name for file in files for name in private_names(file)}
    return {name for name in found if not any(other.startswith(f"{name}.") for other in found)}


def test_only_the_door_has_private_names() -> None:
    outside = {
        f"{file.relative_to(PACKAGE)}: {name}"
        for file in PACKAGE.rglob("*.py")
        if file.parent != DOOR and file not in (BELOW, POOLS)
        for name in private_names(file)
        if not name.startswith("torch.fx.experimental")  # public, though it may change
    }
    assert outside == set()


def test_the_page_lists_the_names_of_the_door() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [name for name in sorted(names_of([*DOOR.glob("*.py"), POOLS])) if f"`{name}`" not in page]
    assert missing == []


def exists(name: str) -> bool:
    """Whether torch has the name: a module, or an attribute of one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False


def test_this_torch_has_the_names() -> None:
    """Says in one line what a new torch lacks."""
    listed = re.findall(r"^\| `(torch\.[\w.]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(listed) > 20
    lacking = [name for name in listed if not exists(name)]
    if not torch.backends.cuda.is_built():
        lacking = [name for name in lacking if "StaticCudaLauncher" not in name]
    assert lacking == [], f"torch {torch.__version__} lacks {', '.join(lacking)}"


@pytest.mark.parametrize("name", ["torch._inductor.no_such_module", "torch._C.no_such_name"])
def test_what_is_not_there_is_found_out(name: str) -> None:
    assert not exists(name)


def test_the_package_asks_for_versions_that_were_tried() -> None:
    wishes = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    (wish,) = [w for w in wishes if w.startswith("torch")]
    low, high = re.fullmatch(r"torch>=(\d+\.\d+),<(\d+\.\d+)", wish).groups()
    head = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| name |"))
    tried = re.findall(r"\d+\.\d+", head)
    assert tried[0] == low and int(high.split(".")[1]) == int(tried[-1].split(".")[1]) + 1
