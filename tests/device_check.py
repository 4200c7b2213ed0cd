"""Runs opcheck over every sample without pytest: ``python tests/device_check.py`` on a machine with an accelerator.

Prints the ops that fail, each with its first problem, and a count; exits 1 if there are any.
"""

import importlib
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import headrace as tf  # noqa: E402
from headrace.library.testing.opcheck import opcheck  # noqa: E402


def main() -> int:
    with tf.Session() as sess:
        print("devices:", ", ".join(d.name for d in sess.list_devices()))
    failed, checked, start = 0, 0, time.time()
    for path in sorted((HERE / "samples").glob("*.py")):
        for name, samples in importlib.import_module(f"samples.{path.stem}").SAMPLES.items():
            checked += 1
            try:
                opcheck(name, samples)
            except Exception as e:  # noqa: BLE001 - every failure is reported
                failed += 1
                text = str(e).strip().splitlines()
                print(f"FAILED {path.stem}.{name}: {type(e).__name__}: {' | '.join(text[:3])[:400]}", flush=True)
                if "-v" in sys.argv:
                    traceback.print_exc()
    print(f"{checked} ops checked, {failed} failed, {time.time() - start:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
