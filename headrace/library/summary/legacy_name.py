"""Summaries under their names from before TensorFlow 1.0: each logs its newer name once.

Their first argument is the tag, as it is; the name of the node is another one.
"""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Tensor
from headrace.library.argument import deprecated, warn_deprecated
from headrace.library.scope import add_to_collections
from headrace.library.summary import summary
from headrace.library.summary.file_writer import FileWriter


def _collected(value: Tensor, collections: Any) -> Tensor:
    add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, value)
    return value


@deprecated("tf.summary.scalar")
def scalar_summary(tags: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """The older name of ``tf.summary.scalar`` with tags, one for each value.

    Args:
      tags: A string, or a tensor of strings, one for each value.
      values: A tensor of real numbers of the shape of `tags`.
      collections: The collections to add the summary to; None for ``tf.GraphKeys.SUMMARIES``.
      name: A name for the op.

    Returns:
      A scalar string tensor, a Summary message.

    >>> tf.scalar_summary('loss', 0.5).dtype
    tf.string
    """
    return _collected(raw_ops.ScalarSummary(tags, values, name=name), collections)


@deprecated("tf.summary.histogram")
def histogram_summary(tag: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """The older name of ``tf.summary.histogram`` with a tag.

    Args:
      tag: The tag, a string or a scalar string tensor.
      values: A tensor of real numbers of any shape.
      collections: The collections to add the summary to; None for ``tf.GraphKeys.SUMMARIES``.
      name: A name for the op.

    Returns:
      A scalar string tensor, a Summary message.

    >>> tf.histogram_summary('weights', [0.5, 1.5]).dtype
    tf.string
    """
    return _collected(raw_ops.HistogramSummary(tag, values, name=name), collections)


@deprecated("tf.summary.image")
def image_summary(
    tag: Any, tensor: Any, max_images: int = 3, collections: Any = None, name: str | None = None
) -> Tensor:  # fmt: skip
    """The older name of ``tf.summary.image`` with a tag.

    Args:
      tag: The tag, a string or a scalar string tensor.
      tensor: Images, [batch, height, width, 1, 3 or 4].
      max_images: How many images of the batch to keep.
      collections: The collections to add the summary to; None for ``tf.GraphKeys.SUMMARIES``.
      name: A name for the op.

    Returns:
      A scalar string tensor, a Summary message.

    >>> tf.image_summary('images', tf.zeros([1, 4, 4, 3])).dtype
    tf.string
    """
    return _collected(raw_ops.ImageSummary(tag, tensor, max_images=max_images, name=name), collections)


@deprecated("tf.summary.audio")
def audio_summary(
    tag: Any, tensor: Any, sample_rate: Any, max_outputs: int = 3, collections: Any = None, name: str | None = None
) -> Tensor:  # fmt: skip
    """The older name of ``tf.summary.audio`` with a tag.

    Args:
      tag: The tag, a string or a scalar string tensor.
      tensor: Sounds from -1 to 1, [batch, frames] or [batch, frames, channels].
      sample_rate: Frames per second.
      max_outputs: How many sounds of the batch to keep.
      collections: The collections to add the summary to; None for ``tf.GraphKeys.SUMMARIES``.
      name: A name for the op.

    Returns:
      A scalar string tensor, a Summary message.

    >>> tf.audio_summary('sounds', tf.zeros([1, 100]), sample_rate=44100.0).dtype
    tf.string
    """
    value = raw_ops.AudioSummaryV2(tag, tensor, sample_rate, max_outputs=max_outputs, name=name)
    return _collected(value, collections)


@deprecated("tf.summary.merge")
def merge_summary(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """The older name of ``tf.summary.merge``.

    Args:
      inputs: A list of summaries.
      collections: The collections to add the result to; None for none.
      name: A name for the op.

    Returns:
      A scalar string tensor, a Summary message.

    >>> tf.merge_summary([tf.scalar_summary('loss', 0.5)]).dtype
    tf.string
    """
    return summary.merge(inputs, collections, name)


@deprecated("tf.summary.merge_all")
def merge_all_summaries(key: Any = GraphKeys.SUMMARIES) -> Tensor | None:
    """The older name of ``tf.summary.merge_all``.

    Args:
      key: The collection whose summaries are merged.

    Returns:
      A scalar string tensor, or None if there are no summaries.

    >>> tf.merge_all_summaries() is None
    True
    """
    return summary.merge_all(key)


class SummaryWriter(FileWriter):
    """The older name of ``tf.summary.FileWriter``.

    Args:
      *args, **kwargs: The arguments of `tf.summary.FileWriter`.

    Example: ``tf.train.SummaryWriter("/tmp/model", sess.graph)``
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_deprecated("tf.train.SummaryWriter", "tf.summary.FileWriter")
        super().__init__(*args, **kwargs)
