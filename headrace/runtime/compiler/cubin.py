"""GPU kernels without their compiler: torch's compiler writes them in Triton, which makes a file of machine code of each.

``take`` describes a kernel by that file and by the text of the function that launches it.  ``put`` loads the file with the
launcher that is part of torch, which takes a fraction of a millisecond; importing Triton and torch's compiler takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

import torch

ALIGNMENT: Final = 16  # bytes: kernels may rely on tensors that begin at a multiple of it

Code = Callable[[list[Any]], Any]


class NeedsCompiler(Exception):
    """Compiled code that cannot be taken out of the compiler's process; carries the reason."""


def is_kernel(value: Any) -> bool:
    """Whether this is a kernel in Triton, as torch's compiler keeps it."""
    return any(c.__name__ == "CachingAutotuner" for c in type(value).__mro__)


def take(kernel: Any) -> dict[str, Any]:
    """The kernel as JSON values.  It must have run: the first run chooses among several variants of it."""
    name = kernel.inductor_meta.get("kernel_name", "a kernel")
    if len(kernel.launchers) != 1:
        raise NeedsCompiler(f"{name} has {len(kernel.launchers)} variants left to choose from")
    config = kernel.launchers[0].config
    result = next((r for r in kernel.compile_results if r.config is config), None)
    if result is None or not hasattr(result, "reload_cubin_path"):
        raise NeedsCompiler(f"torch has no launcher for {name}")
    if getattr(config, "pre_hook", None) is not None:
        raise NeedsCompiler(f"{name} has a hook")
    result.reload_cubin_path()  # it was forgotten when the file was loaded
    binary = result.kernel
    return {
        "path": binary.cubin_path, "name": binary.name, "shared": binary.shared, "device": _device(result),
        "text": _launcher(result),
    }  # fmt: skip


def _device(result: Any) -> int:
    device: int | None = result.compile_meta.get("device")
    return device or 0


def _launcher(result: Any) -> str:
    """The function that the compiled code calls: it computes the size of the grid and launches the kernel."""
    from torch._inductor.runtime.triton_heuristics import GridExpr

    binary = result.kernel
    _, parameters, absent = result._get_arg_lists(binary.arg_names, binary.declared_constexprs)
    arguments = [
        name for i, name in enumerate(binary.arg_names) if i not in binary.full_constexprs and name not in absent
    ]
    scratch = [s for s in ("has_global_scratch", "has_profile_scratch") if getattr(binary, s, False)]
    types = binary.arg_tys + "O" * len(scratch)
    arguments += ["None"] * len(scratch)
    if len(types) != len(arguments):
        raise NeedsCompiler(f"{binary.name} takes {len(types)} arguments, not {len(arguments)}")
    grid = GridExpr.from_meta(result.inductor_meta, result.config)
    lines = [
        f"def run({', '.join([*parameters, 'stream'])}):",
        *grid.prefix,
        f"grid = {grid.x_grid}, {grid.y_grid}, {grid.z_grid}",
        f"arguments = {''.join(a + ', ' for a in arguments)}",
        f"launch(function, *grid, {binary.num_warps}, {binary.shared}, {types!r}, arguments, stream)",
    ]
    return "\n    ".join(lines)


def put(parts: dict[str, Any]) -> Any:
    """An object whose method ``run`` launches the kernel that was passed to ``take``."""
    launcher = _torchs_launcher()
    function = _load(parts["path"], parts["name"], parts["shared"], parts["device"])
    namespace: dict[str, Any] = {"launch": launcher._launch_kernel, "function": function}
    exec(compile(parts["text"], f"<launcher of {parts['name']}>", "exec"), namespace)
    return SimpleNamespace(run=namespace["run"])


def _torchs_launcher() -> Any:
    launcher = getattr(torch._C, "_StaticCudaLauncher", None)
    if launcher is None:
        raise NeedsCompiler("this torch has no launcher of its own for kernels in Triton")
    return launcher


@cache
def _load(path: str, name: str, shared: int, device: int) -> int:
    """The kernel's address.  It stays loaded: other code of this process may contain the same kernel."""
    with torch.cuda.device(device):
        _enter_context()
        *_, address, _registers, _spills = _torchs_launcher()._load_kernel(path, name, shared, device)
    return int(address)


def _enter_context() -> None:
    """Has this thread use the context of the current GPU, without which nothing can be loaded: a kernel of torch does that."""
    torch.zeros(1, device="cuda")


def aligned(code: Code) -> Code:
    """``code`` for inputs anywhere in memory: those that lie awry are copied, and back, for ``code`` may write to them."""

    def run(inputs: list[Any]) -> Any:
        awry = [(i, t) for i, t in enumerate(inputs) if t.data_ptr() % ALIGNMENT]
        for i, tensor in awry:
            inputs[i] = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
            inputs[i].copy_(tensor)
        copies: Sequence[Any] = [inputs[i] for i, _ in awry]
        results = code(inputs)
        for (_, tensor), copy in zip(awry, copies, strict=True):
            tensor.copy_(copy)
        return results

    return run
