"""Graphs written, read back and run: the same values, for programs with conditionals, loops, functions and state."""

import numpy as np
import pytest
from golden.control_flow_cases import INPUTS, TIMES, VARIABLE, WIDE, Program
from golden.nn_cases import CASES, values

import headrace as tf
from headrace.graph.verify import verify_graph


def moved(graph, fetches, feeds, setup=()):
    """The values of the fetches, given by name, in a copy of the graph; and in a copy of the copy."""
    found = []
    data = graph.as_graph_def().SerializeToString()
    for _ in range(2):
        with tf.Graph().as_default() as copy, tf.Session() as session:
            tf.import_graph_def(tf.GraphDef.FromString(data), name="")
            verify_graph(copy)
            for name in setup:
                session.run(name)
            found.append(session.run(fetches, feeds))
            data = copy.as_graph_def().SerializeToString()
    return found


def run(graph, fetches, feeds, setup=()):
    with graph.as_default(), tf.Session() as session:
        for name in setup:
            session.run(name)
        return session.run(fetches, feeds)


@pytest.mark.parametrize("seed", [*range(0, WIDE, 4), *range(WIDE, WIDE + 16, 5)])
def test_nested_control_flow_with_gradients(seed):
    with tf.Graph().as_default() as graph:
        inputs = {k: tf.placeholder(tf.float64, [3], name=k) for k in INPUTS}
        variable = tf.Variable(VARIABLE, name="v")
        xs = [*inputs.values(), variable]
        times = tf.placeholder(tf.int32, [], name="times")
        depth = 3 if seed < WIDE else 2
        result = Program(tf, seed, times).grow("", depth, [*inputs.values(), variable * 1.0])
        first = [g for g in tf.gradients(result, xs) if g is not None]
        second = [g for g in tf.gradients(tf.add_n([tf.reduce_sum(g * g) for g in first]), xs) if g is not None]
    names = [t.name for t in [result, *first, *second]]
    feeds = {"times:0": TIMES, **{f"{k}:0": v for k, v in INPUTS.items()}}
    wanted = run(graph, names, feeds, ["v/Assign"])
    for found in moved(graph, names, feeds, ["v/Assign"]):
        for got, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9)


@pytest.mark.parametrize("case", sorted(CASES)[::5])
def test_networks_with_gradients(case):
    feeds = {}
    with tf.Graph().as_default() as graph:

        def make(name, shape):
            feeds[f"{name}:0"] = values(name, shape)
            return tf.placeholder(tf.float32, shape, name=name)

        fetches = [t for t in CASES[case](tf, make) if t is not None]
    names = [tf.convert_to_tensor(t).name if not isinstance(t, tf.IndexedSlices) else t.values.name for t in fetches]
    wanted = run(graph, names, feeds)
    for found in moved(graph, names, feeds):
        for got, expected in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(got, expected)


def program_state():
    x = tf.placeholder(tf.float32, [2], name="x")
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(0, name="w")
    counted = tf.cond(x[0] > 0, lambda: w.assign_add(1), lambda: w.assign(7))
    with tf.control_dependencies([counted]):
        loop = tf.while_loop(
            lambda i: i < 3, lambda i: tf.tuple([i + 1], control_inputs=[v.assign_add(x * 2).op]), [0], back_prop=False
        )
    with tf.control_dependencies([loop]):
        return [v.read_value(), w.read_value(), counted]


def program_functions():
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.Variable([3.0, 4.0], name="v")

    @tf.function
    def inner(y):
        v.assign_add(y)
        return y * v, tf.reduce_sum(v)

    @tf.function
    def outer(y):
        a, b = inner(y)
        return tf.cond(b > 0, lambda: inner(a)[0], lambda: a)

    result = outer(x)
    return [result, *tf.gradients(result, x)]


def program_recursion():
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.Variable(2.0, name="v")

    @tf.function
    def power(y, n):
        return tf.cond(n > 0, lambda: v * y * power(y, n - 1), lambda: tf.ones_like(y))

    result = power(x, tf.constant(3))
    (first,) = tf.gradients(result, x)
    return [result, first, *tf.gradients(first, x)]


def program_arrays():
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.Variable([0.5, -0.5], name="v")
    scanned = tf.scan(lambda a, y: tf.tanh(a * w + y), tf.stack([x, x, x]), initializer=x)
    mapped = tf.map_fn(lambda y: (y * 2, y + 1), tf.stack([x, x]), dtype=(tf.float32, tf.float32))
    return [scanned, *mapped, *tf.gradients(scanned, [x, w])]


def program_training():
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.Variable([1.0, 2.0], name="v")
    table = tf.Variable(np.ones([4, 2]), dtype=tf.float32, name="table")
    rows = tf.gather(table, [1, 3])
    loss = tf.reduce_sum((rows * w * x - 1.0) ** 2)
    with tf.control_dependencies([tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)]):
        return [w.read_value(), table.read_value()]


def program_attributes():
    x = tf.placeholder(tf.float32, [2], name="x")
    text = tf.string_join([tf.as_string(x), tf.constant(["a", "\xff".encode("latin-1")])], separator="-")
    half = tf.cast(tf.constant([1.5, 2.5], tf.bfloat16), tf.float32)
    image = tf.reshape(tf.tile(x, [8]), [1, 4, 4, 1])
    pooled = tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    split = tf.split(tf.reshape(x, [2, 1]), [1, 1])
    empty = tf.constant(np.zeros([0, 3]))
    picked = tf.py_func(lambda a: a * 3, [x], tf.float32)
    numbers = tf.constant([2**40, -1]), tf.constant([1 + 2j]), tf.constant([True, False]), tf.constant(3, tf.uint8)
    return [text, half, pooled, *split, empty, picked, *numbers]


PROGRAMS = {k.removeprefix("program_"): f for k, f in list(globals().items()) if k.startswith("program_")}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("x", [(1.0, 2.0), (-1.0, 0.5)])
def test_programs(program, x):
    with tf.Graph().as_default() as graph:
        names = [t.name for t in PROGRAMS[program]()]
        setup = [v.initializer.name for v in tf.global_variables()]
    setup = [n.removesuffix("") for n in setup]
    feeds = {"x:0": x}
    wanted = run(graph, names, feeds, setup)
    for found in moved(graph, names, feeds, setup):
        for got, expected in zip(found, wanted, strict=True):
            if expected.dtype == object:
                assert got.tolist() == expected.tolist()
            else:
                np.testing.assert_allclose(got, expected, rtol=1e-6)
                assert got.dtype == expected.dtype
