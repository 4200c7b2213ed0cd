"""The parts of Headrace that only make it faster: optional passes, and second implementations of what works without them.

`python -m benchmarks._forms NAME program.py arguments` runs a TensorFlow 1 program on Headrace without the part of that name;
with several names, separated by commas, without each in turn, in processes forked from one that has imported Headrace.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1] / "headrace"
NOTHING = "nothing"


@dataclass(frozen=True)
class Form:
    """One part: how many lines it has, and how a process that has imported Headrace goes on without it."""

    name: str
    lines: Callable[[], int]
    take_out: Callable[[], None]
    in_plans: bool = True  # whether plans and generated code differ without it, if anything does


# ---- passes

ALSO = {  # files beside passes/<name>.py that serve one pass alone
    "accumulate_product": ("ops/internal/product_update.py",),
    "fuse_crop": ("ops/internal/random_crop.py",),
    "fuse_updates": ("ops/internal/update_together.py",),
    "project_inputs": ("ops/internal/add_product.py",),
    "share_transpose": ("ops/internal/transpose_copy.py",),
    "simplify": ("passes/rule.py", "passes/rules.py", "passes/loss_rules.py", "ops/internal/logistic_loss.py"),
}
ELSEWHERE = {"recompute": "runtime/compiler/recompute.py"}


def _pass(name: str) -> Form:
    files = (ELSEWHERE.get(name, f"passes/{name}.py"), *ALSO.get(name, ()))
    more = _array_kernels if name == "arrays" else list
    return Form(name, lambda: _in_files(*files) + _in_functions(more()), functools.partial(_leave_out, name))


def _leave_out(name: str) -> None:
    others = os.environ.get("HEADRACE_PASSES_OFF")
    os.environ["HEADRACE_PASSES_OFF"] = f"{others},{name}" if others else name  # read when a session is made


# ---- second implementations


def _registry() -> Any:
    importlib.import_module("headrace")
    return importlib.import_module("headrace.core.registry").REGISTRY


def _array_kernels(of_updates: bool = False) -> list[Any]:
    return [k.call for op in _registry() for k in op.kernels.on_arrays if op.traits.writes or not of_updates]


def _update_arrays_out() -> None:
    for op in _registry():
        if op.traits.writes:
            op.kernels.on_arrays.clear()


def _host_updates() -> list[Any]:
    """The rules of updates that have another formula where numbers can be taken out of tensors."""
    found = vars(importlib.import_module("headrace.ops.training")).values()
    return [rule for rule in found if "on_host" in getattr(getattr(rule, "__code__", None), "co_names", ())]


def _host_updates_out() -> None:
    _replace("headrace.ops.training", "on_host", lambda buffer: False)


def _expressions(kind: str) -> Form:
    """The expressions that generated code has in the place of a call: one line each."""

    def take_out() -> None:
        for op in _registry():
            setattr(op.kernels, kind, None)

    def lines() -> int:
        return sum(getattr(op.kernels, kind) is not None for op in _registry())

    return Form({"inline": "inline kernels", "on_numbers": "number kernels"}[kind], lines, take_out)


def _one_machine_out() -> None:
    for op in _registry():
        op.kernels.by_device[:] = [k for k in op.kernels.by_device if k.machine is None]


def _fed_shapes() -> list[Any]:
    planning = importlib.import_module("headrace.runtime.planning.variants")
    variants = planning.Variants
    return [variants._interpreted, variants._count, variants.better, planning.may_gain, planning._on_tensors]


def _fed_shapes_out() -> None:
    _replace("headrace.runtime.planning.planner", "may_gain", lambda plan: False)


def _below_autograd_out() -> None:
    for module in ("headrace.runtime.drive.plans", "headrace.runtime.drive.waits"):
        _replace(module, "below_autograd", _Same)


class _Same:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


def _replace(module: str, name: str, value: Any) -> None:
    found = importlib.import_module(module)
    getattr(found, name)  # an error if it is somewhere else now
    setattr(found, name, value)


def forms() -> list[Form]:
    """All of them, passes first, in the order in which they run."""
    pipeline = importlib.import_module("headrace.passes.pipeline")
    passes = dict.fromkeys(one.name for one in pipeline.PIPELINE if one.optional)
    arm = [Form("kernels for Arm", lambda: _in_files("ops/arm"), _one_machine_out, in_plans=False)]
    return [
        *map(_pass, passes),
        Form("array kernels of updates", lambda: _in_functions(_array_kernels(True)), _update_arrays_out),
        Form("updates by numbers", lambda: _in_functions(_host_updates()), _host_updates_out, in_plans=False),
        _expressions("inline"),
        _expressions("on_numbers"),
        Form("plans for fed shapes", lambda: _in_functions(_fed_shapes()), _fed_shapes_out),
        Form("below autograd", lambda: _in_files("resources/calling/dispatch.py"), _below_autograd_out, in_plans=False),
        *(arm if os.uname().machine == "aarch64" else []),
    ]


# ---- lines


def _in_files(*paths: str) -> int:
    files = [f for path in paths for f in ([PACKAGE / path] if path.endswith(".py") else (PACKAGE / path).glob("*.py"))]
    return sum(len(file.read_text().splitlines()) for file in files)


def _in_functions(functions: Iterable[Any]) -> int:
    """Each function once; those of numpy are no lines of ours."""
    found = {}
    for function in functions:
        while isinstance(function, functools.partial):
            function = function.func
        if code := getattr(function, "__code__", None):
            found[code.co_filename, code.co_firstlineno] = len(inspect.getsourcelines(function)[0])
    return sum(found.values())


# ---- a program without one of them


def main(argv: Sequence[str]) -> None:
    """Runs the program without each of the parts. The folder HEADRACE_DUMP gets a folder for each of several."""
    names, path, *arguments = argv
    if "," not in names:
        _run(names, path, arguments)
        return
    forms()  # imports all that the forked processes need
    folder = os.environ["HEADRACE_DUMP"]
    for name in names.split(","):
        if (child := os.fork()) == 0:
            os.environ["HEADRACE_DUMP"] = os.path.join(folder, name)
            os.mkdir(os.environ["HEADRACE_DUMP"])
            _run(name, path, arguments)
            return
        if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise SystemExit(f"{path} without {name} ended with status {status}")


def _run(name: str, path: str, arguments: Sequence[str]) -> None:
    """With HEADRACE_DUMP, without the program's assertions, since it may then end before it has learned."""
    if name != NOTHING:
        next(form for form in forms() if form.name == name).take_out()
    importlib.import_module("headrace.tensorflow").install()
    sys.argv[:] = [path, *arguments]
    module = ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    optimize = 1 if os.environ.get("HEADRACE_DUMP") else 0
    exec(compile(Path(path).read_bytes(), path, "exec", optimize=optimize), module.__dict__)


if __name__ == "__main__":
    main(sys.argv[1:])
