"""What a TensorFlow 1 program uses, and what of it Headrace has: read from the source, without running it.

    headrace port train.py models/          or   python -m headrace.tools.port train.py models/

Follows imports of ``tensorflow``, ``tensorflow.compat.v1``, ``headrace`` and modules of theirs, under any name, and names
assigned from them (``slim = tf.contrib.slim``).  Does not follow values: methods of a session or tensor are not checked.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from headrace.tensorflow.finder import target, targets
from headrace.tensorflow.gap import gap, missing_name
from headrace.tensorflow.names import places

ROOTS = ("tensorflow", "headrace")


class Use(NamedTuple):
    """A TensorFlow name, where the program uses it, and, if Headrace lacks it, what to say of that."""

    name: str
    lines: list[int]
    missing: str

    @property
    def gap(self) -> str:
        """The part of TensorFlow that is missing: ``tf.keras`` of ``tf.keras.layers.Dense``."""
        known = gap(self.name)
        return self.name if not known or known.endswith("*") else known


class Report(NamedTuple):
    """What one file uses; `problem` says why it could not be read, if it could not."""

    path: str
    uses: list[Use]
    problem: str = ""

    @property
    def missing(self) -> list[Use]:
        """The names Headrace lacks."""
        return [use for use in self.uses if use.missing]


def examine(source: str, path: str = "<source>") -> Report:
    """The report on one program."""
    try:
        tree = ast.parse(source, path)
    except SyntaxError as error:
        return Report(path, [], f"line {error.lineno}: not Python 3: {error.msg}")
    names: dict[str, list[int]] = {}
    for name, line in _names(tree):
        if name:
            names.setdefault(name, []).append(line)
    uses: dict[str, Use] = {}
    for name, lines in names.items():
        shown, problem = _looked_up(name)
        earlier = uses.get(shown)
        uses[shown] = Use(shown, sorted({*lines, *(earlier.lines if earlier else [])}), problem)
    return Report(path, sorted(uses.values()))


def _names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every chain of names that begins at a TensorFlow module: ``nn.relu``, below the root, and its line."""
    bound = _bindings(tree)
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _of_root(alias.name) and "." in alias.name:
                    yield _below(alias.name), node.lineno
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _of_root(node.module or ""):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}" if alias.name != "*" else str(node.module)
                yield _below(whole), node.lineno
        elif isinstance(node, ast.Attribute) and id(node) not in inner:
            chain = _chain(node, inner)
            if chain and chain[0] in bound:
                start = bound[chain[0]]
                yield ".".join(filter(None, [start, *chain[1:]])), node.lineno


