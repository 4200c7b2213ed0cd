"""Errors while running: of TF1's tree, with the node, its inputs, the line that made it, the line of the run."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import headrace as tf
from headrace.core import dtypes
from headrace.core.registry import REGISTRY, op
from headrace.graph import raw_ops


def cpu_session() -> tf.Session:
    """A session without GPUs, so that programs and messages are the same on every machine."""
    return tf.Session(config=tf.ConfigProto(device_count={"GPU": 0}))


@pytest.fixture
def failing() -> Iterator[Any]:
    """An op whose kernel raises what the test asks for."""
    made = op("TestFailing(x: T) -> (y: T)", T=dtypes.FLOATING)
    made.shape(lambda x: x)
    what: list[BaseException] = []

    @made.kernel
    def _(x: torch.Tensor) -> torch.Tensor:
        raise what[0]

    yield what
    REGISTRY.remove("TestFailing")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("bad value"), tf.errors.InvalidArgumentError),
        (TypeError("bad type"), tf.errors.InvalidArgumentError),
        (IndexError("bad index"), tf.errors.InvalidArgumentError),
        (RuntimeError("torch says no"), tf.errors.InvalidArgumentError),
        (ZeroDivisionError("zero"), tf.errors.InvalidArgumentError),
        (MemoryError("full"), tf.errors.ResourceExhaustedError),
        (torch.OutOfMemoryError("full"), tf.errors.ResourceExhaustedError),
        (NotImplementedError("later"), tf.errors.UnimplementedError),
        (StopIteration("end"), tf.errors.OutOfRangeError),
        (KeyError("what"), tf.errors.UnknownError),
        (tf.errors.NotFoundError(None, None, "no file"), tf.errors.NotFoundError),
    ],
)
def test_errors_by_kind(failing: list[BaseException], error: BaseException, kind: type[Exception]) -> None:
    failing.append(error)
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = raw_ops.TestFailing(x, name="y")
    with cpu_session() as session, pytest.raises(kind) as caught:
        session.run(y, {x: np.zeros((3, 2))})
    text = str(caught.value)
    assert f"[[node y (TestFailing) made at {__file__}:" in text
    assert "on /job:localhost/replica:0/task:0/device:CPU:0]]" in text
    assert "inputs: " in text and "float32[3, 2]" in text
    assert f"run at {__file__}:" in text
    assert caught.value.op is y.op and caught.value.node_def.name == "y"
    assert caught.value.__cause__ is error
    assert "Original stack trace for 'y'" in text


def test_interrupts_pass_through(failing: list[BaseException]) -> None:
    failing.append(KeyboardInterrupt())
    y = raw_ops.TestFailing(tf.placeholder_with_default([1.0], [None]))
    with cpu_session() as session, pytest.raises(KeyboardInterrupt):
        session.run(y)


def test_a_constant_input_is_described(failing: list[BaseException]) -> None:
    failing.append(ValueError("bad"))
    y = raw_ops.TestFailing(tf.constant([1.0, 2.0], name="c"))
    with cpu_session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=r"inputs: c:0 float32\[2\]"):
        session.run(y)


def test_the_session_survives(failing: list[BaseException]) -> None:
    failing.append(ValueError("bad"))
    x = tf.constant(1.0)
    y = raw_ops.TestFailing(x)
    with cpu_session() as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(y)
        assert session.run(x) == 1.0


@pytest.mark.parametrize("use", ["fetch", "read", "compute", "update", "after"])
def test_uninitialised_variables(use: str) -> None:
    v = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="v")
    fetch = {
        "fetch": lambda: v,
        "read": lambda: raw_ops.Identity(v),
        "compute": lambda: raw_ops.Neg(v),
        "update": lambda: raw_ops.AssignAdd(v, [1.0, 1.0]),
        "after": lambda: raw_ops.AssignSub(raw_ops.AssignAdd(v, [1.0, 1.0]), [1.0, 1.0]),
    }[use]()
    with cpu_session() as session, pytest.raises(tf.errors.FailedPreconditionError) as caught:
        session.run(fetch)
    text = str(caught.value)
    assert f"Attempting to use uninitialized value v: the variable made at {__file__}:" in text
    assert "global_variables_initializer" in text


def test_an_attribute_error_of_a_kernel_is_not_an_uninitialised_variable(failing: list[BaseException]) -> None:
    failing.append(AttributeError("'X' object has no attribute 'value'", name="value"))
    y = raw_ops.TestFailing(tf.constant(1.0))
    with cpu_session() as session, pytest.raises(tf.errors.UnknownError):
        session.run(y)


def test_unfed_placeholders() -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with cpu_session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(raw_ops.Neg(x))
    text = str(caught.value)
    assert "You must feed a value for placeholder tensor 'x' with dtype float and shape [?,2]" in text
    assert caught.value.op is x.op


def test_a_value_that_was_turned_into_a_tensor_is_still_looked_at():
    """The refusal of an op needs its inputs, also one that the step holds as a tensor only since the line before."""
    x, n = tf.placeholder(tf.float32, [2, 4]), tf.placeholder(tf.int32, [2])
    y = tf.reverse_sequence(tf.tanh(x) * 2.0 + 1.0, n, 1, batch_axis=0)
    with (
        tf.Session(config=tf.ConfigProto(compile="off")) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"seq_lens\(1\) > input.dims\(1\): got 5 and 4"),
    ):
        session.run(y, {x: [[1.0] * 4] * 2, n: [0, 5]})
