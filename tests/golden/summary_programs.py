"""Programs that make summaries; see program.py.

Those named ``image ...`` are compared pixel by pixel, for another zlib compresses them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from golden.program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add
RANDOM = np.random.RandomState(7)
NOISE = RANDOM.randn(2, 9, 8, 3)
WAVE = (np.sin(np.arange(48) * 0.3) * 1.2).astype(np.float32)


@add("names and tags")
def _(tf: Any) -> Any:
    x = tf.constant(2.5, name="x")
    made = [tf.summary.scalar("loss", x), tf.summary.scalar("loss", x)]
    with tf.name_scope("outer"):
        made += [tf.summary.scalar("loss", x), tf.summary.scalar("inner/loss", x), tf.summary.scalar("loss", 3)]
        with tf.name_scope("inner"):
            made += [tf.summary.scalar("loss", x, family="fam"), tf.summary.scalar("loss", x, family="fam")]
    made += [tf.summary.scalar("a name: with (odd) characters", x), tf.summary.scalar("/slash", x)]
    made += [tf.summary.scalar("odd", x, family="odd family")]
    return made


@add("histograms")
def _(tf: Any) -> Any:
    x = tf.constant(NOISE.astype(np.float32), name="x")
    with tf.name_scope("layer"):
        made = [tf.summary.histogram("weights", x), tf.summary.histogram("weights", x[0] * 100, family="fam")]
    return [*made, tf.summary.histogram(None, [1, 2, 3])]


@add("merged")
def _(tf: Any) -> Any:
    x = tf.constant([0.5, 1.5], name="x")
    first = tf.summary.scalar("first", x[0])
    with tf.name_scope("scope"):
        second = tf.summary.scalar("second", x[1], collections=["mine", tf.GraphKeys.SUMMARIES])
        third = tf.summary.histogram("third", x)
    hidden = tf.summary.scalar("hidden", x[0], collections=["mine"])
    merged = [tf.summary.merge([first, hidden]), tf.summary.merge([second], name="a name"), tf.summary.merge_all()]
    merged += [tf.summary.merge_all("mine"), tf.summary.merge_all(scope="scope/"), tf.summary.merge_all(name="all")]
    assert tf.summary.merge_all("no such collection") is None
    with tf.name_scope("scope"):
        merged += [tf.summary.merge([first, third], collections=["merged"])]
    return [*merged, *tf.get_collection("merged")]


@add("sounds")
def _(tf: Any) -> Any:
    wave = tf.constant(WAVE, name="wave")
    mono, stereo = tf.reshape(wave, [4, 12]), tf.reshape(wave, [2, 12, 2])
    return [
        tf.summary.audio("mono", mono, 8000), tf.summary.audio("one", mono, 44100.0, max_outputs=1),
        tf.summary.audio("stereo", stereo, tf.constant(16000.0, name="rate"), max_outputs=5, family="fam"),
    ]  # fmt: skip


@add("tensors")
def _(tf: Any) -> Any:
    numbers = tf.constant([[1.0, 2.0]], name="numbers")
    return [
        tf.summary.text("text", tf.constant("*markdown*", name="words")),
        tf.summary.text("table", tf.constant([["a", "b"], ["c", "d"]], name="table_words")),
        tf.summary.tensor_summary("plain", numbers),
        tf.summary.tensor_summary("described", numbers, "what it is", display_name="shown", family="fam"),
        tf.summary.tensor_summary("ints", tf.constant([1, 2, 3], name="ints"), collections=[]),
    ]  # fmt: skip


def _images(name: str, array: np.ndarray, **options: Any) -> None:
    def program(tf: Any) -> Any:
        return tf.summary.image("picture", tf.constant(array, name="pixels"), **options)

    add(f"image {name}")(program)


_images("uint8", (NOISE * 50).astype(np.int32).astype(np.uint8))
_images("positive", np.abs(NOISE).astype(np.float32))
_images("negative too", NOISE.astype(np.float32))
_images("half", NOISE.astype(np.float16), max_outputs=1)
_images("double", NOISE * 1e-3, family="fam")
_images("grey", NOISE[..., :1].astype(np.float32))
_images("with alpha", np.concatenate([NOISE, NOISE[..., :1]], -1).astype(np.float32))
_images("zero", np.zeros((1, 2, 3, 1), np.float32))
_images("tiny", np.full((1, 2, 3, 1), -5e-7, np.float32))
_images("not finite", np.where(NOISE > 1, np.nan, np.where(NOISE < -1, -np.inf, NOISE)).astype(np.float32))
_images("nothing finite", np.full((1, 2, 3, 3), np.inf, np.float32))
_images("many", np.abs(RANDOM.rand(6, 2, 2, 1)), max_outputs=5)
