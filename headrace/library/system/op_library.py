"""``tf.load_op_library``: the ops that a file declares, as a module of functions.

TensorFlow's libraries are compiled C++. Here an op is declared in Python with its kernel in PyTorch (docs/add_an_op.md), so a
library is a Python file; a compiled one is refused with an error that says so.
"""

from __future__ import annotations

import importlib.util
import os
import re
import threading
from types import ModuleType

from headrace.core import errors
from headrace.core.registry import REGISTRY
from headrace.core.source import at
from headrace.graph import raw_ops

_lock = threading.RLock()  # again by the same thread: a library may load others
_loaded: dict[str, ModuleType] = {}


def load_op_library(library_filename: str | os.PathLike[str]) -> ModuleType:
    """Runs a Python file that declares ops with `headrace.extend` -> a module with a function for each of them.

    The function of an op called ``ZeroOut`` is ``zero_out``; whatever else the file defines is in the module too. A file is run
    once in a process: loading it again gives the same module.

        hidden = tf.load_op_library("soft_threshold.py").soft_threshold(x, limit=0.5)

    Args:
      library_filename: The path of a Python file.

    Returns:
      A module.

    Example: ``tf.load_op_library("zero_out.py").zero_out([[1, 2], [3, 4]])``
    """
    path = os.path.realpath(os.fspath(library_filename))
    with _lock:
        module = _loaded.get(path)
        if module is None:
            _check(path)
            module = _loaded[path] = _run(path)
        return module


def _check(path: str) -> None:
    if not os.path.isfile(path):
        raise errors.NotFoundError(None, None, f"there is no file {path!r} to load ops from {at()}")
    if not path.endswith(".py"):
        raise errors.UnimplementedError(
            None, None,
            f"{path!r} is not a Python file. Libraries of ops compiled for TensorFlow cannot be loaded: Headrace's ops are "
            f"declared in Python, with kernels in PyTorch (headrace.extend.op; see docs/add_an_op.md), and load_op_library takes "
            f"the .py file that declares them {at()}",
        )  # fmt: skip


def _run(path: str) -> ModuleType:
    stem = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(f"headrace_op_library.{stem}", path)
    if spec is None or spec.loader is None:
        raise errors.UnimplementedError(None, None, f"{path!r} cannot be run as Python {at()}")
    module = importlib.util.module_from_spec(spec)
    before = {definition.name for definition in REGISTRY}
    try:
        spec.loader.exec_module(module)
    except BaseException:
        for name in _declared(before):
            REGISTRY.remove(name)  # so that it can be mended and loaded again
        raise
    names = _declared(before)
    if not names:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{path!r} declares no ops; it should do so with headrace.extend.op (see docs/add_an_op.md) {at()}",
        )
    for name in names:
        setattr(module, function_name(name), getattr(raw_ops, name))
    return module


def _declared(before: set[str]) -> list[str]:
    return sorted(definition.name for definition in REGISTRY if definition.name not in before)


def function_name(op_name: str) -> str:
    """The name of an op's function, as TensorFlow makes it: ``ZeroOut`` -> ``zero_out``, ``MyFFT2D`` -> ``my_fft2d``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", op_name).lower()
