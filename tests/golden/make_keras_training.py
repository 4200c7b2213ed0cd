"""Makes keras_figures.json and keras_training.json by real Keras, in the manner of version 1.

Run in this folder with an interpreter that has tensorflow and tf_keras.
"""

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import keras_figures_cases
import keras_training_cases
from real import keep, tf

if __name__ == "__main__":
    keep("keras_figures.json", {"figures": keras_figures_cases.figures(tf), "steps": keras_figures_cases.steps(tf)})
    found = {}
    for name, run in keras_training_cases.CASES.items():
        tf.keras.backend.clear_session()
        found[name] = run(tf, tf.keras)
    keep("keras_training.json", found)
