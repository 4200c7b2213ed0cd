"""The summaries of tf.summary: nodes that make encoded Summary messages, with TensorFlow's names, tags and collections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.core.dtypes import string
from headrace.core.proto import protos
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.operation import Tensor
from headrace.library import log
from headrace.library.compat import as_str_any
from headrace.library.control import replica
from headrace.library.scope import add_to_collections, get_collection, name_scope

_NOT_IN_NAMES = re.compile(r"[^-/\w\.]")


def clean_tag(name: str | None) -> str | None:
    """A name that a node may have: other characters become underscores, slashes at the beginning go."""
    if name is None:
        return None
    cleaned = _NOT_IN_NAMES.sub("_", name).lstrip("/")
    if cleaned != name:
        log.info("Summary name %s is illegal; using %s instead.", name, cleaned)
    return cleaned


@contextmanager
def summary_scope(
    name: str | None, family: str | None, values: Sequence[Any], default_name: str | None = None
) -> Iterator[tuple[str, str]]:
    """-> the tag of a summary and the scope that is its node's name.  A family stands first in the tag."""
    name, family = clean_tag(name), clean_tag(family)
    with name_scope(name if family is None else f"{family}/{name}", default_name, values) as scope:
        tag = scope.rstrip("/")
        yield (tag if family is None else f"{family}/{tag}"), scope


def _collected(summary: Any, collections: Any) -> Any:
    """The summary, which is in the collections now: those of the graph, so not if it was made eagerly.

    Of several replicas of a distribution strategy the first writes summaries.
    """
    mode = replica.current()
    if not context.executing_eagerly() and (mode is None or not mode.copy):
        add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, summary)
    return summary


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A summary of one number.

    The tag, TensorBoard's name for the curve, is the name of the node; ``family`` stands before it.

    Args:
      name: The name of the node; it becomes the tag.
      tensor: A scalar of real numbers.
      collections: The collections to add the summary to; None for ``tf.GraphKeys.SUMMARIES``.
      family: A name that groups summaries in TensorBoard; None for none.

    Returns:
      A scalar string tensor, a Summary message.

    >>> summary = tf.summary.scalar('loss', 0.5)
    >>> with tf.Session() as sess:
    ...     print(tf.Summary.FromString(sess.run(summary)).value[0].simple_value)
    0.5
    """
    with summary_scope(name, family, [tensor]) as (tag, scope):
        return _collected(raw_ops.ScalarSummary(tag, tensor, name=scope), collections)


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A summary of how numbers are distributed.  InvalidArgumentError, when it runs, if one of them is not finite.

    Args:
      name: The name of the node; it becomes the tag.
      values: A tensor of real numbers of any shape.
      collections: The collections to add the summary to; None for ``tf.GraphKeys.SUMMARIES``.
      family: A name that groups summaries in TensorBoard; None for none.

    Returns:
      A scalar string tensor, a Summary message.

    >>> summary = tf.summary.histogram('weights', [1.0, 2.0, 6.0])
    >>> tf.Summary.FromString(tf.Session().run(summary)).value[0].histo.max
    6.0
    """
    with summary_scope(name, family, [values], "HistogramSummary") as (tag, scope):
        return _collected(raw_ops.HistogramSummary(tag, values, name=scope), collections)


def image(
    name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None
) -> Tensor:  # fmt: skip
    """A summary of the first ``max_outputs`` images of [batch, height, width, 1, 3 or 4 channels].

    Images of uint8 are shown as they are.  The numbers of others are scaled, each image by itself: the greatest becomes 255; if
    one is negative, zero becomes 128.  Pixels that are not finite are red.  Tags end in ``/image/0``, ``/image/1`` ..., or
    ``/image`` if ``max_outputs`` is 1.

    Args:
      name: The name of the node; the tags begin with it.
      tensor: The images, of uint8, float16, float32 or float64.
      max_outputs: How many images of the batch to keep.
      collections: The collections to add the summary to; None for ``tf.GraphKeys.SUMMARIES``.
      family: A name that groups summaries in TensorBoard; None for none.

    Returns:
      A scalar string tensor, a Summary message.

    >>> summary = tf.summary.image('picture', tf.zeros([1, 4, 6, 3]), max_outputs=1)
    >>> tf.Summary.FromString(tf.Session().run(summary)).value[0].tag
    'picture/image'
    """
    with summary_scope(name, family, [tensor]) as (tag, scope):
        return _collected(raw_ops.ImageSummary(tag, tensor, max_images=max_outputs, name=scope), collections)


