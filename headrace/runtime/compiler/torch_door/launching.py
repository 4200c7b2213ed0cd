"""GPU kernels without their compiler: torch's compiler writes them in Triton, which makes a file of machine code of each.

``take`` describes a kernel by that file and by the text of the function that launches it.  ``put`` loads the file with the
launcher that is part of torch, which takes a fraction of a millisecond; importing Triton and torch's compiler takes seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import torch

from headrace.runtime.compiler.own_folder import name_of_own

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
    variant = _variant(kernel, name)
    if getattr(variant.config, "pre_hook", None) is not None:
        raise NeedsCompiler(f"{name} has a hook")
    binary = _binary(variant, name)
    return {
        "path": binary.cubin_path, "name": binary.name, "shared": binary.shared, "device": _device(variant),
        "text": _launcher(variant, binary),
    }  # fmt: skip


def _variant(kernel: Any, name: str) -> Any:
    """The variant that was chosen, among those that torch compiled."""
    chosen = kernel.launchers[0].config
    for variant in kernel.compile_results:
        if variant.config is chosen:
            return variant
    for variant in kernel.compile_results:
        if str(variant.config) == str(chosen):  # all that it consists of
            return variant
    raise NeedsCompiler(f"the variant of {name} that was chosen is none of those that torch compiled: {chosen}")


def _binary(variant: Any, name: str) -> Any:
    """The machine code as torch's launcher takes it: a file, and what its arguments are."""
    if hasattr(variant, "reload_cubin_path"):
        variant.reload_cubin_path()  # it was forgotten when the file was loaded
        return variant.kernel
    from torch._inductor.runtime.static_triton_launcher import StaticallyLaunchedCudaKernel

    compiled = variant.kernel  # in Triton's form, for which Triton builds a launcher with a C compiler
    for wish in ("launch_pdl", "launch_cooperative_grid"):
        if getattr(compiled.metadata, wish, False):
            raise NeedsCompiler(f"torch's launcher cannot launch {name}: {wish} is set")
    if "cubin" not in compiled.asm:
        raise NeedsCompiler(f"Triton made no machine code of {name}, only {', '.join(compiled.asm)}")
    compiled._cubin_path = _written(compiled.asm["cubin"], compiled.hash, _device(variant))
    try:
        return StaticallyLaunchedCudaKernel(compiled)
    except (NotImplementedError, KeyError) as e:
        raise NeedsCompiler(f"torch's launcher cannot launch {name}: {e}") from e


def _written(machine_code: bytes, digest: str, device: int) -> str:
    """The path of a file with the machine code, beside the one that Triton wrote; it appears whole or not at all."""
    from torch._inductor.runtime.cache_dir_utils import triton_cache_dir
    from torch._inductor.runtime.runtime_utils import triton_hash_to_path_key

    path = Path(triton_cache_dir(device)) / triton_hash_to_path_key(digest) / "kernel.cubin"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(machine_code)
        os.replace(unfinished, path)
    return str(path)


def _device(variant: Any) -> int:
    device: int | None = variant.compile_meta.get("device")
    return device or 0


def _launcher(variant: Any, binary: Any) -> str:
    """The function that the compiled code calls: it computes the size of the grid and launches the kernel."""
    from torch._inductor.runtime.triton_heuristics import GridExpr

    _, parameters, absent = variant._get_arg_lists(binary.arg_names, binary.declared_constexprs)
    arguments = [
        name for i, name in enumerate(binary.arg_names) if i not in binary.full_constexprs and name not in absent
    ]
    scratch = [s for s in ("has_global_scratch", "has_profile_scratch") if getattr(binary, s, False)]
    types = binary.arg_tys + "O" * len(scratch)
    arguments += ["None"] * len(scratch)
    if len(types) != len(arguments):
        raise NeedsCompiler(f"{binary.name} takes {len(types)} arguments, not {len(arguments)}")
    grid = GridExpr.from_meta(variant.inductor_meta, variant.config)
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
    with torch.cuda.device(device), name_of_own(path) as opened:
        _enter_context()
        *_, address, _registers, _spills = _torchs_launcher()._load_kernel(opened, name, shared, device)
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
