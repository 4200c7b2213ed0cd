"""Values and dtypes to convert to tensors: what comes of each is compared with TensorFlow, errors included."""

from typing import Any

import numpy as np

VALUES: dict[str, Any] = {
    "int": 3,
    "negative": -3,
    "large_int": 2**40,
    "float": 1.5,
    "bool": True,
    "complex": 1 + 2j,
    "text": "a",
    "bytes": b"a",
    "none": None,
    "empty": [],
    "ints": [1, 2],
    "floats": [1.0, 2.0],
    "mixed": [1, 2.5],
    "bools": [True, False],
    "texts": ["a", "b"],
    "text_and_bytes": ["a", b"b"],
    "nested": [[1, 2], [3, 4]],
    "tuple": (1, 2),
    "ragged": [[1, 2], [3]],
    "text_and_int": ["a", 1],
    "int_and_text": [1, "a"],
    "with_none": [1, None],
    "numpy_int32": np.int32(1),
    "numpy_int64": np.int64(1),
    "numpy_float64": np.float64(1),
    "numpy_float32s": np.ones((2, 3), np.float32),
    "numpy_float64s": np.ones(2),
    "numpy_int64s": np.arange(3),
    "numpy_uint8s": np.zeros(2, np.uint8),
    "numpy_bools": np.array([True]),
    "numpy_texts": np.array(["a", "bc"]),
    "numpy_objects": np.array(["a", b"bc"], dtype=object),
    "numpy_empty": np.zeros((0, 2)),
    "list_of_numpy": [np.float64(1.0), np.float64(2.0)],
    "list_of_arrays": [np.ones(2), np.ones(2)],
    "object": object(),
    "dict": {"a": 1},
    "set": {1, 2},
    "function": len,
    "range": range(3),
}
DTYPES: list[str | None] = [
    None, "float32", "float64", "float16", "int32", "int64", "uint8", "bool", "string", "complex64", "bfloat16",
]  # fmt: skip


def describe(tf: Any, value: Any, dtype: str | None) -> Any:
    """[dtype, shape] of the tensor, or the name of the error."""
    with tf.Graph().as_default():
        try:
            tensor = tf.convert_to_tensor(value, None if dtype is None else tf.as_dtype(dtype))
        except Exception as e:
            return type(e).__name__
        return [tensor.dtype.name, tensor.shape.as_list()]