def audio(
    name: str, tensor: Any, sample_rate: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None
) -> Tensor:  # fmt: skip
    """A summary of the first ``max_outputs`` sounds of [batch, frames, channels] or [batch, frames], in -1..1.

    Tags end in ``/audio/0``, ``/audio/1`` ..., or ``/audio`` if ``max_outputs`` is 1.

    Args:
      name: The name of the node; the tags begin with it.
      tensor: The sounds, of float32.
      sample_rate: Frames per second, a number or a scalar tensor.
      max_outputs: How many sounds of the batch to keep.
      collections: The collections to add the summary to; None for ``tf.GraphKeys.SUMMARIES``.
      family: A name that groups summaries in TensorBoard; None for none.

    Returns:
      A scalar string tensor, a Summary message.

    >>> summary = tf.summary.audio('tone', tf.zeros([1, 100]), sample_rate=44100.0, max_outputs=1)
    >>> tf.Summary.FromString(tf.Session().run(summary)).value[0].tag
    'tone/audio'
    """
    with summary_scope(name, family, [tensor]) as (tag, scope):
        summary = raw_ops.AudioSummaryV2(tag, tensor, sample_rate, max_outputs=max_outputs, name=scope)
        return _collected(summary, collections)


def text(name: str, tensor: Any, collections: Any = None) -> Tensor:
    """A summary of strings, which TensorBoard shows as Markdown: one text, or a table of one or two dimensions.

    Args:
      name: The name of the node; it becomes the tag.
      tensor: A tensor of strings.
      collections: The collections to add the summary to; None for ``tf.GraphKeys.SUMMARIES``.

    Returns:
      A scalar string tensor, a Summary message.

    >>> tf.summary.text('note', tf.constant('**done**')).dtype
    tf.string
    """
    if not isinstance(tensor, Tensor) or tensor.dtype != string:
        received = f"dtype {tensor.dtype!r}" if isinstance(tensor, Tensor) else f"a {type(tensor).__name__}"
        raise ValueError(f"Expected tensor {getattr(tensor, 'name', tensor)} to have dtype string, got {received}")
    metadata = protos().SummaryMetadata(plugin_data={"plugin_name": "text"})
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


def tensor_summary(
    name: str, tensor: Any, summary_description: str | None = None, collections: Any = None, summary_metadata: Any = None,
    family: str | None = None, display_name: str | None = None,
) -> Tensor:  # fmt: skip
    """A summary of any tensor; ``summary_metadata`` says which of TensorBoard's plugins show it.

    Args:
      name: The name of the node; it becomes the tag.
      tensor: A tensor of any type and shape.
      summary_description: A longer text for TensorBoard; None for none.
      collections: The collections to add the summary to; None for ``tf.GraphKeys.SUMMARIES``.
      summary_metadata: A SummaryMetadata message; None for an empty one.
      family: A name that groups summaries in TensorBoard; None for none.
      display_name: A name for TensorBoard to show in place of the tag; None for the tag.

    Returns:
      A scalar string tensor, a Summary message.

    >>> tf.summary.tensor_summary('matrix', [[1, 2], [3, 4]]).dtype
    tf.string
    """
    metadata = summary_metadata
    if metadata is None and not (summary_description is None and display_name is None):
        metadata = protos().SummaryMetadata()
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    encoded = b"" if metadata is None else metadata.SerializeToString()
    with summary_scope(name, family, [tensor]) as (tag, scope):
        summary = raw_ops.TensorSummaryV2(
            tag=tag, tensor=tensor, serialized_summary_metadata=encoded, name=scope
        )  # fmt: skip
        return _collected(summary, collections)


def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """One summary with the values of several.  InvalidArgumentError, when it runs, if two have the same tag.

    Args:
      inputs: A list of summaries.
      collections: The collections to add the result to; None for none.
      name: A name for the op.

    Returns:
      A scalar string tensor, a Summary message.

    >>> merged = tf.summary.merge([tf.summary.scalar('a', 1.0), tf.summary.scalar('b', 2.0)])
    >>> [value.tag for value in tf.Summary.FromString(tf.Session().run(merged)).value]
    ['a', 'b']
    """
    _check_not_eager()
    name = clean_tag(name)
    with name_scope(name, "Merge", inputs):
        return _collected(raw_ops.MergeSummary(inputs, name=name), [] if collections is None else collections)


def merge_all(key: Any = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """One summary with the values of all in a collection; None if it is empty.

    ``scope`` is a regular expression for the beginning of their names.

    Args:
      key: The collection whose summaries are merged.
      scope: Which of them to take; None for all.
      name: A name for the op.

    Returns:
      A scalar string tensor, or None.

    >>> loss = tf.summary.scalar('loss', 1.0)
    >>> tf.summary.merge_all().op.type
    'MergeSummary'
    """
    _check_not_eager()
    summaries = get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


def _check_not_eager() -> None:
    if context.executing_eagerly():
        raise RuntimeError(
            "Merging tf.summary.* ops is not compatible with eager execution: it needs a graph "
            "(`with tf.Graph().as_default():`)"
        )


def get_summary_description(node_def: Any) -> Any:
    """The SummaryDescription in the NodeDef of a TensorSummary node.

    Args:
      node_def: The NodeDef; ValueError if its op is not TensorSummary.

    Returns:
      A SummaryDescription.

    Example: ``tf.summary.get_summary_description(summary.op.node_def).type_hint``
    """
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    from google.protobuf import json_format

    return json_format.Parse(as_str_any(node_def.attr["description"].s), protos().SummaryDescription())
