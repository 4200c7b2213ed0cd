"""Tensors, payloads and step graphs survive the wire; what is malformed is one kind of error."""

from contextlib import suppress

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cluster.transport import message as wire
from headrace.cluster.transport.codec import (
    _NUMPY,
    _TORCH,
    SMALL,
    MalformedError,
    TensorHeader,
    decode_payload,
    decode_tensors,
    encode_payload,
    encode_tensors,
)

SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@st.composite
def torch_tensors(draw):
    shape = draw(SHAPES)
    raw = torch.from_numpy(np.random.default_rng(draw(st.integers(0, 99))).integers(0, 2, shape))
    tensor = raw.to(_TORCH[draw(st.sampled_from(sorted(_TORCH)))])
    if tensor.ndim and draw(st.booleans()):
        tensor = tensor.transpose(0, -1)
    if tensor.ndim and draw(st.booleans()):
        tensor = tensor[::2]
    return tensor.conj() if tensor.is_complex() and draw(st.booleans()) else tensor


@st.composite
def numpy_arrays(draw):
    shape = draw(SHAPES)
    if draw(st.booleans()):
        count = int(np.prod(shape))
        strings = np.empty(count, object)
        strings[:] = draw(st.lists(st.binary(max_size=20), min_size=count, max_size=count))
        return strings.reshape(shape)
    array = np.random.default_rng(0).integers(0, 2, shape).astype(draw(st.sampled_from(sorted(_NUMPY))))
    return array.T if draw(st.booleans()) else array


def same(sent, received):
    if sent is None:
        return received is None
    if isinstance(sent, torch.Tensor):
        return (
            isinstance(received, torch.Tensor)
            and (sent.dtype, sent.shape) == (received.dtype, received.shape)
            and bool((sent.to(torch.complex128) == received.to(torch.complex128)).all())
        )
    return type(sent) is type(received) and sent.dtype == received.dtype and np.array_equal(sent, received)


@given(st.lists(torch_tensors() | numpy_arrays() | st.none() | st.just(np.float64(2.5)), max_size=4), st.integers(0, 3))
def test_tensors_come_back(values, shift):
    headers, buffers = encode_tensors(values)
    encoded = wire.encode_head(wire.Push("m", "", wire.Cargo(0, headers)))
    headers = wire.decode_head(encoded).cargo.tensors
    moved = [memoryview(bytearray(shift) + bytearray(b))[shift:] for b in buffers]  # aligned or not
    received = decode_tensors(headers, moved)
    assert all(same(a, b) for a, b in zip(values, received, strict=True))
    for value in received:  # all may be written
        if isinstance(value, torch.Tensor):
            value.zero_()
        elif isinstance(value, np.ndarray) and value.dtype != object:
            value[...] = 0


def test_one_element_with_a_stride_is_sent():
    tensor = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)[::2]
    headers, buffers = encode_tensors([tensor])
    assert decode_tensors(headers, buffers)[0].tolist() == [1.0]


def test_large_tensors_are_not_copied():
    tensor = torch.arange(1000.0)
    (header,), (buffer,) = encode_tensors([tensor])
    assert np.frombuffer(buffer, np.float32).ctypes.data == tensor.data_ptr()
    room = torch.zeros(4000, dtype=torch.uint8).numpy()
    (received,) = decode_tensors([header], [room])
    assert received.data_ptr() == room.ctypes.data


@given(st.sampled_from(sorted(_TORCH)), st.sampled_from([(), (3,), (2, 0), (400,)]), st.integers(1, 20))
def test_small_tensors_of_one_kind_share_a_buffer(name, shape, count):
    values = [torch.full(shape, i % 2).to(_TORCH[name]) for i in range(count)]
    headers, buffers = encode_tensors([*values, None, *values])
    small = values[0].nbytes <= SMALL
    assert len(headers) == (3 if small else 2 * count + 1)
    received = decode_tensors(headers, [bytearray(b) for b in buffers])
    assert all(same(a, b) for a, b in zip([*values, None, *values], received, strict=True))
    if values[0].numel():
        received[0].fill_(1)
        assert same(received[-1], values[-1])  # each may be written without the others


