"""The memory of long loops: what the backward pass needs and no more, freed as it is used."""

import gc
import warnings

import numpy as np
import pytest
import torch

import headrace as tf

STEPS = 10_000


def tensors():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # looking at every object wakes deprecated ones
        return sum(isinstance(thing, torch.Tensor) for thing in gc.get_objects())


@pytest.fixture
def counted(monkeypatch):
    """Runs fetches, and gives how many tensors more were alive in the first and in the last backward iteration."""

    def run(fetches, feeds):
        session = tf.Session(config=tf.ConfigProto(compile="off"))
        session.run(tf.global_variables_initializer())
        plan = session._master.plan(list(feeds), list(fetches), [])
        strand = plan.programs[0]
        backward = strand.bodies[-1].call
        name = next(k for k, v in strand.call.__globals__.items() if v is backward)
        found, calls = [], [0]

        def watched(*arguments):
            calls[0] += 1
            if calls[0] in (1, STEPS):
                found.append(tensors() - before)
            return backward(*arguments)

        monkeypatch.setitem(strand.call.__globals__, name, watched)
        before = tensors()
        values = session.run(fetches, feeds)
        return values, found

    return run


def test_a_loop_of_ten_thousand_iterations(counted):
    x, w = tf.placeholder(tf.float32, [1, 4]), tf.Variable(np.eye(4, dtype=np.float32) * 0.9)
    _, y = tf.while_loop(lambda i, h: i < STEPS, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w)) + 0.1 * x), (0, x))
    fetches = tf.gradients(tf.reduce_sum(y * y), [x, w])
    values, (first, last) = counted(fetches, {x: [[0.1, -0.2, 0.3, 0.4]]})
    assert all(np.isfinite(v).all() for v in values)
    assert first < 2 * STEPS + 100  # the state and the activation; not the product, nor the sum
    assert last < 2 * STEPS + 100  # each frame of the record is freed when it has been used


def test_what_no_gradient_uses_is_not_kept(counted):
    x = tf.placeholder(tf.float32, [4])
    _, y = tf.while_loop(lambda i, h: i < STEPS, lambda i, h: (i + 1, (h * 0.9 + x) * 0.5), (0, x))
    _, (first, last) = counted(tf.gradients(y, [x]), {x: [1.0, 2.0, 3.0, 4.0]})
    assert first < 100
    assert last < 100


def test_records_hold_what_is_used_only():
    x = tf.placeholder(tf.float32, [6, 2])
    y = tf.scan(lambda a, row: a * 0.9 + row, x)
    (gradient,) = tf.gradients(tf.reduce_sum(y * y), [x])
    session = tf.Session(config=tf.ConfigProto(compile="off"))
    plan = session._master.plan([x], [gradient], [])
    pushes = [n for m in plan.graph.nodes if "body" in m.attrs for n in m.attrs["body"].nodes if n.type == "_PushStash"]
    assert [[v.dtype.name for v in n.inputs[1:]] for n in pushes] == [["int32"]]  # the index of the row
    expected = np.zeros([6, 2])
    values = np.random.RandomState(0).randn(6, 2).astype(np.float32)
    sums = session.run(y, {x: values})
    for i in range(5, -1, -1):
        expected[i] = 2 * sums[i] + (0.9 * expected[i + 1] if i < 5 else 0)
    np.testing.assert_allclose(session.run(gradient, {x: values}), expected, rtol=1e-5)


def test_swapping_is_accepted_and_changes_nothing(session):
    x = tf.placeholder(tf.float32, [3, 4])
    found = []
    for swap in (False, True):
        _, y = tf.while_loop(lambda i, h: i < 5, lambda i, h: (i + 1, tf.tanh(h) * h + x), (0, x), swap_memory=swap)
        found.append(tf.gradients(y, [x])[0])
    a, b = session.run(found, {x: np.linspace(-1, 1, 12).reshape(3, 4)})
    np.testing.assert_array_equal(a, b)


def test_recomputing_the_body_keeps_only_its_input():
    x, v = tf.placeholder(tf.float32, [4]), tf.Variable([0.5, 0.2, 0.1, 0.3])

    def f(h):
        return tf.tanh(tf.sin(h) * tf.exp(h * 0.1) + tf.cos(h) * v)

    found = []
    for step in (f, tf.contrib.layers.recompute_grad(f)):
        _, y = tf.while_loop(lambda i, h: i < 5, lambda i, h, step=step: (i + 1, step(h)), (0, x))
        found.append(tf.gradients(tf.reduce_sum(y * y), [x, v]))
    session = tf.Session(config=tf.ConfigProto(compile="off"))
    session.run(tf.global_variables_initializer())
    plain, recomputed = session.run(found, {x: [0.1, 0.2, 0.3, 0.4]})
    np.testing.assert_allclose(recomputed, plain, rtol=1e-6)
    kept = []
    for fetches in found:
        plan = session._master.plan([x], fetches, [])
        bodies = [m.attrs["body"] for m in plan.graph.nodes if "body" in m.attrs]
        kept += [len(n.inputs) - 1 for body in bodies for n in body.nodes if n.type == "_PushStash"]
    assert kept[0] > 1
    assert kept[1] == 1
