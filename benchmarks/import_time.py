"""How long `import headrace` takes beyond `import torch`.

Each import runs in a fresh interpreter with warm file caches; the fastest of several is reported, since everything that
disturbs such a measurement makes it slower. The target is at most 0.4 s beyond torch.
"""

import subprocess
import sys

from benchmarks import _harness

RUNS = 5
TARGET_S = 0.4


def main() -> None:
    """Prints the three times and whether the target is met."""
    torch_s = fastest("import torch")
    headrace_s = fastest("import headrace")
    beyond_s = headrace_s - torch_s
    print(f"import torch     {torch_s:6.2f} s")
    print(f"import headrace  {headrace_s:6.2f} s")
    print(f"beyond torch     {beyond_s:6.2f} s   target {TARGET_S} s: {'met' if beyond_s <= TARGET_S else 'MISSED'}")
    _harness.save("import_time", {"torch_s": torch_s, "headrace_s": headrace_s, "target_s": TARGET_S})


def fastest(statement: str) -> float:
    """Returns the least time of `statement`, in seconds, in a fresh interpreter."""
    code = f"import time; begin = time.perf_counter(); {statement}; print(time.perf_counter() - begin)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(RUNS))


if __name__ == "__main__":
    main()
