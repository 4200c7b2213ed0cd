"""Compiled code that the next program finds on disk: the name of a region's code there, and the code as the region's function."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import torch

from headrace.passes.region import Region
from headrace.runtime.code.codegen import Binder
from headrace.runtime.compiler import archive
from headrace.runtime.compiler.compile import Call, as_call, compile_region, strides
from headrace.runtime.compiler.cubin import NeedsCompiler
from headrace.runtime.compiler.direct import Code, apart
from headrace.runtime.compiler.loose_code import put, take
from headrace.runtime.compiler.region_json import CannotSend, encode
from headrace.runtime.host.device import deterministic


def describe(region: Region, binder: Binder) -> dict[str, Any]:
    """All that the region's code depends on, as JSON values.  Raises CannotSend if only this process can compile it."""
    device = binder.torch_device(region.device)
    content = {
        "region": encode(region, binder, strides(region, binder)), "threads": binder.threads,
        "deterministic": deterministic(), "device": str(device),
    }  # fmt: skip
    if device.type == "cuda":
        content["gpu"] = torch.cuda.get_device_properties(device).name
        content["precision"] = torch.get_float32_matmul_precision()
    return content


def load(parts: dict[str, Any], region: Region, binder: Binder) -> Call:
    """Code that was taken from its compiler, as the region's function.  Raises NeedsCompiler if it cannot run without it."""
    code = put(parts)
    if parts["apart"]:
        return as_call(code, region, binder)

    def separated(inputs: list[Any]) -> Any:
        return apart(code(list(inputs)), inputs, region.fetched)

    return as_call(separated, region, binder)


def compile_or_load(region: Region, binder: Binder) -> Call:
    """The region's function as an earlier program has left it, else compiled here and left for the next program."""
    name = _name(region, binder)
    if name is None:
        return compile_region(region, binder)
    parts = archive.find_code(name)
    if parts is not None:
        with contextlib.suppress(NeedsCompiler):
            return load(parts, region, binder)

    def keep(code: Code, is_apart: bool) -> None:
        with contextlib.suppress(NeedsCompiler):
            archive.keep(archive.CODE, name, {**take(code), "apart": is_apart})

    return compile_region(region, binder, keep)


def _name(region: Region, binder: Binder) -> str | None:
    """The name of the region's code on disk; None if it is not kept: kernels for a GPU are tuned in their first run."""
    if binder.torch_device(region.device).type != "cpu" or os.environ.get("HEADRACE_DUMP"):
        return None
    try:
        return archive.key(describe(region, binder))
    except CannotSend:
        return None
