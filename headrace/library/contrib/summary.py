"""The summaries of tf.contrib.summary: nodes that write to the default writer, if summaries are recorded when they run.

The tag of a summary is the name of its node, as in tf.summary; its step is the global step unless it is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core import dtypes
from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph import context, raw_ops
from headrace.graph.convert import constant, convert_to_tensor
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.library.control.dependency import identity, no_op
from headrace.library.numeric.math import equal
from headrace.library.scope import add_to_collection, control_dependencies, device
from headrace.library.state.global_step import get_or_create_global_step
from headrace.library.state.smart_cond import smart_cond, smart_constant_value
from headrace.library.summary.summary import summary_scope
from headrace.library.summary.summary_writer import SUMMARIES, serialized_graph, state

# ---- whether summaries are recorded


@contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """A block whose summaries are written if the condition holds: a bool, a bool tensor, or a function that gives one.

    Args:
      condition: A bool, a bool scalar tensor, or a function without arguments that gives one.

    Returns:
      A context manager for ``with``.

    >>> step = tf.train.get_or_create_global_step()
    >>> with tf.contrib.summary.record_if(step < 10):
    ...     summary = tf.contrib.summary.scalar("loss", 0.5)
    """
    previous, state.recording = state.recording, condition
    try:
        yield
    finally:
        state.recording = previous


def always_record_summaries() -> Any:
    """A block in which all summaries are written.

    Returns:
      A context manager for ``with``.

    >>> with tf.contrib.summary.always_record_summaries():
    ...     summary = tf.contrib.summary.scalar("loss", 0.5)
    """
    return record_if(True)


def never_record_summaries() -> Any:
    """A block in which no summaries are written.

    Returns:
      A context manager for ``with``.

    >>> with tf.contrib.summary.never_record_summaries():
    ...     summary = tf.contrib.summary.scalar("loss", 0.5)
    """
    return record_if(False)


def record_summaries_every_n_global_steps(n: Any, global_step: Any = None) -> Any:
    """A block whose summaries are written in steps whose number ``n`` divides.

    Args:
      n: The number of steps, an int or an int64 scalar.
      global_step: The variable that counts steps; None for the graph's.

    Returns:
      A context manager for ``with``.

    >>> with tf.contrib.summary.record_summaries_every_n_global_steps(100):
    ...     summary = tf.contrib.summary.scalar("loss", 0.5)
    """
    step = get_or_create_global_step() if global_step is None else global_step

    def divides() -> Tensor:
        with device("cpu:0"):
            return equal(step % n, 0)

    return record_if(divides if context.executing_eagerly() else divides())


def _condition() -> Any:
    """Whether the summary that is being made is written: a bool or a tensor."""
    if state.writer is None or state.recording is None:
        return False
    return state.recording() if callable(state.recording) else state.recording


def should_record_summaries() -> Tensor:
    """Whether summaries are recorded, as a tensor.

    Returns:
      A bool scalar tensor.

    >>> tf.Session().run(tf.contrib.summary.should_record_summaries())
    np.False_
    """
    return convert_to_tensor(_condition(), dtypes.bool)


def is_recording_summaries() -> Any:
    """Whether summaries are recorded: what was asked for, and False without a default writer.

    Returns:
      A bool, a tensor, or a function without arguments.

    >>> tf.contrib.summary.is_recording_summaries()
    False
    """
    return False if state.writer is None or state.recording is None else state.recording


# ---- summaries


def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Writes one number.

    Args:
      name: The name, from which the tag is made.
      tensor: A scalar number.
      family: A prefix of the tag, under which TensorBoard shows summaries together; None for none.
      step: The number of the step, an int or an int64 scalar; None for the global step.

    Returns:
      A bool tensor that says whether it was written, or an operation if there is no default writer.

    Example: ``with writer.as_default(), tf.contrib.summary.always_record_summaries(): tf.contrib.summary.scalar("loss", loss)``
    """
    return _written(name, family, tensor, step, raw_ops.WriteScalarSummary)


