"""Makes examples.json: the losses of the programs in examples/, run with TensorFlow.

Of the dynamic ones it keeps whatever their `main` returns. Two are left out: TensorFlow 2 has no `contrib`, which
beam_search.py needs, and draws other random numbers, on which option_pricing.py rests.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "examples"))

from run_both import numbers, run  # noqa: E402 - its folder is no package

LOSSES = ("concurrent_steps", "lenet", "mlp", "model_parallel", "text_classifier", "towers", "vae", "wgan_gp")
STEPS = 40
DYNAMIC = {
    "dqn": ["--steps", "201"],
    "fine_tuning": ["--loop", "session", "--steps", "30"],
    "newton": ["--rows", "100", "--orbits", "10"],
    "policy_gradient": ["--steps", "4"],
    "tree_lstm": ["--steps", "20"],
}

if __name__ == "__main__":
    folder = ROOT / "examples"
    golden = {
        "losses": {
            name: [round(loss, 6) for loss in run(folder / f"{name}.py", STEPS, tensorflow=True)] for name in LOSSES
        },
        "dynamic": {
            name: {"flags": flags, "numbers": [round(n, 6) for n in numbers(folder / f"{name}.py", flags, True)]}
            for name, flags in DYNAMIC.items()
        },
    }
    Path(__file__).with_name("examples.json").write_text(json.dumps(golden, indent=0) + "\n")
