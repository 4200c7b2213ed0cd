"""Hooks of a device type that are no functions, raise, or return the wrong thing: errors name the hook, the node and its line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from runtime.host.counting_device import Counting, registered

import headrace as tf
from headrace import extend

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


def session() -> tf.Session:
    return tf.Session(config=tf.ConfigProto(compile="off", device_count={"GPU": 0}))


@pytest.mark.parametrize("name", ["allocate", "copy", "launch"])
def test_a_hook_must_be_callable(name: str) -> None:
    with pytest.raises(
        TypeError, match=rf"DeviceHooks.{name} must be a function or None, got 3 .*test_hooks_mistakes.py"
    ):
        extend.DeviceHooks(**{name: 3})  # type: ignore[arg-type]


def test_hooks_must_be_hooks_and_need_memory() -> None:
    with pytest.raises(TypeError, match=r"hooks of device type 'NPU' must be a DeviceHooks or None, got <function"):
        extend.register_device("NPU", "cpu", hooks=lambda: None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"'NPU' brings hooks, but tensors of torch type 'meta' have no memory"):
        extend.register_device("NPU", "meta", hooks=extend.DeviceHooks(launch=lambda run, node: run()))


def failing(hooks: extend.DeviceHooks, build: Callable[[Any], Any] = tf.exp) -> tf.errors.OpError:
    """The error of a step on a device with these hooks."""
    with registered("NPU", hooks), tf.Graph().as_default(), session() as sess:
        x = tf.placeholder(tf.float32, [2, 3])
        with tf.device("/npu:0"):
            y = build(x)
        with pytest.raises(tf.errors.OpError) as raised:
            sess.run(y, {x: X})
    assert "test_hooks_mistakes.py" in str(raised.value)
    return raised.value


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        (lambda shape, dtype: None, r"None; expected is a contiguous tensor of float32\[2, 3\] on cpu"),
        (lambda shape, dtype: torch.empty(6), r"a tensor of float32\[6\] on cpu; expected is .*float32\[2, 3\]"),
        (lambda shape, dtype: torch.empty(shape, dtype=torch.float64), r"a tensor of float64\[2, 3\] on cpu; expected"),
        (lambda shape, dtype: torch.empty(shape, device="meta"), r"a tensor of float32\[2, 3\] on meta; expected"),
        (lambda shape, dtype: torch.empty(shape[::-1]).t(), r"a tensor of .* on cpu that is not contiguous; expected"),
    ],
)  # fmt: skip
def test_memory_that_is_not_what_was_asked_for(memory: Any, said: str) -> None:
    error = failing(extend.DeviceHooks(allocate=lambda shape, dtype, device: memory(shape, dtype)))
    assert isinstance(error, tf.errors.InvalidArgumentError)
    assert re.search(f"the allocate hook of device type NPU returned {said}", str(error)), str(error)
    assert "[[node Exp (Exp) made at" in str(error)


def raising(error: Exception) -> Callable[..., Any]:
    def hook(*arguments: Any) -> Any:
        raise error

    return hook


@pytest.mark.parametrize("name", ["allocate", "copy", "launch"])
@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (OSError("no bus"), tf.errors.InternalError),
        (MemoryError("all 16 bytes are in use"), tf.errors.ResourceExhaustedError),
        (tf.errors.UnavailableError(None, None, "unplugged"), tf.errors.UnavailableError),
    ],
)
def test_a_hook_that_raises(name: str, raised: Exception, kind: type[tf.errors.OpError]) -> None:
    error = failing(extend.DeviceHooks(**{name: raising(raised)}))
    assert type(error) is kind
    said = "unplugged" if kind is tf.errors.UnavailableError else f"{type(raised).__name__}: {raised}"
    assert f"the {name} hook of device type NPU raised {said}" in str(error)
    assert "[[node Exp (Exp) made at" in str(error)


def test_a_hook_that_raises_for_a_constant_or_a_variable() -> None:
    hooks = extend.DeviceHooks(allocate=raising(MemoryError("full")))
    with registered("NPU", hooks):
        with tf.device("/npu:0"):
            v = tf.get_variable("v", initializer=X)
        expected = pytest.raises(
            tf.errors.ResourceExhaustedError, match=r"(?s)full.*node v/initial_value.*test_hooks_mistakes"
        )
        with session() as sess, expected:
            sess.run(v.initializer)


def test_wrong_memory_for_a_constant_names_it() -> None:
    with registered("NPU", extend.DeviceHooks(allocate=lambda shape, dtype, device: torch.empty(1))):
        x = tf.placeholder(tf.float32, [2, 3])
        with tf.device("/npu:0"):
            y = x + tf.constant(X, name="wide")
        expected = pytest.raises(
            tf.errors.InvalidArgumentError, match=r"(?s)float32\[1\] on cpu.*node wide .*test_hooks_mistakes"
        )
        with session() as sess, expected:
            sess.run(y, {x: X})


def test_a_copy_out_names_the_node_that_made_the_value() -> None:
    def copy(source: Any, target: Any, before: Any, after: Any) -> None:
        if after is None:
            raise OSError("no bus")
        target.copy_(source)

    error = failing(extend.DeviceHooks(copy=copy), lambda x: tf.exp(x, name="made"))
    assert "raised OSError: no bus" in str(error) and "[[node made (Exp) made at" in str(error)


def test_a_copy_that_returns_something() -> None:
    error = failing(extend.DeviceHooks(copy=lambda source, target, before, after: source.clone()))  # type: ignore[arg-type, return-value]
    assert (
        "the copy hook of device type NPU returned a tensor of float32[2, 3] on cpu; it fills its target and returns None"
        in str(error)
    )


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (None, "returned None for Exp:0; expected is float32[2, 3] on 'cpu', as run() returns it"),
        (torch.zeros(2, 2), "returned a tensor of float32[2, 2] on cpu for Exp:0"),
        (torch.zeros(2, 3, dtype=torch.float64), "returned a tensor of float64[2, 3] on cpu for Exp:0"),
        ("text", "returned a str for Exp:0"),
    ],
)
def test_a_launch_that_returns_the_wrong_thing(result: Any, said: str) -> None:
    error = failing(extend.DeviceHooks(launch=lambda run, node: result))
    assert isinstance(error, tf.errors.InvalidArgumentError)
    assert f"the launch hook of device type NPU {said}" in str(error)


@pytest.mark.parametrize("result", [None, (), torch.zeros(2, 1), [torch.zeros(2, 1)] * 2])
def test_a_launch_that_returns_too_few_outputs(result: Any) -> None:
    hooks = extend.DeviceHooks(launch=lambda run, node: result if node.op.startswith("Split") else run())
    error = failing(hooks, lambda x: tf.split(x, 3, axis=1)[0])
    assert "expected are 3 outputs, as run() returns them" in str(error)


def test_an_error_of_the_kernel_is_its_own(npu: Counting) -> None:
    messages = []
    for device in ("/cpu:0", "/npu:0"):
        x = tf.placeholder(tf.float32, [None, 3])
        with tf.device(device):
            y = tf.matmul(x, x)
        with session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as raised:
            sess.run(y, {x: X})
        messages.append(str(raised.value).splitlines()[0])
    assert messages[0] == messages[1]
    del raised  # whose frames hold what the step held
    assert npu.bytes == {"NPU:0": 0}