def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Writes how numbers are distributed.

    Args:
      name: The name, from which the tag is made.
      tensor: A tensor of numbers of any shape.
      family: A prefix of the tag, under which TensorBoard shows summaries together; None for none.
      step: The number of the step, an int or an int64 scalar; None for the global step.

    Returns:
      A bool tensor that says whether it was written, or an operation if there is no default writer.

    Example: ``with writer.as_default(), tf.contrib.summary.always_record_summaries(): tf.contrib.summary.histogram("w", w)``
    """
    return _written(name, family, tensor, step, raw_ops.WriteHistogramSummary)


def image(
    name: str, tensor: Any, bad_color: Any = None, max_images: int = 3, family: str | None = None, step: Any = None
) -> Any:  # fmt: skip
    """Writes the first ``max_images`` of [batch, height, width, channels]; pixels that are not finite get ``bad_color``.

    Args:
      name: The name, from which the tag is made.
      tensor: Images [batch, height, width, channels], of 1, 3 or 4 channels.
      bad_color: The colour of pixels that are not finite, a uint8 vector; None for red.
      max_images: The largest number of images.
      family: A prefix of the tag, under which TensorBoard shows summaries together; None for none.
      step: The number of the step, an int or an int64 scalar; None for the global step.

    Returns:
      A bool tensor that says whether it was written, or an operation if there is no default writer.

    Example: ``with writer.as_default(), tf.contrib.summary.always_record_summaries(): tf.contrib.summary.image("x", images)``
    """

    def write(writer: Any, number: Any, tag: str, images: Tensor, name: str) -> Any:
        color = constant([255, 0, 0, 255], dtypes.uint8) if bad_color is None else bad_color
        return raw_ops.WriteImageSummary(writer, number, tag, images, color, max_images=max_images, name=name)

    return _written(name, family, tensor, step, write)


def audio(
    name: str, tensor: Any, sample_rate: Any, max_outputs: int, family: str | None = None, step: Any = None
) -> Any:  # fmt: skip
    """Writes the first ``max_outputs`` sounds of [batch, frames, channels] or [batch, frames].

    Args:
      name: The name, from which the tag is made.
      tensor: Sounds [batch, frames, channels] or [batch, frames], from -1 to 1.
      sample_rate: The number of frames of a second, a float.
      max_outputs: The largest number of sounds.
      family: A prefix of the tag, under which TensorBoard shows summaries together; None for none.
      step: The number of the step, an int or an int64 scalar; None for the global step.

    Returns:
      A bool tensor that says whether it was written, or an operation if there is no default writer.

    Example: ``with writer.as_default(), tf.contrib.summary.record_if(True): tf.contrib.summary.audio("a", sounds, 8000.0, 3)``
    """

    def write(writer: Any, number: Any, tag: str, sounds: Tensor, name: str) -> Any:
        return raw_ops.WriteAudioSummary(writer, number, tag, sounds, sample_rate, max_outputs=max_outputs, name=name)

    return _written(name, family, tensor, step, write)


def generic(name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None) -> Any:
    """Writes any tensor; ``metadata``, a SummaryMetadata or its bytes, says which of TensorBoard's plugins show it.

    Args:
      name: The name, from which the tag is made.
      tensor: Any tensor.
      metadata: A SummaryMetadata or its bytes; None for none.
      family: A prefix of the tag, under which TensorBoard shows summaries together; None for none.
      step: The number of the step, an int or an int64 scalar; None for the global step.

    Returns:
      A bool tensor that says whether it was written, or an operation if there is no default writer.

    Example: ``with writer.as_default(), tf.contrib.summary.always_record_summaries(): tf.contrib.summary.generic("t", t)``
    """
    encoded = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata or b""

    def write(writer: Any, number: Any, tag: str, value: Tensor, name: str) -> Any:
        return raw_ops.WriteSummary(writer, number, value, tag, encoded, name=name)

    return _written(name, family, tensor, step, write)


def _written(name: str, family: str | None, tensor: Any, step: Any, write: Callable[..., Any]) -> Any:
    """A bool tensor: whether a summary was written; an operation that does nothing if there is no default writer."""
    number = None if step is None else _checked_step(step)
    writer = state.writer
    if writer is None:
        return no_op()
    condition = _condition()
    if smart_constant_value(condition) is False:  # no name is taken
        return _collected(constant(False))
    with summary_scope(name, family, [tensor]) as (tag, scope), device("cpu:0"):
        number = get_or_create_global_step() if number is None else number

        def record() -> Tensor:
            with control_dependencies([write(writer.handle, number, tag, identity(tensor), name=scope)]):
                return constant(True)

        return _collected(smart_cond(condition, record, lambda: constant(False)))


def _collected(summary: Any) -> Any:
    if not context.executing_eagerly():
        add_to_collection(SUMMARIES, summary)
    return summary


def _checked_step(step: Any) -> Tensor:
    number = convert_to_tensor(step, dtypes.int64)
    if number.shape.num_elements() != 1:
        raise ValueError(f"Argument `step` must be a scalar. Received step with shape {number.shape}. {at()}")
    return number


# ---- graphs and folders


def graph(param: Any, step: Any = None, name: str | None = None) -> Any:
    """Writes a graph: in a graph, a string tensor that holds an encoded GraphDef; eagerly also a Graph or a GraphDef.

    Args:
      param: The graph: a string scalar, or eagerly also a `tf.Graph` or a `tf.GraphDef`.
      step: The number of the step, an int or an int64 scalar; None for the global step.
      name: A name for the op.

    Returns:
      The operation that writes it, or one that does nothing if there is no default writer.

    Example: ``with writer.as_default(): tf.contrib.summary.graph(tf.placeholder(tf.string, []))``
    """
    eager = context.executing_eagerly()
    if not eager and not isinstance(param, Tensor):
        raise TypeError(
            "graph() needs a argument `param` to be tf.Tensor (e.g. tf.placeholder) in graph mode, but received "
            f"param={param} of type {type(param).__name__}. {at()}"
        )
    number = None if step is None else _checked_step(step)
    if state.writer is None:
        return no_op()
    with device("cpu:0"):
        encoded = serialized_graph(param) if isinstance(param, (Graph, protos().GraphDef)) else param
        number = get_or_create_global_step() if number is None else number
        return raw_ops.WriteGraphSummary(state.writer.handle, number, encoded, name=name)


def eval_dir(model_dir: str, name: str | None = None) -> str:
    """The folder for the summaries of an evaluation.

    Args:
      model_dir: The folder of the model.
      name: The name of the evaluation; None for the only one.

    Returns:
      A path.

    >>> tf.contrib.summary.eval_dir("logs", "test")
    'logs/eval_test'
    """
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")
