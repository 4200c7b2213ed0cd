"""A step's kernels run below torch's autograd; what needs autograd finds it there."""

import numpy as np
import torch

import headrace as tf
from headrace import extend
from headrace.resources.calling.dispatch import autograd, below_autograd


def tracks() -> bool:
    return (torch.ones(1, requires_grad=True) * 2).requires_grad


def test_autograd_inside():
    assert tracks()
    with below_autograd():
        assert not tracks()
        with autograd():
            assert tracks()
            with autograd():
                assert tracks()
        assert not tracks()
    assert tracks()


def long_step(x):
    for _ in range(10):
        x = tf.sin(x) + 0.1
    return x


def test_py_func_may_use_autograd_in_a_long_step(session):
    seen = []

    def slope(v):
        leaf = torch.tensor(v, requires_grad=True)
        (leaf**3).sum().backward()
        seen.append(tracks())
        return leaf.grad.numpy()

    x = tf.placeholder(tf.float32, [2])
    y = tf.py_func(slope, [long_step(x)], tf.float32)
    z = long_step(tf.py_func(slope, [x], tf.float32, stateful=False))
    got, _ = session.run([y, z], {x: [0.5, 1.0]})
    before = session.run(long_step(x), {x: [0.5, 1.0]})
    assert seen == [True, True]
    np.testing.assert_allclose(got, 3 * before**2, rtol=1e-6)


def test_a_users_op_may_use_autograd_in_a_long_step(session):
    slope = extend.op("TestSlopeOfCube(x: T) -> (y: T)", T=[tf.float32])

    @slope.kernel
    def _(x):
        leaf = x.detach().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad((leaf**3).sum(), leaf)[0]

    x = tf.placeholder(tf.float32, [2])
    y = long_step(extend.raw_ops.TestSlopeOfCube(x))
    got = session.run(y, {x: [0.5, 1.0]})
    wanted = session.run(long_step(3 * x * x), {x: [0.5, 1.0]})
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_results_of_a_long_step_are_plain_tensors(session):
    """Nothing of the step clings to what leaves it: a variable assigned in it takes part in later steps and in torch."""
    v = tf.Variable([1.0, 2.0])
    session.run(v.initializer)
    session.run(v.assign(long_step(v)))
    session.run(v.assign_add([1.0, 1.0]))
    assert session.run(v).shape == (2,)
