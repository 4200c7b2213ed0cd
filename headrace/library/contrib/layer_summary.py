"""contrib.layers' summaries: of one tensor, of all that a collection holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.library.numeric import math, reduction
from headrace.library.summary import summary


def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """A summary of a tensor: of a scalar its value, else a histogram.

    Args:
      tensor: A tensor or a variable.
      tag: The tag; None for the name of the tensor's op with "_summary" behind it.

    Returns:
      A string tensor; None for strings and booleans, which have no summary.

    >>> tf.contrib.layers.summarize_tensor(tf.constant([1.0, 2.0], name="x")).op.type
    'HistogramSummary'
    """
    if tensor.dtype.base_dtype in (dtypes.string, dtypes.bool):
        return None
    make = summary.scalar if tensor.shape.ndims == 0 else summary.histogram
    return make(tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Any) -> Any:
    """A histogram of a layer's output; of a relu also which part of it is zero, of a relu6 which part is six.

    Args:
      op: The output, a tensor.

    Returns:
      A string tensor, the histogram.

    >>> tf.contrib.layers.summarize_activation(tf.nn.relu([1.0, -1.0], name="layer")).op.name
    'layer/activation'
    """
    name, made = op.op.name, op.op.type
    if made in ("Relu", "Softplus", "Relu6"):
        before = op.op.inputs[0]
        summary.scalar(f"{name}/zeros", _part(raw_ops.Less(before, math.cast(0.0, before.dtype))))
        if made == "Relu6":
            summary.scalar(f"{name}/sixes", _part(raw_ops.Greater(before, math.cast(6.0, before.dtype))))
    return summary.histogram(f"{name}/activation", op)


def _part(which: Any) -> Any:
    return reduction.reduce_mean(math.cast(which, dtypes.float32))


def summarize_tensors(tensors: Sequence[Any], summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """The summaries of several tensors.

    Args:
      tensors: A list of tensors or variables.
      summarizer: The function that makes one summary.

    Returns:
      A list of what `summarizer` gives.

    >>> len(tf.contrib.layers.summarize_tensors([tf.constant(1.0), tf.constant(2.0)]))
    2
    """
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: Any, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """The summaries of what a collection of the default graph holds.

    Args:
      collection: The key of the collection.
      name_filter: A regular expression that names begin with; None for all.
      summarizer: The function that makes one summary.

    Returns:
      A list of what `summarizer` gives.

    >>> tf.add_to_collection("mine", tf.constant(1.0, name="x"))
    >>> [s.op.name for s in tf.contrib.layers.summarize_collection("mine")]
    ['x_summary']
    """
    tensors = context.get_default_graph().get_collection(collection)
    chosen = [t for t in tensors if name_filter is None or re.match(name_filter, t.op.name)]
    return summarize_tensors(chosen, summarizer)


_HELP = """The summaries of the {what} of the default graph.

Args:
  name_filter: A regular expression that names begin with; None for all.
  summarizer: The function that makes one summary.

Returns:
  A list of what `summarizer` gives.

>>> tf.contrib.layers.summarize_{name}()
[]
"""


def _of(name: str, key: str, summarizer: Callable[[Any], Any], what: str) -> Callable[..., list[Any]]:
    def summarize(name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarizer) -> list[Any]:
        return summarize_collection(key, name_filter, summarizer)

    summarize.__name__ = summarize.__qualname__ = f"summarize_{name}"
    summarize.__doc__ = _HELP.format(what=what, name=name)
    return summarize


summarize_variables = _of("variables", GraphKeys.GLOBAL_VARIABLES, summarize_tensor, "variables")
summarize_weights = _of("weights", GraphKeys.WEIGHTS, summarize_tensor, "collection WEIGHTS")
summarize_biases = _of("biases", GraphKeys.BIASES, summarize_tensor, "collection BIASES")
summarize_activations = _of("activations", GraphKeys.ACTIVATIONS, summarize_activation, "collection ACTIVATIONS")
