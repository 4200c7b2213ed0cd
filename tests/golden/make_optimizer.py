"""Makes optimizer.npz: every training of optimizer_cases.py, run with TensorFlow."""

from pathlib import Path

import numpy as np
import tensorflow.compat.v1 as tf
from optimizer_cases import CASES, train

if __name__ == "__main__":
    tf.disable_v2_behavior()
    found = {
        f"{name}/{'sparse' if sparse else 'dense'}/{variable}": value
        for name, make in CASES.items()
        for sparse in (False, True)
        for variable, value in train(tf, make, sparse).items()
    }
    np.savez_compressed(Path(__file__).with_name("optimizer.npz"), **found)
