"""Strings: golden values, static shapes, wrong arguments, files."""

import functools
from pathlib import Path

import numpy as np
import pytest
from golden import program
from golden.string_programs import PROGRAMS
from running import run

import headrace as tf
from headrace.ops.shared.string_array import fingerprint64, murmur64, siphash

MANY = 2**62 + 1
golden = functools.cache(lambda: program.load("string"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_tensorflow(name: str) -> None:
    program.compare(tf, PROGRAMS, name, golden())


Z = b"x\0"
FILLED = {
    "constant": lambda: tf.constant(Z, shape=[2]),
    "fill": lambda: tf.fill([2], Z),
    "pad": lambda: tf.pad(tf.constant([Z]), [[0, 1]], constant_values=Z),
    "sparse_to_dense": lambda: tf.sparse_to_dense([[1]], [2], [Z], Z),
    "sparse_tensor_to_dense": lambda: tf.sparse_tensor_to_dense(tf.SparseTensor([[1]], [Z], [2]), Z),
    "parse_example": lambda: tf.parse_example([b"", b""], {"a": tf.FixedLenFeature([], tf.string, Z)})["a"],
    "padded_batch": lambda: (
        tf.data.Dataset.from_tensors([Z]).padded_batch(1, [2], Z).make_one_shot_iterator().get_next()[0]
    ),
}


@pytest.mark.parametrize("name", FILLED)
def test_zeros_at_the_end_of_a_string_that_fills_a_tensor(name: str) -> None:
    found = run(FILLED[name]()).tolist()
    assert found == [Z, Z] and {type(one) for one in found} == {bytes}


@pytest.mark.parametrize(
    "given",
    [np.array([b"x", b"\0y"]), np.array(["x", "\0y"]), np.array([np.bytes_(b"x"), b"\0y"], object), [b"x", "\0y"]],
)
def test_strings_of_numpy_are_plain_bytes(given: object) -> None:
    fed = tf.placeholder(tf.string)
    with tf.Session() as session:
        for found in session.run([tf.constant(given), tf.identity(fed)], {fed: given}):
            assert found.tolist() == [b"x", b"\0y"] and {type(one) for one in found} == {bytes}


def test_zeros_at_the_end_of_a_default_of_a_sequence() -> None:
    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[Z, Z]))
    whole = tf.train.Example(features=tf.train.Features(feature={"a": feature})).SerializeToString()
    sequence = tf.FixedLenSequenceFeature([], tf.string, allow_missing=True, default_value=Z)
    assert run(tf.parse_example([b"", whole], {"a": sequence})["a"]).tolist() == [[Z, Z], [Z, Z]]


def test_fingerprints_of_every_length() -> None:
    """TensorFlow's buckets around each change of method."""
    data = bytes(range(256)) * 2
    known = {
        0: (1936946117179621453, 1315545615887763259, 105434511174508089),
        3: (1486536572171691160, 3755009496306718851, 3149149548962779048),
        7: (2513219638405408415, 4173806396364075594, 1936280922914974938),
        8: (3267946340606884758, 246677048581794474, 502628180446468569),
        16: (1080060857502750420, 1831352593030390619, 2600588123549868653),
        17: (4302810082142134042, 2893760820775434115, 1362815619722030869),
        32: (1917831512995979081, 2869474909767178542, 235957890591632321),
        33: (2915358112413471307, 179222642227259099, 962007355768313099),
        64: (3856493858525203528, 3640560546368111814, 2192457456962414802),
        65: (478270155923209659, 883261060031781493, 2525959834624391444),
        128: (2037963038260878803, 3276394564047862074, 739982330887139046),
        129: (1048111057192683579, 2345357943756408402, 2161695753874938687),
        300: (3055356305677081121, 106935107320567258, 2015703812338670049),
    }
    for size, (fast, strong, plain) in known.items():
        assert fingerprint64(data[:size]) % MANY == fast
        assert siphash(data[:size], (7, 9)) % MANY == strong
        assert murmur64(data[:size]) % MANY == plain
    assert siphash(bytes(range(15)), (0x0706050403020100, 0x0F0E0D0C0B0A0908)) == 0xA129CA6149BE45E5  # from its paper


def test_static_shapes() -> None:
    text = tf.placeholder(tf.string, [None, 3])
    assert tf.reduce_join(text, 1).shape.as_list() == [None]
    assert tf.reduce_join(text, 0, keep_dims=True).shape.as_list() == [1, 3]
    assert tf.decode_raw(text, tf.uint8).shape.as_list() == [None, 3, None]
    assert tf.string_to_hash_bucket_fast(text, 5).shape.as_list() == [None, 3]
    assert [t.shape.as_list() for t in tf.decode_csv(text, [[1], [""]])] == [[None, 3]] * 2
    assert tf.substr(text, 0, 1).shape.as_list() == [None, 3]


