"""Compiled code that runs without the compiler: torch's compiler writes it in one process, and another process runs it.

Torch's compiler writes a Python module: kernels in C++ for the CPU, built into shared libraries, or in Triton for a GPU, built
into files of machine code, and one function that calls them, torch's own kernels and little else.  Parts that it runs several
times are functions too.  ``take`` cuts the functions out, with the paths of the files; ``put`` makes a callable of them.
Importing the compiler for that would hold the interpreter for seconds.

Modules that need more than this file provides are refused: they can only run in the process of their compiler.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from functools import cache
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import BuiltinFunctionType, SimpleNamespace
from typing import Any

import torch

from headrace.resources.calling.torch_op import define
from headrace.runtime.compiler.own_folder import name_of_own
from headrace.runtime.compiler.torch_door import launching
from headrace.runtime.compiler.torch_door.launching import NeedsCompiler

Code = Callable[[list[Any]], Any]
_RUNNER = "Runner"  # the class whose method ``call`` is the compiled function
_CATALOGUE = "extern_kernels"  # the compiler's names for kernels of torch


def take(code: Code) -> dict[str, Any]:
    """``code``, a method that torch's compiler wrote, as JSON values.  Kernels for a GPU must have run once."""
    code = _method(code)
    module = getattr(getattr(code, "__func__", None), "__globals__", {})
    path = module.get("__file__")
    runner = getattr(code, "__self__", None)
    if path is None or type(runner).__name__ != _RUNNER or getattr(runner, "partitions", None):
        raise NeedsCompiler("the compiled function is not one method of a module")
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    written = _written(tree)
    used = _names(written) & module.keys()
    kernels, libraries = _kernels(module, used), _from_catalogue(module, written)
    cubins = {name: launching.take(module[name]) for name in sorted(used) if launching.is_kernel(module[name])}
    own = {n.name for n in written.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    header = _header(tree, used - kernels.keys() - cubins.keys() - own - {_CATALOGUE})
    text = "\n".join(ast.unparse(n) for n in [*header, written])
    return {
        "text": text, "path": path, "kernels": kernels, "cubins": cubins, "torch": libraries, "ops": _ops(written),
        "files": sorted({p for p, _ in kernels.values()} | {c["path"] for c in cubins.values()}),
    }  # fmt: skip


def _method(code: Code) -> Code:
    """The method that the compiler wrote; for a GPU it is wrapped in a function that sees to the alignment of inputs."""
    names = getattr(getattr(code, "__code__", None), "co_freevars", ())
    closure = getattr(code, "__closure__", None) or ()
    inner: Code = dict(zip(names, closure, strict=True))["model"].cell_contents if "model" in names else code
    return inner


def put(parts: dict[str, Any]) -> Code:
    """The callable that was passed to ``take``: a function of a list of tensors, which it empties."""
    for family, name in parts["ops"]:
        if family == "headrace":
            define(name)
        if not hasattr(getattr(torch.ops, family), name):
            raise NeedsCompiler(f"it calls torch.ops.{family}.{name}, which this process does not have")
    namespace: dict[str, Any] = {
        name: getattr(_library(path), kernel) for name, (path, kernel) in parts["kernels"].items()
    }
    namespace |= {name: launching.put(kernel) for name, kernel in parts["cubins"].items()}
    namespace[_CATALOGUE] = SimpleNamespace(**{name: getattr(torch, name) for name in parts["torch"]})
    exec(compile(parts["text"], parts["path"], "exec"), namespace)
    code: Code = namespace[_RUNNER]([]).call
    return launching.aligned(code) if parts["cubins"] else code


def _written(tree: ast.Module) -> ast.Module:
    """The runner, and before it the functions that it calls: those of subgraphs that it runs several times."""
    runner = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == _RUNNER)
    used = _names(runner)
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in used]
    return ast.Module([*functions, runner], [])


def _names(code: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(code) if isinstance(n, ast.Name)}


def _kernels(module: dict[str, Any], used: set[str]) -> dict[str, tuple[str, str]]:
    """The kernels written in C++, by name: the shared library of each, and its name there."""
    libraries = {}
    for name in used:
        kernel = module[name]
        path = getattr(getattr(kernel, "__self__", None), "__file__", None)
        if isinstance(kernel, BuiltinFunctionType) and path is not None and kernel.__name__.startswith("kernel"):
            libraries[name] = path, kernel.__name__
    return libraries


def _from_catalogue(module: dict[str, Any], written: ast.AST) -> list[str]:
    """The kernels of torch that the function finds in the compiler's catalogue; they must be torch's own functions."""
    names = {
        n.attr for n in ast.walk(written)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == _CATALOGUE
    }  # fmt: skip
    for name in names:
        if getattr(torch, name, None) is not getattr(module[_CATALOGUE], name):
            raise NeedsCompiler(f"it calls {_CATALOGUE}.{name}, which is the compiler's own")
    return sorted(names)


def _ops(written: ast.AST) -> list[tuple[str, str]]:
    """The ops of torch that the function calls by their full names: ``torch.ops.aten.topk``."""
    chains = [ast.unparse(n).split(".") for n in ast.walk(written) if isinstance(n, ast.Attribute)]
    return sorted({(c[2], c[3]) for c in chains if c[:2] == ["torch", "ops"] and len(c) >= 4})


def _header(tree: ast.Module, missing: set[str]) -> list[ast.stmt]:
    """The imports and short names (``aten = torch.ops.aten``) at the top that define the missing names."""
    defining = []
    for statement in tree.body:
        names = _defined(statement) & missing
        if names:
            missing = missing - names
            defining.append(statement)
    if missing:
        raise NeedsCompiler(f"it uses {', '.join(sorted(missing))} of the compiler's module")
    return [n for n in tree.body if isinstance(n, ast.Import) and n.names[0].name == "torch"][:1] + defining


def _defined(statement: ast.stmt) -> set[str]:
    """The names that a statement defines without help of the compiler."""
    if isinstance(statement, ast.Import):
        return {a.asname or a.name for a in statement.names}
    if isinstance(statement, ast.ImportFrom) and not (statement.module or "").startswith("torch._inductor"):
        return {a.asname or a.name for a in statement.names}
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name) and _is_torchs(statement.value):
        return {statement.targets[0].id} - {"inductor_ops"}  # some of those exist only where the compiler is imported
    return set()


def _is_torchs(value: ast.expr) -> bool:
    """Whether this is ``torch.a.b``."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name) and value.id == "torch"


@cache
def _library(path: str) -> Any:
    """A library of kernels that torch's compiler built, as a module.  It asks this variable how to find a tensor's memory."""
    pointer: Any = torch._C._dynamo.guards._torchinductor_pyobject_tensor_data_ptr  # type: ignore[attr-defined]
    os.environ["_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"] = str(pointer)
    name = f"{Path(path).stem}.kernel"
    with name_of_own(path) as opened:
        loader = ExtensionFileLoader(name, opened)
        module = module_from_spec(ModuleSpec(name, loader, origin=opened))
        loader.exec_module(module)
    return module
