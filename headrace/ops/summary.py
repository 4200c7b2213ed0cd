"""Summaries: numbers, histograms, images, sounds and tensors as encoded Summary messages, and several of them in one.

Ops that write a summary to an event file are at the end.  All run on the host.

The bytes are TensorFlow's (`core.event`); images are compressed by Pillow.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from headrace.core import dtypes, event, tensor_proto
from headrace.core.dtypes import ANY, REAL, float16, float32, float64, uint8
from headrace.core.errors import InvalidArgumentError
from headrace.core.histogram import buckets, statistics
from headrace.core.registry import op
from headrace.ops.shared.png import png_bytes
from headrace.ops.shared.string_array import listed, scalar_of
from headrace.ops.shared.wav import wav_bytes
from headrace.resources.calling.value import FROM_TORCH
from headrace.resources.file.summary_writer import SummaryWriter

_HELD = tuple(t for t in ANY if t not in (dtypes.resource, dtypes.variant) and not t.is_quantized)


def _scalar(name, tag):
    """The one string in ``tag``."""
    if tag.ndim:
        raise InvalidArgumentError(None, None, f"{name} must be a scalar, got shape {list(tag.shape)}")
    return tag[()]


# ---- numbers

numbers = op("ScalarSummary(tags: string, values: T) -> (summary: string[0])", T=REAL, host=True, takes_arrays=True)


@numbers.kernel
def _numbers(tags, values):
    if tags.ndim == 0 == values.ndim:
        return scalar_of(event.scalar(tags[()], values.item()))
    if tags.shape != tuple(values.shape):
        shown = f" (tag '{listed(tags)[0].decode(errors='replace')}')" if tags.size == 1 else ""
        raise InvalidArgumentError(
            None, None,
            f"tags and values are not the same shape: {list(tags.shape)} != {list(values.shape)}{shown}",
        )  # fmt: skip
    pairs = zip(listed(tags), values.reshape(-1).tolist(), strict=True)
    return scalar_of(b"".join(event.scalar(tag, value) for tag, value in pairs))


# ---- histograms

histogram = op("HistogramSummary(tag: string, values: T) -> (summary: string[0])", T=REAL, host=True)


@histogram.kernel
def _histogram(tag, values):
    tag = _scalar("tag", tag)
    doubles = values.to(torch.float64).numpy().reshape(-1)
    if not np.isfinite(doubles).all():
        wrong = "Nan" if np.isnan(doubles).any() else "Infinity"
        raise InvalidArgumentError(None, None, f"{wrong} in summary histogram for: {tag.decode(errors='replace')}")
    limits, counts = buckets(doubles)
    return scalar_of(
        event.histogram(tag, statistics(doubles), limits.astype("<f8").tobytes(), counts.astype("<f8").tobytes())
    )


# ---- images

images = op(
    "ImageSummary(tag: string, tensor: T; max_images: int = 3, bad_color: tensor = None) -> (summary: string)",
    T=(uint8, float32, float16, float64), host=True,
)  # fmt: skip


@images.shape
def _(tag, tensor, max_images, bad_color):
    if max_images < 1:
        raise ValueError(f"Attr 'max_images' of 'ImageSummary' Op passed {max_images} less than minimum 1.")
    return ()


_RED = np.array([255, 0, 0, 255], np.uint8)


@images.kernel
def _images(tag, tensor, max_images, bad_color):
    tag = _scalar("tag", tag)
    shape = list(tensor.shape)
    if len(shape) != 4 or shape[3] not in (1, 3, 4):
        raise InvalidArgumentError(None, None, f"Tensor must be 4-D with last dim 1, 3, or 4, not {shape}")
    if not shape[1] * shape[2]:
        raise InvalidArgumentError(None, None, f"input tensor must have non-zero dims. Found: {shape}.")
    pictures = tensor[:max_images].numpy()
    if pictures.dtype != np.uint8:
        color = _checked_color(bad_color, shape[3])
        pictures = [_as_bytes(picture, color) for picture in pictures]
    tags = _numbered(tag, b"image", max_images)
    return scalar_of(
        b"".join(event.image(tags(i), *picture.shape, png_bytes(picture)) for i, picture in enumerate(pictures))
    )


def _numbered(tag, what, count):
    """The tag of each output: it has a number if there may be several, whether there are or not."""
    return lambda i: b"%s/%s/%d" % (tag, what, i) if count > 1 else b"%s/%s" % (tag, what)


def _checked_color(bad_color, channels):
    """The color of pixels that are no numbers."""
    color = _RED if bad_color is None else np.asarray(bad_color)
    if color.dtype != np.uint8 or color.ndim != 1:
        raise InvalidArgumentError(
            None, None, f"bad_color must be a vector of uint8, got {color.dtype.name} of shape {list(color.shape)}"
        )
    if color.size < channels:
        raise InvalidArgumentError(
            None, None, f"expected depth <= bad_color.size, got depth = {channels}, bad_color.size = {color.size}"
        )
    return color[:channels]


def _as_bytes(picture, color):
    """Pixels as uint8: the greatest becomes 255, or, where some are negative, 0 becomes 128 and the greatest distance 127."""
    finite = np.isfinite(picture).all(axis=2)
    usable = picture[finite].astype(np.float32)
    low, high = (usable.min(), usable.max()) if usable.size else (np.float32(math.inf), np.float32(-math.inf))
    if low < 0:
        reach, scale, offset = max(abs(low), abs(high)), np.float32(127), 128
    else:
        reach, scale, offset = high, np.float32(255), 0
    scale = picture.dtype.type(0 if reach < 1e-6 else scale / reach)
    pixels = np.empty(picture.shape, np.uint8)
    pixels[finite] = (picture[finite] * scale + picture.dtype.type(offset)).astype(np.uint8)
    pixels[~finite] = color
    return pixels


# ---- sounds

_SOUNDS = "(tag: string, tensor: float32{}; {}max_outputs: int = 3) -> (summary: string)"
sounds = op(f"AudioSummaryV2{_SOUNDS.format(', sample_rate: float32', '')}", host=True)
sounds_at = op(f"AudioSummary{_SOUNDS.format('', 'sample_rate: float, ')}", host=True)  # the rate is an attribute


@sounds_at.shape
@sounds.shape
def _(tag, tensor, sample_rate, max_outputs):
    if max_outputs < 1:
        raise ValueError(f"Attr 'max_outputs' of 'AudioSummaryV2' Op passed {max_outputs} less than minimum 1.")
    return ()


@sounds_at.kernel
@sounds.kernel
def _sounds_kernel(tag, tensor, sample_rate, max_outputs):
    tag = _scalar("tag", tag)
    if tensor.ndim not in (2, 3):
        raise InvalidArgumentError(None, None, f"Tensor must be 3-D or 2-D, got: {list(tensor.shape)}")
    rate = float(sample_rate)
    if not rate > 0:
        raise InvalidArgumentError(None, None, f"sample_rate must be > 0, got {rate}")
    waves = tensor[:max_outputs].numpy()
    waves = waves if waves.ndim == 3 else waves[:, :, None]
    if not waves.shape[2]:
        raise InvalidArgumentError(None, None, f"num_channels must be > 0, got a tensor of shape {list(tensor.shape)}")
    tags = _numbered(tag, b"audio", max_outputs)
    rounded = max(round(rate), 1)
    return scalar_of(
        b"".join(
            event.audio(tags(i), rate, wave.shape[1], wave.shape[0], wav_bytes(wave, rounded))
            for i, wave in enumerate(waves)
        )
    )


# ---- tensors

tensors = op(
    "TensorSummaryV2(tag: string, tensor: T, serialized_summary_metadata: string) -> (summary: string[0])",
    T=_HELD, host=True,
)  # fmt: skip


@tensors.kernel
def _(tag, tensor, serialized_summary_metadata):
    metadata = _scalar("serialized_summary_metadata", serialized_summary_metadata)
    return scalar_of(event.tensor(_scalar("tag", tag), _encoded(tensor), metadata))


def _encoded(tensor):
    if isinstance(tensor, np.ndarray):
        return tensor_proto.encode(tensor, dtypes.string)
    if tensor.dtype is torch.bfloat16:
        return tensor_proto.encode(tensor.view(torch.int16).numpy(), dtypes.bfloat16)
    return tensor_proto.encode(tensor.numpy(), FROM_TORCH[tensor.dtype])


# The tag is the node's name; what describes the tensor stands in the node only.
named_tensors = op(
    'TensorSummary(tensor: T; description: string = "", labels: list(string) = [], display_name: string = "") '
    "-> (summary: string[0])",
    T=_HELD, host=True,
)  # fmt: skip


@named_tensors.kernel
def _(tensor, description, labels, display_name, *, node):
    return scalar_of(event.named_tensor(node.name.encode(), _encoded(tensor)))


# ---- several summaries

merge = op("MergeSummary(inputs: N*string) -> (summary: string[0])", host=True)


@merge.kernel
def _merged(inputs):
    summaries = [summary for value in inputs for summary in listed(value)]
    seen = set()
    try:
        for summary in summaries:
            for tag, _ in event.values(summary):
                if tag in seen:
                    raise InvalidArgumentError(
                        None, None, f"Duplicate tag {tag.decode(errors='replace')} found in summary inputs"
                    )
                if tag:
                    seen.add(tag)
    except ValueError as error:
        raise InvalidArgumentError(None, None, f"Could not parse one of the summary inputs: {error}") from None
    return scalar_of(b"".join(summaries))


# ---- event files that nodes write

writer = op(
    'SummaryWriter(; shared_name: string = "", container: string = "") -> (writer: resource[0])',
    handle=True, stateful=True, host=True,
)  # fmt: skip


@writer.state
def _(context):
    name = context.attrs["shared_name"] or context.name
    return context.resource(SummaryWriter, lambda: SummaryWriter(name, str(context.source)), by_node_name=True)


def _writing(signature, kernel, **types):
    """Declares an op without outputs whose kernel uses a writer."""
    definition = op(f"{signature} -> ()", stateful=True, host=True, **types)
    definition.kernel(kernel)


def _open(writer, logdir, max_queue, flush_millis, filename_suffix):
    folder, suffix = (_scalar(*pair).decode() for pair in (("logdir", logdir), ("filename_suffix", filename_suffix)))
    writer.open(folder, int(max_queue), int(flush_millis) / 1000, suffix)


_writing(
    "CreateSummaryFileWriter(writer: resource, logdir: string, max_queue: int32, flush_millis: int32, "
    "filename_suffix: string)",
    _open,
)
_writing("FlushSummaryWriter(writer: resource)", lambda writer: writer.flush())
_writing("CloseSummaryWriter(writer: resource)", lambda writer: writer.close())
_writing(
    "ImportEvent(writer: resource, event: string)", lambda writer, event: writer.add_event(_scalar("event", event))
)
_writing(
    "WriteGraphSummary(writer: resource, step: int64, tensor: string)",
    lambda writer, step, tensor: writer.add(int(step), event.GRAPH_DEF, _scalar("tensor", tensor)),
)


def _writer_of(summarize):
    """A kernel that writes what ``summarize`` makes of the inputs after the step."""
    return lambda writer, step, *inputs: writer.add(int(step), event.SUMMARY, summarize(*inputs)[()])


_TO = "writer: resource, step: int64"
_writing(f"WriteRawProtoSummary({_TO}, tensor: string)", _writer_of(lambda tensor: _merged([tensor])))
_writing(f"WriteScalarSummary({_TO}, tag: string, value: T)", _writer_of(_numbers), T=REAL)
_writing(f"WriteHistogramSummary({_TO}, tag: string, values: T)", _writer_of(_histogram), T=(*REAL, dtypes.bool))
_writing(
    f"WriteImageSummary({_TO}, tag: string, tensor: T, bad_color: uint8; max_images: int = 3)",
    _writer_of(lambda tag, tensor, color, count: _images(tag, tensor, count, color.numpy())),
    T=(uint8, float32, float16, float64),
)
_writing(
    f"WriteAudioSummary({_TO}, tag: string, tensor: float32, sample_rate: float32; max_outputs: int = 3)",
    _writer_of(_sounds_kernel),
)


def _tensor_summary(tensor, tag, summary_metadata):
    metadata = _scalar("summary_metadata", summary_metadata) or None
    return scalar_of(event.tensor(_scalar("tag", tag), _encoded(tensor), metadata))


_writing(f"WriteSummary({_TO}, tensor: T, tag: string, summary_metadata: string)", _writer_of(_tensor_summary), T=_HELD)