@pytest.mark.parametrize(
    ("program", "error"),
    [
        (lambda: tf.string_split(["a"], result_type="RaggedTensor"), NotImplementedError),
        (lambda: tf.string_split(["a"], result_type="Other"), ValueError),
        (lambda: tf.string_split(["a"], sep=" ", delimiter=","), ValueError),
        (lambda: tf.string_join([]), ValueError),
        (lambda: tf.string_join([["a"], ["b", "c"]]), ValueError),
        (lambda: tf.decode_raw("a"), ValueError),
        (lambda: tf.decode_csv("a", [[""]], select_cols=[1, 0]), ValueError),
        (lambda: tf.string_to_number("1", tf.int8), TypeError),
    ],
)
def test_wrong_arguments(program: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        program()


@pytest.mark.parametrize(
    ("position", "length", "wanted"),
    [(0, -1, [b"abc", b"defg"]), (1, -2, [b"bc", b"efg"]), (-2, -1, [b"bc", b"fg"]), ([3, 1], [-1, -3], [b"", b"efg"])],
)
def test_the_rest_of_a_string(position: object, length: object, wanted: list[bytes]) -> None:
    assert run(tf.substr(["abc", "defg"], position, length)).tolist() == wanted


def test_errors_while_running_name_what_is_wrong(session: tf.Session) -> None:
    for made, text in (
        (tf.string_to_number("12x"), "could not correctly convert string: 12x"),
        (tf.substr("abc", 4, 1), "pos 4 out of range"),
        (tf.regex_replace("a", "(", ""), r"Invalid pattern: \("),
        (tf.decode_csv("1,x", [[0], [0]])[1], "Field 1 in record 0 is not a valid int32: x"),
        (tf.decode_csv("1", [[0], [0]])[0], "Expect 2 fields but have 1 in record 0"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(made)


def test_files(session: tf.Session, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.txt"
    session.run(tf.write_file(str(path), "contents"))
    assert session.run(tf.read_file(str(path))) == b"contents"
    assert session.run(tf.matching_files(str(tmp_path / "*" / "*.txt"))).tolist() == [str(path).encode()]
    with pytest.raises(tf.errors.NotFoundError):
        session.run(tf.read_file(str(tmp_path / "missing")))


def test_a_file_is_read_anew_in_each_step(session: tf.Session, tmp_path: Path) -> None:
    path = tmp_path / "a"
    contents = tf.read_file(str(path))
    for text in (b"one", b"two"):
        path.write_bytes(text)
        assert session.run(contents) == text


def test_images_from_raw_bytes() -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 3, 2)
    image = tf.reshape(tf.decode_raw(tf.placeholder_with_default(pixels.tobytes(), []), tf.uint8), [2, 3, 2])
    np.testing.assert_array_equal(run(tf.cast(image, tf.float32)), pixels)


@pytest.mark.parametrize(
    "use, dtype, want",
    [
        (lambda s: tf.decode_raw(s, tf.uint8), tf.uint8, [[97, 98], [99, 100]]),
        (lambda s: tf.string_join([s, "!"]), tf.string, [b"ab!", b"cd!"]),
        (lambda s: tf.substr(s, 1, 1), tf.string, [b"b", b"d"]),
        (lambda s: tf.strings.length(s), tf.int32, [2, 2]),
        (lambda s: tf.regex_replace(s, "a", "x"), tf.string, [b"xb", b"cd"]),
        (lambda s: tf.decode_csv(s, [["?"]])[0], tf.string, [b"ab", b"cd"]),
        (lambda s: tf.reshape(s, [1]), tf.string, [[b"ab"], [b"cd"]]),
        (lambda s: tf.fill([2], s), tf.string, [[b"ab", b"ab"], [b"cd", b"cd"]]),
        (lambda s: tf.cond(tf.equal(s, "ab"), lambda: tf.string_join([s, s]), lambda: s), tf.string, [b"abab", b"cd"]),
    ],
)
def test_one_string_after_the_other(session: tf.Session, use, dtype, want) -> None:
    assert session.run(tf.map_fn(use, tf.constant(["ab", "cd"]), dtype=dtype)).tolist() == want
    later = tf.placeholder(tf.string, [None])
    assert session.run(tf.map_fn(use, later, dtype=dtype), {later: ["ab", "cd"]}).tolist() == want


def test_strings_gathered_in_a_loop(session: tf.Session) -> None:
    words = tf.constant(["a", "b", "c"])
    assert session.run(tf.foldl(lambda a, b: tf.string_join([a, b]), words)) == b"abc"
    assert session.run(tf.scan(lambda a, b: tf.string_join([a, b]), words)).tolist() == [b"a", b"ab", b"abc"]
    array = tf.TensorArray(tf.string, 4).write(3, "z").scatter([0, 2], ["x", "y"])
    assert session.run(tf.strings.length(array.read(2))) == 1
