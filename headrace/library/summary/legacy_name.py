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
    """``tf.summary.scalar`` with tags, one for each value."""
    return _collected(raw_ops.ScalarSummary(tags, values, name=name), collections)


@deprecated("tf.summary.histogram")
def histogram_summary(tag: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """``tf.summary.histogram`` with a tag."""
    return _collected(raw_ops.HistogramSummary(tag, values, name=name), collections)


@deprecated("tf.summary.image")
def image_summary(
    tag: Any, tensor: Any, max_images: int = 3, collections: Any = None, name: str | None = None
) -> Tensor:  # fmt: skip
    """``tf.summary.image`` with a tag."""
    return _collected(raw_ops.ImageSummary(tag, tensor, max_images=max_images, name=name), collections)


@deprecated("tf.summary.audio")
def audio_summary(
    tag: Any, tensor: Any, sample_rate: Any, max_outputs: int = 3, collections: Any = None, name: str | None = None
) -> Tensor:  # fmt: skip
    """``tf.summary.audio`` with a tag."""
    value = raw_ops.AudioSummaryV2(tag, tensor, sample_rate, max_outputs=max_outputs, name=name)
    return _collected(value, collections)


@deprecated("tf.summary.merge")
def merge_summary(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """``tf.summary.merge``."""
    return summary.merge(inputs, collections, name)


@deprecated("tf.summary.merge_all")
def merge_all_summaries(key: Any = GraphKeys.SUMMARIES) -> Tensor | None:
    """``tf.summary.merge_all``."""
    return summary.merge_all(key)


class SummaryWriter(FileWriter):
    """``tf.summary.FileWriter``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_deprecated("tf.train.SummaryWriter", "tf.summary.FileWriter")
        super().__init__(*args, **kwargs)
