"""Makes examples.json: the losses of every program in examples/, run with TensorFlow."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "examples"))

from run_both import run  # noqa: E402 - its folder is no package

STEPS = 40

if __name__ == "__main__":
    curves = {
        path.stem: [round(loss, 6) for loss in run(path, STEPS, tensorflow=True)]
        for path in sorted((ROOT / "examples").glob("*.py"))
    }
    Path(__file__).with_name("examples.json").write_text(json.dumps(curves, indent=0) + "\n")
