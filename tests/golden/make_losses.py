"""Makes losses.json: the losses of losses_cases.py by real TensorFlow.  Run with an interpreter that has tensorflow."""

import json
import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf
from losses_cases import CASES

tf.disable_v2_behavior()
tf.logging.set_verbosity("FATAL")

if __name__ == "__main__":
    found = {}
    for name, case in CASES.items():
        with tf.Graph().as_default(), tf.Session() as session:
            loss = case(tf)
            value = session.run(loss).astype(float).round(6).tolist()
            found[name] = {"name": loss.name, "dtype": loss.dtype.name, "value": value}
    path = Path(__file__).parent / "losses.json"
    path.write_text(json.dumps(found, indent=0) + "\n")
    print(f"{len(found)} cases")
