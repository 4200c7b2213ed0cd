"""The kernels of a region for the CPU as few libraries.

Torch's compiler builds a library for each kernel it writes, and each time the C++ compiler reads the same headers: for small
kernels that is nearly all of its work.  Here the kernels of one module are built together; many or long ones in several
libraries, side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

from headrace.runtime.compiler.thread_errors import HEADER, carry_errors

MOST: Final = 32  # kernels in a library
LEAST: Final = 20_000  # characters of kernels in a library, where others could be built beside it
_HEAD: Final = re.compile(r'extern\s+"C"\s+void\s+kernel\(')

_BINDINGS: Final = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <type_traits>

static void* (*tensor_data)(PyObject* tensor);  // torch's function, which needs no header of torch

template <typename T> static inline T argument(PyObject* args, Py_ssize_t n) {
    PyObject* item = PyTuple_GET_ITEM(args, n);
    if constexpr (std::is_pointer_v<T>) {
        return static_cast<T>(tensor_data(item));
    } else if constexpr (std::is_floating_point_v<T>) {
        auto number = PyFloat_AsDouble(item);
        if (number == -1.0 && PyErr_Occurred()) throw std::runtime_error("expected a float");
        return static_cast<T>(number);
    } else {
        auto number = PyLong_AsLongLong(item);
        if (number == -1 && PyErr_Occurred()) throw std::runtime_error("expected an int");
        return static_cast<T>(number);
    }
}
"""

_FUNCTION: Final = """
static PyObject* call_{i}(PyObject* self, PyObject* args) {{
    try {{
        if (!PyTuple_CheckExact(args) || PyTuple_GET_SIZE(args) != {count}) {{
            throw std::runtime_error("requires {count} arguments");
        }}
        kernel_{i}::kernel({arguments});
    }} catch (std::exception const& e) {{
        PyErr_SetString(PyExc_RuntimeError, e.what());
        return nullptr;
    }} catch (...) {{
        PyErr_SetString(PyExc_RuntimeError, "unhandled error");
        return nullptr;
    }}
    Py_RETURN_NONE;
}}
"""

_MODULE: Final = """
static PyMethodDef methods[] = {{ {methods} {{nullptr, nullptr, 0, nullptr}} }};
static PyModuleDef module = {{PyModuleDef_HEAD_INIT, "kernel", nullptr, -1, methods}};

PyMODINIT_FUNC PyInit_kernel(void) {{
    const char* address = std::getenv("_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR");
    if (!address) {{
        PyErr_SetString(PyExc_RuntimeError, "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR must be set");
        return nullptr;
    }}
    tensor_data = reinterpret_cast<decltype(tensor_data)>(std::strtoull(address, nullptr, 10));
    PyObject* made = PyModule_Create(&module);
#ifdef Py_GIL_DISABLED
    if (made) PyUnstable_Module_SetGIL(made, Py_MOD_GIL_NOT_USED);
#endif
    return made;
}}
"""


class Kernel:
    """A kernel that waits for the others of its module."""

    def __init__(self, arguments: Sequence[str], source: str) -> None:
        self.arguments = arguments
        self.source = source


def together(kernels: Sequence[Kernel]) -> str:
    """The C++ text of a Python module with functions ``kernel_0``, ``kernel_1``, ...  Each kernel has a namespace of its own."""
    bodies, functions, methods = [], [], []
    for i, kernel in enumerate(kernels):
        body = _HEAD.sub("void kernel(", kernel.source.replace(HEADER, ""))
        bodies.append(f"namespace kernel_{i} {{\n{body}\n}}")
        arguments = [f"argument<{a.replace('const ', '')}>(args, {n})" for n, a in enumerate(kernel.arguments)]
        functions.append(_FUNCTION.format(i=i, count=len(arguments), arguments=", ".join(arguments)))
        methods.append(f'{{"kernel_{i}", call_{i}, METH_VARARGS, ""}},')
    return "\n".join([HEADER, *bodies, _BINDINGS, *functions, _MODULE.format(methods=" ".join(methods))])


def can_join(source: str) -> bool:
    """Whether the text is of the form that this file knows: one kernel behind the one header."""
    return len(_HEAD.findall(source)) == 1 and source.count("#include") == source.count(HEADER) == 1


def _parts(kernels: list[tuple[str, Kernel]], compilers: int) -> list[list[tuple[str, Kernel]]]:
    """The kernels in so many libraries that each compiler has one, if they are long enough for that."""
    length = sum(len(kernel.source) for _, kernel in kernels)
    count = max(min(compilers, length // LEAST, len(kernels)), -(-len(kernels) // MOST))
    parts: list[list[tuple[str, Kernel]]] = [[] for _ in range(count)]
    for name, kernel in sorted(kernels, key=lambda k: -len(k[1].source)):
        open_parts = [part for part in parts if len(part) < MOST]
        shortest = min(open_parts, key=lambda part: sum(len(k.source) for _, k in part))
        shortest.append((name, kernel))
    return parts


@contextmanager
def built_together() -> Iterator[None]:
    """Meanwhile torch's compiler builds the kernels of a module together, when it waits for them.

    The caller holds ``compile.compiler``.
    """
    from torch._inductor.async_compile import AsyncCompile, get_compile_threads
    from torch._inductor.codecache import CppPythonBindingsCodeCache

    alone, wait = AsyncCompile.cpp_pybinding, AsyncCompile.wait

    def cpp_pybinding(self: Any, argtypes: list[str], source_code: str) -> Any:
        text = carry_errors(source_code)
        return Kernel(argtypes, text) if can_join(source_code) else alone(self, argtypes, text)

    def wait_for_all(self: Any, scope: dict[str, Any]) -> None:
        waiting = [(name, value) for name, value in scope.items() if isinstance(value, Kernel)]
        parts = _parts(waiting, get_compile_threads())
        with ThreadPoolExecutor(max(len(parts), 1)) as threads:
            loads = [
                CppPythonBindingsCodeCache.load_async(
                    together([kernel for _, kernel in part]), submit_fn=threads.submit
                )
                for part in parts
            ]
        for part, load in zip(parts, loads, strict=True):
            library = load()
            scope.update((name, getattr(library, f"kernel_{i}")) for i, (name, _) in enumerate(part))
        wait(self, scope)

    AsyncCompile.cpp_pybinding = cpp_pybinding  # type: ignore[method-assign]
    AsyncCompile.wait = wait_for_all  # type: ignore[method-assign]
    try:
        yield
    finally:
        AsyncCompile.cpp_pybinding = alone  # type: ignore[method-assign]
        AsyncCompile.wait = wait  # type: ignore[method-assign]