def _bindings(tree: ast.AST) -> dict[str, str]:
    """Variables that hold a TensorFlow module or something of one: name -> place below the root."""
    bound: dict[str, str] = {}
    assigned: list[tuple[str, list[str]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _of_root(alias.name):
                    name = alias.asname or alias.name.partition(".")[0]
                    bound[name] = _below(alias.name) if alias.asname else ""
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _of_root(node.module or ""):
            for alias in node.names:
                bound[alias.asname or alias.name] = _below(f"{node.module}.{alias.name}")
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            chain = _chain(node.value, set())
            if chain:
                assigned.append((node.targets[0].id, chain))
    for name, (first, *rest) in assigned:
        if first in bound and name not in bound:
            place = ".".join(filter(None, [bound[first], *rest]))
            if isinstance(target(place), ModuleType) or target(place) is None:
                bound[name] = place
    return bound


def _chain(node: ast.AST, inner: set[int]) -> list[str]:
    """``a.b.c`` as its names; empty for anything else. The nodes below the first are added to `inner`."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
        inner.add(id(node))
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def _of_root(module: str) -> bool:
    return module.partition(".")[0] in ROOTS


def _below(module: str) -> str:
    """The place below the root: ``tensorflow.compat.v1.nn`` -> ``nn``."""
    below = module.partition(".")[2]
    return below.removeprefix("compat.v1").removeprefix(".") if (below + ".").startswith("compat.v1.") else below


_nothing = object()  # tf.newaxis is None


def _looked_up(name: str) -> tuple[str, str]:
    """-> the part of the name that is TensorFlow's interface, and what to say if Headrace lacks it."""
    name = name.removeprefix("compat.v1.")
    shown, owners = "tf", targets("tensorflow") or []
    module: str | None = ""  # None once inside a class
    for part in name.split(".") if name else ():
        below = f"{module}.{part}".removeprefix(".")
        values = [
            value for value in (inspect.getattr_static(one, part, _nothing) for one in owners) if value is not _nothing
        ]
        values = values or [
            value for value in (getattr(one, part, _nothing) for one in owners) if value is not _nothing
        ]
        if module is not None and (not values or isinstance(values[0], ModuleType)) and places(below) is not None:
            inner = targets(f"tensorflow.{below}")
            if inner is not None:
                shown, owners, module = f"{shown}.{part}", inner, below
                continue
        if not values:
            whole = f"{shown}.{part}" if module is None else f"tf.{name}"
            return whole, missing_name(shown, part, owners)
        shown = f"{shown}.{part}"
        if not isinstance(values[0], type):
            return shown, ""
        owners, module = [values[0]], None
    return shown, ""


# ---- the command


def files(paths: Iterable[str]) -> Iterator[Path]:
    """The Python files named, and those in the folders named."""
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(path.rglob("*.py"))
        else:
            yield path


def report(paths: Sequence[str], only_missing: bool = False) -> int:
    """Prints the verdict on files and folders, then on each file; 0 if all is there, 1 if not, 2 if a file cannot be opened."""
    reports = []
    for path in files(paths):
        try:
            source = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            print(f"{path}: {error.strerror}", file=sys.stderr)
            return 2
        reports.append(examine(source, str(path)))
    print(verdict(reports))
    for examined in reports:
        print("\n".join(_described(examined, only_missing)))
    return int(any(examined.problem or examined.missing for examined in reports))


def verdict(reports: Sequence[Report], shown: int = 5) -> str:
    """How many of the files are ready, and what blocks the others: ``6 files, 4 ready; tf.keras blocks 2``."""
    ready = sum(not (examined.problem or examined.missing) for examined in reports)
    blocks = Counter(name for examined in reports for name in {use.gap for use in examined.missing})
    said = [f"{name} blocks {count}" for name, count in sorted(blocks.items(), key=lambda one: (-one[1], one[0]))]
    if unread := sum(bool(examined.problem) for examined in reports):
        said.append(f"{unread} {'is' if unread == 1 else 'are'} not Python 3")
    more = [f"{len(said) - shown} more"] if len(said) > shown else []
    files = f"{len(reports)} file{'' if len(reports) == 1 else 's'}, {ready} ready"
    return "; ".join(filter(None, [files, ", ".join([*said[:shown], *more])]))


def _described(examined: Report, only_missing: bool) -> Iterator[str]:
    if examined.problem:
        yield f"{examined.path}: {examined.problem}"
        return
    count = len(examined.uses)
    yield f"{examined.path}: {count} TensorFlow names, {count - len(examined.missing)} present, {len(examined.missing)} missing"
    width = max((len(use.name) for use in examined.uses), default=0)
    told: set[str] = set()  # advice on a whole part of TensorFlow is given once
    for use in examined.missing:
        _, _, known = use.missing.partition(". Use today: ")
        hint = f"use today: {known}" if known else use.missing.partition("; ")[2]
        shown = f"  ({hint})" if hint and hint not in told else ""
        told.add(known and hint)
        yield f"  missing  {use.name:{width}}  {_lines(use.lines)}{shown}"
    if not only_missing:
        for use in examined.uses:
            if not use.missing:
                yield f"  present  {use.name:{width}}  {_lines(use.lines)}"


def _lines(lines: Sequence[int], shown: int = 8) -> str:
    more = f", ... ({len(lines)} in all)" if len(lines) > shown else ""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:shown]))}{more}"


def main(argv: Sequence[str] | None = None) -> int:
    """The command."""
    about = "Reports which TensorFlow names a program uses and which of them Headrace lacks, without running it."
    parser = argparse.ArgumentParser(prog="headrace port", description=about)
    parser.add_argument("paths", nargs="+", help="Python files, or folders of them")
    parser.add_argument("--missing", action="store_true", help="show what is missing only")
    options: Any = parser.parse_args(argv)
    return report(options.paths, options.missing)


if __name__ == "__main__":
    sys.exit(main())