def test_tensors_of_other_types_shapes_or_layouts_have_buffers_of_their_own():
    values = [
        torch.ones(2),
        torch.ones(2, dtype=torch.int32),
        torch.ones(1, 2),
        torch.ones(2, 2)[:, 0],
        np.ones(2, np.float32),
    ]
    headers, buffers = encode_tensors(values)
    assert [header.count for header in headers] == [1] * 5
    assert all(
        same(a, b) for a, b in zip(values, decode_tensors(headers, [bytearray(b) for b in buffers]), strict=True)
    )


@pytest.mark.parametrize(
    ("header", "data"),
    [
        (TensorHeader("float32", (), 4, count=0), b"1234"),
        (TensorHeader("float32", (), 4, count=-1), b"1234"),
        (TensorHeader("float32", (), 4, count=2), b"1234"),
        (TensorHeader("float32", (0,), 0, count=1 << 60), b""),
        (TensorHeader("string", (), 16, count=2), bytes(16)),
        (TensorHeader("none", (), 0, count=2), b""),
        (TensorHeader("<f4", (), 8, count=2), bytes(8)),
    ],
)
def test_malformed_counts_are_refused(header, data):
    with pytest.raises(MalformedError):
        decode_tensors([header], [data])


def test_the_tensors_that_share_a_buffer_count_one_by_one():
    many = wire.Cargo(0, [TensorHeader("float32", (0,), 0, count=1000)])
    wire.check_cargo(many, 0, 1 << 20, 1000)
    with pytest.raises(MalformedError, match="at most 999 tensors: received 1000"):
        wire.check_cargo(many, 0, 1 << 20, 999)
    with pytest.raises(MalformedError):
        wire.check_cargo(wire.Cargo(0, [TensorHeader("float32", (0,), 0, count=-1000)] * 2), 0, 1 << 20, 999)


def test_read_only_buffers_are_copied():
    headers, buffers = encode_tensors([torch.ones(3), np.ones(3)])
    for value in decode_tensors(headers, [bytes(b) for b in buffers]):
        value[0] = 5


@pytest.mark.parametrize(
    "value",
    [3, "x", [1], np.array(["a"]), np.array([1, "a"], object), np.array(1, "M8[s]"), torch.ones(2).to_sparse()],
)
def test_what_is_no_tensor_is_refused(value):
    with pytest.raises(TypeError, match="received|cannot be sent"):
        encode_tensors([value])


@given(
    st.sampled_from([*_TORCH, *_NUMPY, "string", "none", "object", "|O", "torch.float32", ""]),
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5), max_size=5).map(tuple),
    st.integers(-5, 2**63 - 1) | st.integers(0, 64),
    st.booleans(),
    st.binary(max_size=64),
)
def test_malformed_tensors_are_one_kind_of_error(dtype, shape, nbytes, scalar, data):
    for size in (nbytes, len(data)):
        try:
            (value,) = decode_tensors([TensorHeader(dtype, shape, size, scalar)], [data])
        except MalformedError:
            continue
        assert value is None or tuple(value.shape) == shape


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data):
    for decode in (wire.decode_head, decode_payload):
        with suppress(MalformedError):
            decode(data)


@pytest.mark.parametrize("data", [b"\x91" * 100_000, b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b""])
def test_deep_and_huge_values_are_refused(data):
    for decode in (wire.decode_head, decode_payload):
        with pytest.raises(MalformedError):
            decode(data)


@settings(max_examples=200)
@given(st.data())
def test_a_head_with_a_changed_byte_is_a_head_or_refused(data):
    head = wire.Call(7, "method", wire.Cargo(3, [TensorHeader("float32", (2, 3), 24)], wire.Segment(1, 2, 3)))
    text = bytearray(wire.encode_head(head))
    text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    try:
        changed = wire.decode_head(bytes(text))
    except MalformedError:
        return
    assert isinstance(changed, wire.Head)


@given(st.dictionaries(st.text(), PLAIN, max_size=5))
def test_payloads_come_back(payload):
    assert decode_payload(encode_payload(payload)) == payload


@pytest.mark.parametrize("value", [object(), 2**70, lambda: 0, torch.ones(1)])
def test_what_is_not_plain_is_refused(value):
    with pytest.raises(TypeError, match="plain data"):
        encode_payload({"a": value})
