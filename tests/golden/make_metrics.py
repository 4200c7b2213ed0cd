"""Makes metrics.json: the metrics of metrics_cases.py by real TensorFlow.  Run with an interpreter that has tensorflow."""

import json
import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf
from metrics_cases import CASES, run

tf.disable_v2_behavior()
tf.logging.set_verbosity("FATAL")

if __name__ == "__main__":
    found = {}
    for name, case in CASES.items():
        with tf.Graph().as_default():
            found[name] = run(tf, case)
    path = Path(__file__).parent / "metrics.json"
    path.write_text(json.dumps(found, indent=0) + "\n")
    print(f"{len(found)} cases")
