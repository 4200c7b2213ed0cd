"""``python -m headrace.tensorflow program.py args``, ``-m module args`` or ``-c code args``: TensorFlow 1 code on Headrace."""

from __future__ import annotations

import io
import os
import runpy
import sys
from collections.abc import Sequence
from types import ModuleType

from headrace.tensorflow import install

USAGE = """usage: python -m headrace.tensorflow [--keras] [-m module | -c code | program] [arguments ...]

Runs a program written for TensorFlow 1 on Headrace, without changing it: `import tensorflow` in it, and in what it
imports, means Headrace; with --keras `import keras` means its tf.keras, too. The program is a file, a module after -m
(`-m pytest old_test.py`), or the code after -c. See also: headrace port program.py"""

# TensorFlow's modules that are programs, and where these are.
PROGRAMS = {"tensorflow.python.tools.freeze_graph": "headrace.tools.freeze_graph"}


def main(argv: Sequence[str]) -> int:
    """Runs the program; its end is the end of the process."""
    if argv and argv[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    keras = bool(argv) and argv[0] == "--keras"
    if keras:
        argv = argv[1:]
    if not argv or argv in (["-m"], ["-c"]):
        print(USAGE, file=sys.stderr)
        return 2
    install(keras)
    if argv[0] == "-m":
        sys.argv[:] = argv[1:]
        if argv[1] in PROGRAMS:
            sys.argv[0] = PROGRAMS[argv[1]]
            runpy.run_module(PROGRAMS[argv[1]], run_name="__main__", alter_sys=True)
            return 0
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        return 0
    if argv[0] == "-c":
        sys.argv[:] = ["-c", *argv[2:]]
        sys.path[0] = ""
        return _execute(argv[1], "<string>", None)
    sys.argv[:] = argv
    sys.path[0] = os.path.dirname(os.path.abspath(argv[0]))
    return _run(argv[0])


def _run(path: str) -> int:
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        print(f"headrace.tensorflow: cannot open {path!r}: {error.strerror}", file=sys.stderr)
        return 2
    return _execute(source, path, path)


def _execute(source: str | bytes, title: str, path: str | None) -> int:
    """Runs the code as the main module, which it stays to the end: threads and functions of its own find their names."""
    module = ModuleType("__main__")
    if path is not None:
        module.__file__ = path
    sys.modules["__main__"] = module
    exec(compile(source, title, "exec"), module.__dict__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
