"""Example messages: fields, wire format, text and JSON, and reading encoded ones."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from google.protobuf import json_format, text_format
from google.protobuf.message import DecodeError

from headrace.core import wire
from headrace.core.example import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
    from_json,
    read_feature,
    read_feature_lists,
    read_features,
)


def make() -> Example:
    return Example(
        features=Features(
            feature={
                "ids": Feature(int64_list=Int64List(value=[1, -2, 2**40])),
                "x": Feature(float_list=FloatList(value=[0.1, 1e20])),
                "name": Feature(bytes_list=BytesList(value=[b"a\n\xff"])),
            }
        )
    )


# Encoded by TensorFlow: one feature "ids" with the values 1, -2 and 300.
TENSORFLOW = b"\n\x1a\n\x18\n\x03ids\x12\x11\x1a\x0f\n\r\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02"


def test_bytes_are_tensorflows() -> None:
    example = Example.FromString(TENSORFLOW)
    assert example.features.feature["ids"].int64_list.value == [1, -2, 300]
    assert example.SerializeToString() == TENSORFLOW
    assert example.ByteSize() == len(TENSORFLOW)


def test_round_trip() -> None:
    example = make()
    again = Example.FromString(example.SerializeToString())
    assert again == example
    assert again.features.feature["x"].float_list.value == [float(np.float32(0.1)), float(np.float32(1e20))]
    again.features.feature["ids"].int64_list.value[0] = 9
    assert again != example
    copied = Example()
    copied.CopyFrom(example)
    assert copied == copy.deepcopy(example) == pickle.loads(pickle.dumps(example)) == example


def test_touching_a_name_adds_it() -> None:
    example = Example()
    assert not example.HasField("features")
    example.features.feature["x"].float_list.value.extend([1, np.float32(2)])
    assert example.features.feature["x"].WhichOneof("kind") == "float_list"
    assert list(example.features.feature) == ["x"]
    with pytest.raises(ValueError, match="may not be assigned"):
        example.features.feature["y"] = Feature()


def test_sequences() -> None:
    steps = SequenceExample(
        context=Features(feature={"n": Feature(int64_list=Int64List(value=[2]))}),
        feature_lists=FeatureLists(feature_list={"x": FeatureList(feature=[Feature(), Feature()])}),
    )
    steps.feature_lists.feature_list["x"].feature[1].bytes_list.value.append(b"b")
    again = SequenceExample()
    again.ParseFromString(steps.SerializeToString())
    assert again == steps
    assert len(again.feature_lists.feature_list["x"].feature) == 2


def test_text_format() -> None:
    text = str(Example(features=Features(feature={"a": make().features.feature["name"]})))
    assert text == (
        'features {\n  feature {\n    key: "a"\n    value {\n      bytes_list {\n        value: "a\\n\\377"\n      }\n'
        "    }\n  }\n}\n"
    )
    assert "value: 16777216" in str(FloatList(value=[2**24]))
    assert text_format.Parse(text_format.MessageToString(make()), Example()) == make()


def test_json() -> None:
    as_dict = {"features": {"feature": {"a": {"int64List": {"value": ["1", "2"]}}}}}
    example = json_format.ParseDict(as_dict, Example())
    assert json_format.MessageToDict(example) == as_dict
    assert Example.FromString(from_json(json_format.MessageToJson(example).encode())) == example
    with pytest.raises(ValueError, match="no field named"):
        from_json(b'{"zork": 1}')


def test_names_are_tensorflows() -> None:
    import headrace as tf

    assert Example.DESCRIPTOR.full_name == "tensorflow.Example"
    assert tf.train.Example is Example and isinstance(make(), tf.train.Example)


def test_without_protobuf_the_error_says_what_to_install() -> None:
    program = "import sys; sys.modules['google.protobuf'] = None; import headrace as tf; tf.train.Example()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert "ImportError: tf.train.Example and its kin need protobuf: pip install protobuf" in done.stderr


@pytest.mark.parametrize(
    ("make_list", "error"),
    [
        (lambda: BytesList(value=["text"]), TypeError),
        (lambda: Int64List(value=[1.5]), TypeError),
        (lambda: Int64List(value=[2**63]), ValueError),
        (lambda: FloatList(value=[b"1"]), TypeError),
        (lambda: Feature(int64_list=FloatList()), TypeError),
    ],
)
def test_wrong_values(make_list: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        make_list()


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\x05ab", b"\x0b", b"\x00\x00"])
def test_damaged_messages(data: bytes) -> None:
    with pytest.raises(DecodeError, match="Error parsing message"):
        Example.FromString(data)
    with pytest.raises(ValueError, match="Error parsing message"):
        read_features(data)


def test_reading() -> None:
    features = read_features(make().SerializeToString())
    assert set(features) == {"ids", "x", "name"}
    kind, values = read_feature(features["ids"])
    assert (kind, values.tolist(), values.dtype) == ("int64_list", [1, -2, 2**40], np.int64)
    assert read_feature(features["x"])[1].dtype == np.float32
    assert read_feature(features["name"]) == ("bytes_list", [b"a\n\xff"])
    assert read_feature(Feature()) == (None, ())


def test_reading_sequences() -> None:
    steps = SequenceExample()
    steps.feature_lists.feature_list["x"].feature.add().int64_list.value.append(4)
    steps.context.feature["n"].int64_list.value.append(1)
    data = steps.SerializeToString()
    assert [read_feature(step)[1].tolist() for step in read_feature_lists(data)["x"]] == [[4]]
    assert list(read_features(data)) == ["n"]


def test_unpacked_numbers_are_read_too() -> None:
    payload = b"".join(wire.varint(1 << 3) + wire.varint(v) for v in (5, 6))
    feature = Feature.FromString(wire.field(3, payload))
    assert read_feature(feature)[1].tolist() == [5, 6]


@pytest.mark.parametrize("count", [0, 1, 3, 100])
def test_varints_of_every_length(count: int) -> None:
    values = [(-1) ** i * (1 << (i * 7 % 63)) - i for i in range(count)]
    packed = b"".join(wire.varint(v & 0xFFFFFFFFFFFFFFFF) for v in values)
    assert wire.unpack_int64(packed).tolist() == values


def test_cut_off_varints() -> None:
    for data in (b"\x80", b"\x01" * 40 + b"\x80", b"\x80" * 11 + b"\x01" + b"\x01" * 30):
        with pytest.raises(ValueError):
            wire.unpack_int64(data)
