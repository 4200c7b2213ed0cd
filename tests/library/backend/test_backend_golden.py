"""tf.keras.backend against real Keras: values and classes of errors (tests/golden/make_keras_backend.py)."""

from pathlib import Path

import numpy as np
from golden.keras_backend_cases import CASES, mistakes

import headrace as tf

GOLDEN = Path(__file__).parents[2] / "golden" / "keras_backend.npz"
K = tf.keras.backend


def test_values() -> None:
    fetches = {}
    for name, case in CASES.items():
        found = case(tf, K)
        fetches[name] = list(found) if isinstance(found, (list, tuple)) else [found]
    results = K.get_session().run(fetches)
    with np.load(GOLDEN) as golden:
        for name, found in results.items():
            for i, value in enumerate(found):
                wanted = golden[f"{name}|{i}"]
                assert np.asarray(value).dtype == wanted.dtype, (name, i)
                np.testing.assert_allclose(value, wanted, rtol=2e-4, atol=2e-5, err_msg=f"{name} {i}")
    K.clear_session()


def test_errors() -> None:
    with np.load(GOLDEN) as golden:
        assert mistakes(tf, K) == golden["mistakes"].tolist()
    K.clear_session()
