"""Summaries and events on the wire, read back by TensorBoard's messages."""

import math

import pytest
from tensorboard.compat.proto.event_pb2 import Event, TaggedRunMetadata
from tensorboard.compat.proto.summary_pb2 import Summary

from headrace.core import event


def one(encoded):
    (value,) = Summary.FromString(encoded).value
    return value


def test_scalar() -> None:
    value = one(event.scalar(b"scope/loss", 0.5))
    assert (value.tag, value.simple_value, value.WhichOneof("value")) == ("scope/loss", 0.5, "simple_value")
    assert one(event.scalar(b"t" * 500, 0.0)).HasField("simple_value")


@pytest.mark.parametrize("number", [1e39, -1e39, 3.4028235677973366e38])
def test_numbers_too_large_are_infinite(number: float) -> None:
    assert one(event.scalar(b"a", number)).simple_value == math.copysign(math.inf, number)


def test_histogram_image_audio_tensor() -> None:
    doubles = b"".join(event._DOUBLE.pack(v) for v in (1.0, 2.0))
    histogram = one(event.histogram(b"h", (0.0, 2.0, 3.0, 4.0, 5.0), doubles, doubles)).histo
    assert [histogram.min, histogram.max, histogram.num, histogram.sum, histogram.sum_squares] == [0, 2, 3, 4, 5]
    assert list(histogram.bucket_limit) == list(histogram.bucket) == [1, 2]
    image = one(event.image(b"i", 3, 4, 1, b"png")).image
    assert (image.height, image.width, image.colorspace, image.encoded_image_string) == (3, 4, 1, b"png")
    sound = one(event.audio(b"a", 8000.0, 2, 300, b"wav")).audio
    assert (sound.sample_rate, sound.num_channels, sound.length_frames) == (8000, 2, 300)
    assert (sound.encoded_audio_string, sound.content_type) == (b"wav", "audio/wav")
    assert one(event.tensor(b"t", b"\x08\x01", b"\x12\x01n")).metadata.display_name == "n"
    assert one(event.named_tensor(b"node", b"\x08\x01")).node_name == "node"


def test_events() -> None:
    read = Event.FromString(event.event(12.5, -3, event.SUMMARY, event.scalar(b"a", 1)))
    assert (read.wall_time, read.step, read.summary.value[0].tag) == (12.5, -3, "a")
    metadata = TaggedRunMetadata.FromString(event.tagged_run_metadata(b"step", b"bytes"))
    assert (metadata.tag, metadata.run_metadata) == ("step", b"bytes")


def test_tags_of_values_in_any_form() -> None:
    summary = Summary()
    summary.value.add(tag="number", simple_value=1)
    summary.value.add(simple_value=2)
    summary.value.add(tag="x" * 200, simple_value=2)
    summary.value.add(tag="tensor", node_name="n").tensor.dtype = 1
    tags = [tag.decode() for tag, _ in event.values(summary.SerializeToString())]
    assert tags == ["number", "", "x" * 200, "tensor"]


@pytest.mark.parametrize("wrong", [b"\n", b"\n\x05", b"junk", b"\n\x02\n\x7f", b"\n\x01\n"])
def test_what_is_no_summary_is_refused(wrong: bytes) -> None:
    with pytest.raises(ValueError, match=r"beyond the end|not known"):
        list(event.values(wrong))


def test_metadata_are_kept_for_new_tags_only() -> None:
    summary = Summary()
    for tag in ("a", "b"):
        value = summary.value.add(tag=tag, node_name="node", simple_value=4)
        value.metadata.display_name = "JJ"
    plain = summary.value.add(tag="J", simple_value=1)
    encoded = summary.SerializeToString()
    seen: set[bytes] = {b"a"}
    kept = Summary.FromString(event.with_new_metadata(encoded, seen))
    assert [v.HasField("metadata") for v in kept.value] == [False, True, False]
    assert seen == {b"a", b"b", b"J"}
    again = Summary.FromString(event.with_new_metadata(encoded, seen))
    for value in summary.value:
        value.ClearField("metadata")
    assert again == summary
    assert event.with_new_metadata(event.scalar(b"J", 1), {b"J"}) == Summary(value=[plain]).SerializeToString()
