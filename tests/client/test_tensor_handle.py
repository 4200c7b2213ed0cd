"""Values that stay in a session between steps, and their handles."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.client.tensor_handle import TensorHandle
from headrace.resources.state.session_tensor import SessionTensors


def kept(session: Any) -> int:
    return len(SessionTensors.of(session._resources, session._master.registered.owner))


def test_a_value_goes_from_step_to_step(session: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    handle = session.run(tf.get_session_handle(x * 2.0), {x: [1.0, 2.0]})
    holder, value = tf.get_session_tensor(handle.handle, tf.float32)
    again = tf.get_session_handle(value + 1.0)
    for _ in range(3):
        handle = session.run(again, {holder: handle.handle})
    assert session.run(value, {holder: handle}).tolist() == [5.0, 7.0]
    assert handle.eval().tolist() == [5.0, 7.0]


def test_its_name(session: Any) -> None:
    handle = session.run(tf.get_session_handle(tf.constant([1, 2]), name="kept"))
    name, number, device = str(handle).split(";")
    assert name == "kept" and number.isdigit() and device == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert isinstance(handle, TensorHandle) and handle.handle == str(handle) == handle.get_raw_handle()
    array = handle.to_numpy_array()
    assert array.dtype == np.dtype([("resource", np.ubyte)]) and str(handle).encode() in array.tobytes()


def test_structures_of_handles_and_values(session: Any) -> None:
    a = tf.constant([1.0, 2.0])
    found = session.run({"h": tf.get_session_handle(a), "v": [a, tf.raw_ops.GetSessionHandleV2(value=a)]})
    assert found["h"].eval().tolist() == found["v"][1].eval().tolist() == found["v"][0].tolist()


def test_a_handle_fed_for_any_tensor(session: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    double = session.make_callable(x * 2.0, [x])
    handle = session.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
    assert double(handle).tolist() == session.run(x * 2.0, {x: handle}).tolist() == [2.0, 4.0]
    assert session.run(x, {x: handle}).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"shape \(2,\) for Tensor 'y:0', which has shape \(3,\)"):
        session.run(tf.placeholder(tf.float32, [3], name="y") + 1, {"y:0": handle})
    with pytest.raises(tf.errors.InvalidArgumentError, match="float32 value for Tensor 'n:0', which is int32"):
        session.run(tf.placeholder(tf.int32, [2], name="n") + 1, {"n:0": handle})


def test_the_value_is_a_copy(session: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    session.run(v.initializer)
    handle = session.run(tf.get_session_handle(v.read_value()))
    holder, value = tf.get_session_tensor(handle.handle, tf.float32)
    session.run(v.assign([5.0, 5.0]))
    found = session.run(value, {holder: handle.handle})
    found += 100.0
    handle.eval()[:] = 7.0
    assert session.run(value, {holder: handle.handle}).tolist() == [1.0, 2.0]


def test_deleting(session: Any) -> None:
    keep = tf.get_session_handle(tf.constant([1.0]))
    handle = session.run(keep)
    holder, value = tf.get_session_tensor(handle.handle, tf.float32)
    handle.delete()
    assert kept(session) == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
        session.run(value, {holder: handle.handle})
    for use in (handle.eval, handle.delete):
        with pytest.raises(TypeError, match="may have already been deleted"):
            use()
    name = session.run(keep).get_raw_handle()
    assert kept(session) == 1
    holder, delete = tf.delete_session_tensor(name)
    session.run(delete, {holder: name})
    assert kept(session) == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="Failed to delete"):
        session.run(delete, {holder: name})


def test_a_value_lives_as_long_as_its_handle(session: Any) -> None:
    keep = tf.get_session_handle(tf.constant([1.0]))
    handles = [session.run(keep) for _ in range(3)]
    assert kept(session) == 3
    del handles[0]
    gc.collect()
    assert kept(session) == 2


def test_a_handle_outlives_its_session() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        handle = session.run(tf.get_session_handle(tf.constant([1.0])))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
        handle.eval()


def test_errors(session: Any) -> None:
    with pytest.raises(TypeError, match="must be of type Tensor"):
        tf.get_session_handle([1.0])
    handle = session.run(tf.get_session_handle(tf.constant([1.0])))
    holder, value = tf.get_session_tensor(handle.handle, tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is float32, not int32"):
        session.run(value, {holder: handle.handle})


def test_strings(session: Any) -> None:
    handle = session.run(tf.get_session_handle(tf.constant(["a", "b"])))
    holder, value = tf.get_session_tensor(handle, tf.string)
    assert session.run(value, {holder: handle}).tolist() == [b"a", b"b"]
    x = tf.placeholder(tf.string, [2])
    assert session.run(tf.strings.join([x, x]), {x: handle}).tolist() == [b"aa", b"bb"]
