"""Makes keras_layers.npz and keras_layers.json: the layers of keras_layers_cases.py by real TensorFlow's Keras of version 1.

Run with an interpreter that has tensorflow and tf_keras.
"""

import os
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
sys.path[:1] = [str(Path(__file__).parents[1])]

import numpy as np  # noqa: E402
from golden.keras_layers_cases import CASES, FUNCTIONS, run_case, run_function  # noqa: E402
from golden.real import keep, numbered, tf  # noqa: E402


def plain(value):
    """A configuration in the words of TensorFlow 1.15: without what later versions of Keras add to say where a class is."""
    if isinstance(value, dict):
        own = {k: v for k, v in value.items() if k not in ("module", "registered_name", "build_config")}
        return {k: plain(v) for k, v in own.items()}
    return round(float(value), 6) if isinstance(value, (np.ndarray, np.floating)) else value


if __name__ == "__main__":
    arrays, facts = {}, {}
    with tf.Graph().as_default(), tf.Session() as session:
        for name, case in CASES.items():
            arrays[name], facts[name] = run_case(tf, session, *case)
            facts[name]["config"] = plain(facts[name]["config"])
        for name, make in FUNCTIONS.items():
            arrays[f"function {name}"] = run_function(tf, session, name, make)
    keep("keras_layers.npz", numbered(arrays))
    keep("keras_layers.json", facts)
