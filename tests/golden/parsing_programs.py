"""Programs that parse examples; see program.py."""

from __future__ import annotations

from typing import Any

from golden.program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add


def _feature(tf: Any, values: Any) -> Any:
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def _example(tf: Any, **features: Any) -> bytes:
    feature = {name: _feature(tf, values) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def _batch(tf: Any) -> Any:
    return [
        _example(tf, label=[3], pixels=[1.5, -2.0], words=[b"a", b"bc"], ix=[1, 4], iy=[0, 2], v=[0.5, 0.25]),
        _example(tf, pixels=[0.25, 4.0], ix=[2], iy=[1], v=[9.0]),
    ]


def _features(tf: Any) -> Any:
    return {
        "label": tf.FixedLenFeature([], tf.int64, default_value=7),
        "pixels": tf.FixedLenFeature([2], tf.float32),
        "words": tf.VarLenFeature(tf.string),
        "more": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True, default_value="?"),
        "places": tf.SparseFeature("ix", "v", tf.float32, 10),
    }


@add("parse_example", names=False)
def _(tf: Any) -> Any:
    found = tf.parse_example(_batch(tf), _features(tf))
    several = tf.parse_example(_batch(tf), {"p": tf.SparseFeature(["ix", "iy"], "v", tf.float32, [10, 5])})
    return [found, several]


@add("parse_single_example", names=False)
def _(tf: Any) -> Any:
    features = _features(tf)
    del features["places"]
    return [tf.parse_single_example(_batch(tf)[0], features), tf.io.parse_single_example(_batch(tf)[1], features)]


@add("parse_single_example_sparse", names=False)
def _(tf: Any) -> Any:
    return tf.parse_single_example(_batch(tf)[0], {"places": _features(tf)["places"]})


@add("parse_single_sequence_example", names=False)
def _(tf: Any) -> Any:
    steps = tf.train.SequenceExample()
    steps.context.feature["label"].int64_list.value.append(3)
    for i in range(3):
        steps.feature_lists.feature_list["pairs"].feature.add().float_list.value.extend([i, i + 0.5])
        steps.feature_lists.feature_list["ids"].feature.add().int64_list.value.extend(range(i))
    return list(
        tf.parse_single_sequence_example(
            steps.SerializeToString(),
            {"label": tf.FixedLenFeature([], tf.int64), "words": tf.VarLenFeature(tf.string)},
            {
                "pairs": tf.FixedLenSequenceFeature([2], tf.float32),
                "ids": tf.VarLenFeature(tf.int64),
                "absent": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
            },
        )
    )
