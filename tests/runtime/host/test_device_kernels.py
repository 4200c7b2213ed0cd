"""Kernels that are declared for a type of device, by the name it is registered under."""

from collections.abc import Iterator

import numpy as np
import pytest

import headrace as tf
from headrace import extend
from headrace.core.registry import REGISTRY
from headrace.graph import raw_ops


@pytest.fixture
def npu() -> Iterator[None]:
    extend.register_device("NPU", "cpu", count=1, priority=-1)
    try:
        yield
    finally:
        extend.unregister_device("NPU")


@pytest.fixture
def twice(npu: None) -> Iterator[object]:
    op = extend.op("Twice(x: T) -> (y: T)", T=[tf.float32, tf.float64], view=False)
    op.kernel(lambda x: x + x)
    try:
        yield op
    finally:
        extend.remove_op("Twice")


@pytest.mark.parametrize("compiled", ["off", "always"])
@pytest.mark.parametrize("name", ["NPU", "npu"])
def test_the_kernel_of_the_type_is_used_on_its_devices_only(twice, name, compiled) -> None:  # type: ignore[no-untyped-def]
    calls = []

    @twice.kernel(device=name, T=tf.float32)
    def _(x):  # type: ignore[no-untyped-def]
        calls.append(x.shape)
        return x * 20.0

    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile=compiled)) as session:
        x = tf.placeholder(tf.float32, [2])
        here = raw_ops.Twice(x)
        with tf.device("/npu:0"):
            there = raw_ops.Twice(x)
            wide = raw_ops.Twice(tf.cast(x, tf.float64))  # the general kernel
        results = session.run([here, there, wide], {x: [1.0, 2.0]})
    assert [r.tolist() for r in results] == [[2.0, 4.0], [20.0, 40.0], [2.0, 4.0]]
    assert calls


def test_it_stands_before_quicker_forms_of_an_op(npu: None) -> None:
    """Small values would be added as arrays."""
    add = REGISTRY.get("AddV2")
    before = list(add.kernels.by_device), dict(add._places)
    try:
        add.kernel(lambda x, y: x + y + 100.0, device="NPU")
        with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile="off")) as session:
            x = tf.placeholder(tf.float32, [2])
            with tf.device("/npu:0"):
                y = x + x
            np.testing.assert_array_equal(session.run([y, x + x], {x: [1.0, 2.0]}), [[102.0, 104.0], [2.0, 4.0]])
    finally:
        add.kernels.by_device[:], add._places = before


def test_the_only_kernel_decides_where_the_node_is(npu: None) -> None:
    op = extend.op("OnlyThere(x: float) -> (y: float)", view=False)
    try:
        op.kernel(lambda x: -x, device="NPU")
        x = tf.placeholder(tf.float32, [1])
        with tf.Session(config=tf.ConfigProto(compile="off")) as session:
            assert session.run(raw_ops.OnlyThere(x), {x: [1.0]}).tolist() == [-1.0]
            with tf.device("/cpu:0"):
                y = raw_ops.OnlyThere(x)
            with pytest.raises(tf.errors.InvalidArgumentError, match="op OnlyThere has no kernel .* on CPU"):
                session.run(y, {x: [1.0]})
    finally:
        extend.remove_op("OnlyThere")


def test_a_name_that_nobody_registered_is_an_error(twice) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(
        ValueError,
        match=r"kernel of Twice .*device='nppu' is neither a registered .*NPU.* nor .*cuda.*test_device_kernels",
    ):
        twice.kernel(lambda x: x, device="nppu")
    extend.unregister_device("NPU")
    with pytest.raises(ValueError, match="device='NPU' is neither"):
        twice.kernel(lambda x: x, device="NPU")
