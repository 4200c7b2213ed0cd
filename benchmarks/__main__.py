"""Runs every benchmark, or those named: `python -m benchmarks [name ...] [--option ...]`; the options go to each of them.

Each runs in its own process, so that none inherits another's imports, threads or memory.
"""

import pkgutil
import subprocess
import sys

import benchmarks

ON_REQUEST = (
    "faults",
    "fuzz",
    "kill",
    "overlap",
    "picture",
    "policy",
    "report",
    "simulate",
    "soak",
    "worth",
)  # run when named only


def main(arguments: list[str]) -> int:
    """Runs the named benchmarks, or all; returns how many failed."""
    first_option = next((i for i, text in enumerate(arguments) if text.startswith("-")), len(arguments))
    names, options = arguments[:first_option], arguments[first_option:]
    known = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name[0] != "_")
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    failed = 0
    for name in names or [name for name in known if name not in ON_REQUEST]:
        print(f"== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *options]).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
