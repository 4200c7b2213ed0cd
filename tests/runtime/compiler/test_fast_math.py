"""What compiled code computes in its own way: near enough, and only where asked for."""

import numpy as np
import torch

import headrace as tf
from headrace.runtime.compiler.fast_math import replacements, tanh

VALUES = np.concatenate([np.linspace(-12, 12, 20_001), np.geomspace(1e-30, 1, 500), -np.geomspace(1e-30, 1, 500)])


def test_tanh_is_within_a_few_roundings():
    x = torch.tensor(VALUES, dtype=torch.float32)
    expected = np.tanh(x.double().numpy())
    found = tanh(x).double().numpy()
    nonzero = expected != 0
    assert np.abs(found[nonzero] / expected[nonzero] - 1).max() < 5e-7
    assert not found[~nonzero].any()
    assert np.abs(found).max() <= 1


def test_tanh_of_what_is_no_ordinary_number():
    found = tanh(torch.tensor([float("inf"), float("-inf"), float("nan"), -0.0])).tolist()
    np.testing.assert_allclose(found[:2], [1, -1], rtol=3e-7)
    assert np.isnan(found[2])
    assert np.signbit(found[3])


def test_other_types_are_left_to_the_library():
    assert tanh(torch.ones(2, dtype=torch.float64)) is NotImplemented


def test_nothing_is_replaced_where_results_must_be_exact_or_on_other_devices():
    assert replacements("cpu", False)
    assert not replacements("cpu", True)
    assert not replacements("cuda", False)
    assert not replacements("cpu", False, 100)  # an unrolled network


def test_a_compiled_step():
    x = tf.placeholder(tf.float32, [len(VALUES)])
    y = tf.tanh(x) * 1.0 + tf.sin(x) * 0.0 + 0.0 * x
    with tf.Session(config=tf.ConfigProto(compile="always")) as session:
        found = session.run(y, {x: VALUES})
    np.testing.assert_allclose(found, np.tanh(VALUES), rtol=1e-6, atol=1e-7)
