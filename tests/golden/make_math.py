"""Writes math.json with TensorFlow: ``python make_math.py`` where TensorFlow is installed."""

import numpy as np
from math_cases import CASES, NAMED_CASES, names, record
from real import keep, tf


def _plain(array):
    array = np.asarray(array)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    flat = array.reshape(-1).tolist()
    if array.dtype.kind == "f":
        flat = [float(f"{v:.7g}") for v in flat]
    return [str(array.dtype), list(array.shape), flat]


def main():
    values = {}
    for case in CASES:
        try:
            value, gradients = record(tf, case)
        except Exception as e:
            raise RuntimeError(f"{case}: {e}") from e
        values[case] = {"value": _plain(value), "gradients": {n: _plain(g) for n, g in gradients.items()}}
    keep("math.json", {"values": values, "names": {case: names(tf, case) for case in NAMED_CASES}})


if __name__ == "__main__":
    main()
