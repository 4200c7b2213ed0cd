"""Passes and the runtime ask traits; a pass about one op names it once, at its top (passes/match.py), or in ``@rule(...)``."""

import ast
from pathlib import Path

import pytest

HEADRACE = Path(__file__).parents[2] / "headrace"
FILES = sorted(path for folder in ("passes", "runtime") for path in (HEADRACE / folder).rglob("*.py"))
DEVICES = {"cpu", "cuda", "mps", "xpu", "meta"}  # torch.device has a type too


def _strings(node: ast.expr) -> set[str]:
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _asks_for_op(node: ast.expr) -> bool:
    """``node.type``, ``op_def.name`` or ``kernels.inline``, whatever stands before."""
    return isinstance(node, ast.Attribute) and (
        node.attr in ("type", "inline") or (node.attr == "name" and ast.unparse(node.value).endswith("op_def"))
    )


def compared(source: str) -> list[str]:
    """The comparisons with names of ops in a module, with their lines."""
    bad = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            names = {s for side in sides if not _asks_for_op(side) for s in _strings(side)}
            if any(map(_asks_for_op, sides)) and names - DEVICES:
                bad.append(f"{node.lineno}: {ast.unparse(node)}")
            elif isinstance(node.ops[0], (ast.Is, ast.IsNot)) and ast.unparse(node.left).endswith("op_def"):
                bad.append(f"{node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            if isinstance(node.func.value, ast.Dict) and any(map(_asks_for_op, node.args)):
                bad.append(f"{node.lineno}: {ast.unparse(node)}")
    return bad


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HEADRACE)))
def test_no_op_is_known_by_its_name(path: Path) -> None:
    assert not compared(path.read_text()), (
        "ask a trait (core/registry.py), or declare Ops(...) at the top of the module"
    )


@pytest.mark.parametrize(
    "source",
    [
        'node.op_def.name == "Const"',
        'if value.op.type not in ("Reshape", "Squeeze"): pass',
        'x.op_def.kernels.inline == "{0}"',
        "v.op.op_def is read",
        '{"Split": 0}.get(source.type)',
    ],
)
def test_a_comparison_is_seen(source: str) -> None:
    assert compared(source)


def test_other_comparisons_are_not() -> None:
    assert not compared('device.type == "cpu"\nnode in PRODUCT\nnode.op_def.kernels.inline is None\nnode.name == "x"')
