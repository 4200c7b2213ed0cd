"""Writes arrays.json: what TensorFlow makes of the expressions in arrays.txt (nodes, static shapes, values, errors).

Run with a Python that has TensorFlow: ``python tests/golden/make_arrays.py``.  The test uses ``evaluate`` as well.
"""

import json
import os
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
FEEDS = {
    "x": (np.arange(12, dtype=np.float32).reshape(3, 4) / 4 - 1).tolist(),
    "y": (np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8).tolist(),
    "z": (np.arange(6, dtype=np.float32).reshape(2, 3) - 2).tolist(),
    "i": [1, 0, 1],
    "k": 2,
    "s": ["a", "bc", ""],
    "b": [[True, False, True, True], [False, False, True, False], [True, True, True, False]],
    "img": (np.arange(96, dtype=np.float32).reshape(1, 4, 6, 4) % 7).tolist(),
}


def names(tf):
    """The placeholders an expression may use."""
    return {
        "tf": tf,
        "x": tf.placeholder(tf.float32, [None, 4], name="x"),
        "y": tf.placeholder(tf.float32, [2, 3, 4], name="y"),
        "z": tf.placeholder(tf.float32, None, name="z"),
        "i": tf.placeholder(tf.int32, [None], name="i"),
        "k": tf.placeholder(tf.int32, [], name="k"),
        "s": tf.placeholder(tf.string, [3], name="s"),
        "b": tf.placeholder(tf.bool, [None, 4], name="b"),
        "img": tf.placeholder(tf.float32, [1, 4, 6, 4], name="img"),
    }


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray) and value.dtype == object:
        return plain(value.tolist())
    value = np.asarray(value)
    if value.dtype.kind == "c":
        return [value.real.tolist(), value.imag.tolist()]
    if value.dtype.kind != "f":
        return value.tolist()
    value = np.round(value.astype(np.float64), 5)
    return value.astype(np.int64).tolist() if np.array_equal(value, np.trunc(value)) else value.tolist()


def evaluate(tf, expression):
    """-> {"nodes", "static", "dtypes", "value"} or {"error"}; long lists of nodes are left out."""
    with tf.Graph().as_default() as graph:
        given = names(tf)
        before = len(graph.get_operations())
        try:
            result = eval(expression, given)
            made = " ".join(f"{o.name}:{o.type}" for o in graph.get_operations()[before:])
            many = isinstance(result, (list, tuple))
            tensors = [t if hasattr(t, "op") else tf.constant(t) for t in (result if many else [result])]
            static = [None if t.shape.ndims is None else t.shape.as_list() for t in tensors]
            dtypes = [t.dtype.name for t in tensors]
            with tf.Session(graph=graph) as session:
                feeds = {given[n]: np.array(v, dtype=given[n].dtype.as_numpy_dtype) for n, v in FEEDS.items()}
                tensors = [tf.convert_to_tensor(t) for t in tensors]
                values = [plain(v) for v in session.run(tensors, feeds)]
        except Exception as e:  # whatever is raised is the answer
            return {"error": type(e).__name__}
    nodes = made if len(made) < 400 and "gradients" not in expression else None
    return {"nodes": nodes, "static": static, "dtypes": dtypes, "value": values}


def expressions():
    lines = (HERE / "arrays.txt").read_text().splitlines()
    return list(dict.fromkeys(line for line in lines if line.strip() and not line.startswith("#")))


def main():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    found = {e: evaluate(tf, e) for e in expressions()}
    rows = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in found.items())
    (HERE / "arrays.json").write_text("{\n" + rows + "\n}\n")


if __name__ == "__main__":
    main()
