"""Summaries that are named after their tensors, one or many in a call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.graph import context
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Tensor
from headrace.library.control.host import Print
from headrace.library.network.normalization import zero_fraction
from headrace.library.summary import summary


def _name(tensor: Any, name: str | None, prefix: str | None, ending: str | None = None) -> str:
    return "/".join(part for part in (prefix, name or tensor.op.name, ending) if part)


def _printed(op: Tensor, tensor: Any, name: str) -> Tensor:
    """A summary that also writes its tensor to standard error, in the collection in the place of the plain one."""
    printing = Print(op, [tensor], name)
    context.get_default_graph().add_to_collection(GraphKeys.SUMMARIES, printing)
    return printing


def add_histogram_summary(tensor: Any, name: str | None = None, prefix: str | None = None) -> Tensor:
    """Adds a summary of how the elements of a tensor are distributed.

    Args:
      tensor: A tensor of real numbers.
      name: The name of the summary; None for that of the tensor's operation.
      prefix: What stands before the name; None for nothing.

    Returns:
      A scalar string tensor, a Summary message.

    >>> tf.contrib.slim.summaries.add_histogram_summary(tf.zeros([3], name="x"), prefix="layers").op.name
    'layers/x'
    """
    return summary.histogram(_name(tensor, name, prefix), tensor)


def add_image_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Adds a summary of the first images of a batch.

    Args:
      tensor: Images [batch, height, width, channels].
      name: The name of the summary; None for that of the tensor's operation.
      prefix: What stands before the name; None for nothing.
      print_summary: True writes the tensor to standard error too, whenever the summary is computed.

    Returns:
      A scalar string tensor, a Summary message.

    >>> tf.contrib.slim.summaries.add_image_summary(tf.zeros([2, 4, 4, 3]), "pictures").op.name
    'pictures'
    """
    whole = _name(tensor, name, prefix)
    op = summary.image(whole, tensor, collections=[] if print_summary else None)
    return _printed(op, tensor, whole) if print_summary else op


def add_scalar_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Adds a summary of one number.

    Args:
      tensor: A scalar of real numbers.
      name: The name of the summary; None for that of the tensor's operation.
      prefix: What stands before the name; None for nothing.
      print_summary: True writes the number to standard error too, whenever the summary is computed.

    Returns:
      A scalar string tensor, a Summary message.

    >>> tf.contrib.slim.summaries.add_scalar_summary(tf.constant(0.5), "accuracy", prefix="eval").op.name
    'eval/accuracy'
    """
    whole = _name(tensor, name, prefix)
    op = summary.scalar(whole, tensor, collections=[] if print_summary else None)
    return _printed(op, tensor, whole) if print_summary else op


def add_zero_fraction_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Adds a summary of how many elements of a tensor are zero, as a fraction.

    Args:
      tensor: A tensor of numbers.
      name: The name of the summary, before ``Fraction of Zero Values``; None for that of the tensor's operation.
      prefix: What stands before the name; None for nothing.
      print_summary: True writes the fraction to standard error too, whenever the summary is computed.

    Returns:
      A scalar string tensor, a Summary message.

    >>> op = tf.contrib.slim.summaries.add_zero_fraction_summary(tf.constant([0.0, 1.0]), "x")
    >>> tf.Summary.FromString(tf.Session().run(op)).value[0].simple_value
    0.5
    """
    whole = _name(tensor, name, prefix, "Fraction of Zero Values")
    return add_scalar_summary(zero_fraction(tensor), whole, print_summary=print_summary)


def add_histogram_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """Adds a summary of how the elements are distributed for each of several tensors.

    Args:
      tensors: A list of tensors, such as variables.
      prefix: What stands before the names; None for nothing.

    Returns:
      A list of scalar string tensors.

    >>> len(tf.contrib.slim.summaries.add_histogram_summaries([tf.zeros([3]), tf.ones([3])]))
    2
    """
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


def add_image_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """Adds a summary of the first images for each of several batches.

    Args:
      tensors: A list of tensors [batch, height, width, channels].
      prefix: What stands before the names; None for nothing.

    Returns:
      A list of scalar string tensors.

    >>> len(tf.contrib.slim.summaries.add_image_summaries([tf.zeros([1, 2, 2, 1])]))
    1
    """
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


def add_scalar_summaries(
    tensors: Iterable[Any], prefix: str | None = None, print_summary: bool = False
) -> list[Tensor]:
    """Adds a summary for each of several numbers.

    Args:
      tensors: A list of scalars.
      prefix: What stands before the names; None for nothing.
      print_summary: True writes the numbers to standard error too, whenever the summaries are computed.

    Returns:
      A list of scalar string tensors.

    >>> len(tf.contrib.slim.summaries.add_scalar_summaries([tf.constant(1.0), tf.constant(2.0)], "losses"))
    2
    """
    return [add_scalar_summary(tensor, prefix=prefix, print_summary=print_summary) for tensor in tensors]


def add_zero_fraction_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """Adds a summary of how many elements are zero for each of several tensors.

    Args:
      tensors: A list of tensors.
      prefix: What stands before the names; None for nothing.

    Returns:
      A list of scalar string tensors.

    >>> len(tf.contrib.slim.summaries.add_zero_fraction_summaries([tf.zeros([3]), tf.ones([3])]))
    2
    """
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]
