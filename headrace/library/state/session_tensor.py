"""Session handles: values that stay on their device between steps."""

from __future__ import annotations

from typing import Any

from headrace.client.tensor_handle import TensorHandle as TensorHandle
from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.operation import Operation, Tensor
from headrace.library.tensor.creation import placeholder


def get_session_handle(data: Any, name: str | None = None) -> Tensor:
    """Keeps the value of ``data`` in the session.  Fetching the result gives its TensorHandle.

    Args:
      data: The tensor to keep.
      name: A name for the op.

    Returns:
      A scalar string tensor; ``session.run`` gives a TensorHandle for it.

    >>> total = tf.get_session_handle(tf.constant([1.0, 2.0]) * 10.0)
    >>> with tf.Session() as sess:
    ...     kept = sess.run(total)
    ...     holder, value = tf.get_session_tensor(kept.handle, tf.float32)
    ...     print(sess.run(value + 1.0, feed_dict={holder: kept.handle}))
    ...     print(kept.eval())
    [11. 21.]
    [10. 20.]
    """
    if not isinstance(data, Tensor):
        raise TypeError(f"`data` must be of type Tensor, got {data!r} {at()}")
    with context.get_default_graph().colocate_with(data):
        return raw_ops.GetSessionHandle(data, name=name)


def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """A placeholder for a handle, and the value of the handle that is fed to it, on the device that ``handle`` names.

    Args:
      handle: The text of a handle (``TensorHandle.handle``), which says the device to use.
      dtype: The type of the value.
      name: A name for the op.

    Returns:
      A pair of tensors: the placeholder, to be fed the text of a handle, and the value.

    >>> with tf.Session() as sess:
    ...     kept = sess.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
    ...     holder, value = tf.get_session_tensor(kept.handle, tf.float32)
    ...     print(sess.run(value, {holder: kept.handle}))
    [1. 2.]
    """
    with context.get_default_graph().device(_device_of(handle)):
        holder = placeholder(dtypes.string)
        value: Tensor = raw_ops.GetSessionTensor(holder, dtype=dtype, name=name)
    return holder, value


def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Operation]:
    """A placeholder for a handle, and the operation that deletes the value of the handle that is fed to it.

    Args:
      handle: The text of a handle (``TensorHandle.handle``), which says the device to use.
      name: A name for the op.

    Returns:
      A pair: the placeholder, to be fed the text of a handle, and the operation.

    >>> with tf.Session() as sess:
    ...     kept = sess.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
    ...     holder, deleter = tf.delete_session_tensor(kept.handle)
    ...     sess.run(deleter, {holder: kept.handle})
    """
    with context.get_default_graph().device(_device_of(handle)):
        holder = placeholder(dtypes.string)
        deleter: Operation = raw_ops.DeleteSessionTensor(holder, name=name)
    return holder, deleter


def _device_of(handle: Any) -> str:
    text = handle.decode() if isinstance(handle, bytes) else str(handle)
    return text.split(";")[-1]
