"""What the checkpoints in tests/golden/checkpoints hold: arrays by name, for TensorFlow and for Headrace."""

import numpy as np

NUMBERS = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "complex64", "complex128",
)  # fmt: skip
ROWS = np.arange(24, dtype=np.float32).reshape(8, 3) / 7
KERNEL = ROWS[:3] @ ROWS[:3, [0, 1, 2, 0]]
COLUMNS = np.arange(20, dtype=np.float64).reshape(2, 10)


def plain():
    """Variables of every dtype of numpy's, and of odd shapes."""
    arrays = {name: np.array([[1, 2, 3], [100, 0, 7]]).astype(name) for name in NUMBERS}
    arrays["complex64"] += np.complex64(2j)
    arrays["bool"] = np.array([True, False, True])
    arrays["text/words"] = np.array([b"", b"a", b"\x00\xff" * 90, "h\u00e9".encode()], object).reshape(2, 2)
    arrays["text/none"] = np.empty((0, 2), object)
    arrays["shapes/scalar"] = np.array(3.5, np.float32)
    arrays["shapes/empty"] = np.empty((0, 3), np.float32)
    arrays["shapes/ones"] = np.ones((1, 1, 1, 2), np.float32)
    arrays["step"] = np.array(1234567890123, np.int64)
    return arrays


def v1():
    """What the V1 format can hold."""
    arrays = plain()
    for name in ("uint16", "uint32", "uint64", "text/none"):
        del arrays[name]
    return arrays


def many():
    """Names that share beginnings, enough for several restarts."""
    return {f"layer_{i // 10}/cell_{i}/kernel": np.full([2], i, np.float32) for i in range(60)}


BFLOAT16 = np.array([1.5, -2.0, 3e38], np.float32)
QUANTIZED = np.array([1, -2, 3], np.int8)
LSTM_STEPS, LSTM_UNITS = 3, 4
LSTM_INPUT = (np.arange(2 * LSTM_STEPS * 5).reshape(2, LSTM_STEPS, 5) % 7 / 7).astype(np.float32)


def make_partitioned(tf, rows, columns):
    """Variables in parts, and one whole: ``tf`` is either system."""
    for name, array, partitioner in (
        ("rows", ROWS, tf.fixed_size_partitioner(rows)),
        ("columns", COLUMNS, tf.fixed_size_partitioner(columns, axis=1)),
    ):
        tf.get_variable(
            name, array.shape, tf.as_dtype(array.dtype), partitioner=partitioner, initializer=_parts_of(tf, array)
        )
    tf.get_variable("whole", initializer=ROWS[:, 0])


def _parts_of(tf, array):
    def part(shape, dtype=None, partition_info=None):
        start = [0] * array.ndim if partition_info is None else partition_info.var_offset
        return tf.constant(array[tuple(slice(at, at + size) for at, size in zip(start, shape, strict=True))])

    return part


def make_network(tf):
    """A small network with collections of every sort: variables, nodes, numbers, text."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    step = tf.train.get_or_create_global_step()
    with tf.variable_scope("layer"):
        w = tf.get_variable(
            "w",
            [3, 4],
            partitioner=tf.fixed_size_partitioner(2, axis=1),
            initializer=_parts_of(tf, KERNEL),
        )
        b = tf.get_variable("b", initializer=ROWS[0, :1], use_resource=True)
        y = tf.nn.relu(tf.matmul(x, w) + b, name="y")
    moved = tf.assign_add(step, 1, name="moved")
    tf.add_to_collection("outputs", y)
    tf.add_to_collection("steps", moved.op if hasattr(moved, "op") else moved)
    tf.add_to_collection("sizes", 3)
    tf.add_to_collection("rates", 0.5)
    tf.add_to_collection("names", "layer")


def network_output(x):
    """What the network computes."""
    return np.maximum(x @ KERNEL + ROWS[0, :1], 0)
