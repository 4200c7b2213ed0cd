"""Samples of special functions."""

import numpy as np

from headrace.library.testing.opcheck import Sample

A = np.array([0.5, 1.5, 3.0], np.float64)
X = np.array([0.25, 2.0, 4.5], np.float64)
BOTH = (np.float64, np.float32)


def _pairs(a, x, **options):
    return [
        Sample([a, x], **options),
        Sample([a[:, None], x], **options),
        Sample([a.astype(np.float32), x.astype(np.float32)], gradient=False),
    ]


SAMPLES: dict[str, list[Sample]] = {
    "Igamma": _pairs(A, X, second=False),  # the derivative with respect to a has none of its own, as in TensorFlow
    "Igammac": _pairs(A, X, second=False),
    "IgammaGradA": [Sample([A, X], gradient=False), Sample([A * 60, X * 60], gradient=False)],
    "Zeta": _pairs(A + 1.5, X, wrt=["q"]),
    "Polygamma": _pairs(np.array([0.0, 1.0, 3.0]), X, wrt=["x"]),
    "Betainc": [
        Sample([A, X, np.array([0.2, 0.5, 0.9])], wrt=["x"]),
        Sample([np.float64(2.0), np.float64(3.0), np.array([0.1, 0.6])], wrt=["x"]),
        Sample([A.astype(np.float32), X.astype(np.float32), np.float32([0.0, 0.5, 1.0])], gradient=False),
    ],
    "BesselI0e": [Sample([np.array([-2.0, 0.5, 3.0], t)]) for t in BOTH],
    "BesselI1e": [Sample([np.array([-2.0, 0.5, 3.0], t)]) for t in BOTH],
    "Ndtri": [Sample([np.array([0.1, 0.5, 0.8], t)]) for t in BOTH],
}
