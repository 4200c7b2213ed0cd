"""Makes keras_backend.npz: the calls of keras_backend_cases.py by real Keras, in the manner of version 1.

Run with an interpreter that has tensorflow and tf_keras.
"""

import numpy as np
from keras_backend_cases import CASES, mistakes
from real import keep, numbered, tf
from tf_keras.api._v1.keras import backend as K  # noqa: N812 - as everybody calls it

if __name__ == "__main__":
    found = {}
    for name, case in CASES.items():
        K.clear_session()
        results = case(tf, K)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        found[name] = K.get_session().run(results)
    K.clear_session()
    keep("keras_backend.npz", {**numbered(found), "mistakes": np.array(mistakes(tf, K))})
