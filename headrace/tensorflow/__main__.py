"""``python -m headrace.tensorflow program.py args``, or ``-m module args``: runs a TensorFlow 1 program on Headrace."""

from __future__ import annotations

import io
import os
import runpy
import sys
from collections.abc import Sequence
from types import ModuleType

from headrace.tensorflow import install

USAGE = """usage: python -m headrace.tensorflow [-m] program [arguments ...]

Runs a program written for TensorFlow 1 on Headrace, without changing it: `import tensorflow` in it, and in what it
imports, means Headrace. The program is a file, or a module after -m. See also: headrace port program.py"""


def main(argv: Sequence[str]) -> int:
    """Runs the program; its end is the end of the process."""
    if not argv or argv[0] in ("-h", "--help") or argv == ["-m"]:
        print(USAGE, file=sys.stdout if argv and argv[0] != "-m" else sys.stderr)
        return 0 if argv and argv[0] != "-m" else 2
    install()
    if argv[0] == "-m":
        sys.argv[:] = argv[1:]
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        return 0
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
    # The program is the main module, and stays it to the end: threads and functions of its own find their names.
    module = ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    exec(compile(source, path, "exec"), module.__dict__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
