"""Programs that search, count sets, read text and cross features; see program.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from golden.program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add
SORTED = np.array([[1.0, 3.0, 3.0, 7.5], [-2.0, 0.0, 0.0, 9.0]], np.float32)
WANTED = np.array([[0.0, 3.0, 8.0], [0.0, -5.0, 9.0]], np.float32)
WORDS = ["caf\u00e9".encode(), "\u4f60\u597d \U0001f600".encode(), b"a\xffb\xc3", b"", b"tab\there"]

for _side in ("left", "right"):

    @add(f"searchsorted_{_side}", names=False)
    def _(tf: Any, side: str = _side) -> Any:
        whole = tf.searchsorted(tf.constant(SORTED), tf.constant(WANTED), side=side)
        ints = tf.searchsorted([1, 5, 9], [[5]] if False else [5, 0, 10], side=side, out_type=tf.int64)
        return [whole, ints]


@add("unravel_index")
def _(tf: Any) -> Any:
    return [tf.unravel_index([22, 3, 0], [4, 6]), tf.unravel_index(tf.constant(7, tf.int64), np.int64([2, 2, 3]))]


@add("bucketize")
def _(tf: Any) -> Any:
    limits = [-1.0, 0.5, 4.0]
    return [
        tf.raw_ops.Bucketize(input=[-3.0, -1.0, 0.25, 0.5, 9.0], boundaries=limits),
        tf.raw_ops.Bucketize(input=[[-1, 4], [5, 0]], boundaries=limits),
    ]


for _reverse in (False, True):

    @add(f"nth_element_{_reverse:d}", names=False)
    def _(tf: Any, reverse: bool = _reverse) -> Any:
        x = tf.constant([[4.0, 1.0, 3.0, 3.0], [0.5, -2.0, 8.0, 0.0]])
        found = tf.raw_ops.NthElement(input=x, n=1, reverse=reverse)
        return [found, *tf.gradients(found * [2.0, 3.0], x)]


@add("repeat", names=False)
def _(tf: Any) -> Any:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    several = tf.repeat(x, [1, 3], axis=0)
    return [
        tf.repeat([3, 5, 7], 2), several, tf.repeat(x, 2, axis=-1), tf.repeat(x, [2]), tf.repeat("a", 3),
        tf.convert_to_tensor(tf.gradients(several * several, x)[0]),
    ]  # fmt: skip


def _sets(tf: Any) -> tuple[Any, Any, Any, Any]:
    a = tf.constant([[[1, 2, 2], [9, 9, 9]], [[4, 5, 6], [7, 0, 7]]])
    b = tf.constant([[[2, 3], [9, 1]], [[4, 6], [8, 8]]])
    first = tf.SparseTensor([[0, 0, 0], [0, 0, 1], [1, 1, 0]], tf.constant([3, 2, 7]), [2, 2, 2])
    second = tf.SparseTensor([[0, 0, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1]], tf.constant([2, 5, 7, 8]), [2, 2, 2])
    return a, b, first, second


for _name in ("union", "intersection", "difference"):

    @add(f"set_{_name}", names=False)
    def _(tf: Any, name: str = _name) -> Any:
        work = getattr(tf.sets, f"set_{name}")
        a, b, first, second = _sets(tf)
        words = work(tf.constant([["b", "a"]]), tf.constant([["a", "c"]]))
        return [work(a, b), work(a, second), work(first, b), work(first, second), words]


@add("set_size", names=False)
def _(tf: Any) -> Any:
    _, _, first, second = _sets(tf)
    words = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant(["x", "x", "y"]), [3, 4])
    other = tf.sets.set_difference(*_sets(tf)[:2], aminusb=False)
    return [tf.sets.set_size(first), tf.sets.set_size(second), tf.sets.set_size(words), other]


for _errors in ("replace", "ignore"):

    @add(f"unicode_{_errors}", names=False)
    def _(tf: Any, errors: str = _errors) -> Any:
        found = [tf.strings.unicode_transcode(WORDS, "UTF-8", to, errors) for to in ("UTF-8", "UTF-16-BE", "UTF-32-BE")]
        found.append(tf.strings.unicode_transcode(WORDS, "UTF-8", "UTF-8", errors, 63, True))
        found.append(tf.strings.unicode_transcode([b"caf\xe9"], "latin1", "UTF-8", errors))
        for word in WORDS:
            found.append(tf.strings.unicode_decode(word, "UTF-8", errors))
            found += tf.strings.unicode_decode_with_offsets(word, "UTF-8", errors, 65)
            found.append(tf.strings.unicode_split(word, "UTF-8", errors))
            found += tf.strings.unicode_split_with_offsets(word, "UTF-8", errors)
        found.append(tf.strings.unicode_decode(b"\x00a\xd8\x3d\xde\x00\xd8", "UTF-16-BE", errors))
        return found


@add("unicode_encode", names=False)
def _(tf: Any) -> Any:
    points = [[72, 228, 0x1F600], [0xD800, 1 << 22, 65]]
    return [
        *(tf.strings.unicode_encode(points, to) for to in ("UTF-8", "UTF-16-BE", "UTF-32-BE")),
        tf.strings.unicode_encode(points, "UTF-8", "ignore"), tf.strings.unicode_encode([72, 105], "UTF-8"),
        tf.strings.unicode_encode(np.zeros((2, 0), np.int32), "UTF-8"),
    ]  # fmt: skip


def _crosses(tf: Any) -> list[Any]:
    a = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant(["x", "y", "z"]), [2, 2])
    b = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], tf.constant([3, -4, 5], tf.int64), [2, 2])
    return [a, tf.constant([["d1", "d2"], ["e1", "e2"]]), b]


@add("sparse_cross", names=False)
def _(tf: Any) -> Any:
    return [tf.sparse.cross(_crosses(tf)), tf.sparse.cross(_crosses(tf)[:1])]


@add("sparse_cross_hashed", names=False)
def _(tf: Any) -> Any:
    return [
        tf.sparse.cross_hashed(_crosses(tf), num_buckets=100), tf.sparse.cross_hashed(_crosses(tf)),
        tf.sparse.cross_hashed(_crosses(tf)[2:], num_buckets=7, hash_key=12345),
    ]  # fmt: skip


@add("fingerprint")
def _(tf: Any) -> Any:
    numbers = tf.constant([[1, 2, 3], [4, 5, 6]], tf.int32)
    return [tf.fingerprint(["abc", "", "x" * 70]), tf.fingerprint(numbers), tf.fingerprint([["a", "b"], ["c", "d"]])]


def _sequences(tf: Any) -> list[bytes]:
    made = []
    for i, steps in enumerate(([[1, 2], [3, 4]], [[5, 6]], [])):
        floats = [tf.train.Feature(float_list=tf.train.FloatList(value=[i + 0.5] * (j + i))) for j in range(2)]
        lists = {
            "tokens": tf.train.FeatureList(
                feature=[tf.train.Feature(int64_list=tf.train.Int64List(value=s)) for s in steps]
            ),
            "notes": tf.train.FeatureList(feature=floats),
        }
        context = {"id": tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))}
        if i:
            context["tags"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"t"] * i))
        made.append(
            tf.train.SequenceExample(
                context=tf.train.Features(feature=context), feature_lists=tf.train.FeatureLists(feature_list=lists)
            ).SerializeToString()
        )
    return made


@add("parse_sequence_example", names=False)
def _(tf: Any) -> Any:
    context, steps, lengths = tf.io.parse_sequence_example(
        _sequences(tf),
        context_features={"id": tf.FixedLenFeature([], tf.int64), "tags": tf.VarLenFeature(tf.string)},
        sequence_features={
            "tokens": tf.FixedLenSequenceFeature([2], tf.int64), "notes": tf.VarLenFeature(tf.float32),
            "absent": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
        },
    )  # fmt: skip
    return [context, steps, lengths]


@add("decode_json_example", names=False)
def _(tf: Any) -> Any:
    text = (
        '{"features": {"feature": {"a": {"int64List": {"value": ["7", 8]}}, "b": {"floatList": {"value": [0.5]}},'
        ' "c": {"bytesList": {"value": ["aGk="]}}}}}'
    )
    kinds = {
        "a": tf.FixedLenFeature([2], tf.int64), "b": tf.FixedLenFeature([], tf.float32),
        "c": tf.FixedLenFeature([], tf.string),
    }  # fmt: skip
    return tf.parse_example(tf.io.decode_json_example([text]), kinds)
