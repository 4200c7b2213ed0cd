"""Programs on images: dilation, glimpses, boxes, maps, fractional pools; see program.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from golden.program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add
IMAGE = np.random.RandomState(3).uniform(-1, 1, (2, 6, 7, 2)).astype(np.float32)
FILTER = np.random.RandomState(4).uniform(-1, 1, (3, 2, 2)).astype(np.float32)

for _padding in ("SAME", "VALID"):
    for _stride, _rate in ((1, 1), (2, 1), (1, 2)):

        @add(f"dilation_{_padding}_{_stride}{_rate}", names=False)
        def _(tf: Any, padding: str = _padding, stride: int = _stride, rate: int = _rate) -> Any:
            x, f = tf.constant(IMAGE), tf.constant(FILTER)
            options = [1, stride, stride, 1], [1, rate, rate, 1], padding
            wide, thin = tf.nn.dilation2d(x, f, *options), tf.nn.erosion2d(x, f, *options)
            return [wide, thin, *tf.gradients(wide * wide, [x, f]), *tf.gradients(thin * thin, [x, f])]


@add("dilation_of_integers", names=False)
def _(tf: Any) -> Any:
    x = tf.constant((IMAGE * 50).astype(np.int32))
    return tf.nn.dilation2d(x, tf.constant((FILTER * 9).astype(np.int32)), [1, 1, 1, 1], [1, 1, 1, 1], "VALID")


@add("volume_patches", names=False)
def _(tf: Any) -> Any:
    x = tf.constant(np.arange(96, dtype=np.float32).reshape(1, 4, 4, 3, 2))
    return [tf.extract_volume_patches(x, [1, 2, 3, 2, 1], [1, 2, 1, 1, 1], p) for p in ("SAME", "VALID")]


@add("glimpse", names=False)
def _(tf: Any) -> Any:
    x = tf.constant(IMAGE)
    places = [[0.0, 0.0], [0.2, -0.3]]
    found = [tf.image.extract_glimpse(x, [3, 2], places)]
    found.append(tf.image.extract_glimpse(x, [3, 3], [[1.0, 1.0], [0.0, 1.0]], centered=True, normalized=False))
    found.append(tf.image.extract_glimpse(x, [2, 3], [[3.0, 2.0], [3.5, 3.5]], centered=False, normalized=False))
    found.append(tf.image.extract_glimpse(x, [2, 2], [[0.5, 0.5], [0.4, 0.6]], centered=False, normalized=True))
    found.append(
        tf.raw_ops.ExtractGlimpse(
            input=x, size=[4, 5], offsets=[[-0.9, 0.9], [1.5, 0.0]], noise="zero", uniform_noise=False
        )
    )
    return found


BOXES = np.random.RandomState(5).uniform(0, 0.8, (2, 6, 1, 4)).astype(np.float32)
BOXES[..., 2:] = BOXES[..., :2] + 0.4
SCORES = np.random.RandomState(6).uniform(0, 1, (2, 6, 3)).astype(np.float32)

for _pad in (False, True):
    for _clip in (False, True):

        @add(f"combined_nms_{_pad:d}{_clip:d}", names=False)
        def _(tf: Any, pad: bool = _pad, clip: bool = _clip) -> Any:
            shared = tf.image.combined_non_max_suppression(BOXES, SCORES, 2, 8, 0.3, 0.2, pad, clip)
            own = np.tile(BOXES, [1, 1, 3, 1]) + np.arange(3, dtype=np.float32)[:, None] * 0.1
            return [
                *shared,
                *tf.image.combined_non_max_suppression(own, SCORES, 3, 4, pad_per_class=pad, clip_boxes=clip),
            ]


@add("older_nms", names=False)
def _(tf: Any) -> Any:
    boxes, scores = BOXES[0, :, 0], SCORES[0, :, 0]
    return [
        tf.raw_ops.NonMaxSuppression(boxes=boxes, scores=scores, max_output_size=4, iou_threshold=0.3),
        tf.raw_ops.NonMaxSuppressionV2(boxes=boxes, scores=scores, max_output_size=4, iou_threshold=0.1),
    ]


for _way in ("NEAREST", "BILINEAR"):

    @add(f"projective_{_way}", names=False)
    def _(tf: Any, way: str = _way) -> Any:
        x = tf.constant(IMAGE)
        maps = tf.constant([[1.0, 0.2, -1.0, 0.1, 0.9, 0.5, 0.01, 0.02], [0.7, -0.7, 2.0, 0.7, 0.7, -1.0, 0.0, 0.0]])
        make = tf.raw_ops.ImageProjectiveTransformV2
        moved = make(images=x, transforms=maps, output_shape=[5, 8], interpolation=way)
        whole = make(images=tf.cast(x * 50, tf.int32), transforms=maps[1:], output_shape=[6, 7], interpolation=way)
        return [moved, whole, *tf.gradients(moved * moved, x)]


for _kind in ("max", "avg"):

    @add(f"fractional_{_kind}", names=False)
    def _(tf: Any, kind: str = _kind) -> Any:
        x = tf.constant(np.random.RandomState(8).permutation(2 * 6 * 9).reshape(2, 6, 9, 1).astype(np.float32))
        found = []
        for overlapping in (False, True):
            pool = getattr(tf.nn, f"fractional_{kind}_pool")
            # Ratios that divide leave nothing to chance.
            pooled, rows, columns = pool(x, [1.0, 2.0, 3.0, 1.0], overlapping=overlapping)
            found += [pooled, rows, columns, *tf.gradients(pooled * pooled, x)]
        return found


@add("fractional_gradients", names=False)
def _(tf: Any) -> Any:
    x = np.random.RandomState(9).permutation(35).reshape(1, 5, 7, 1).astype(np.float32)
    rows, columns = np.int64([0, 1, 3, 5]), np.int64([0, 2, 3, 5, 7])
    back = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
    out = np.stack(
        [[x[0, rows[i] : rows[i + 1], columns[j] : columns[j + 1]].max() for j in range(4)] for i in range(3)]
    )
    out = out.reshape(1, 3, 4, 1)
    found = [
        tf.raw_ops.FractionalMaxPoolGrad(
            orig_input=x, orig_output=out, out_backprop=back, row_pooling_sequence=rows, col_pooling_sequence=columns
        )
    ]
    for overlapping in (False, True):
        found.append(
            tf.raw_ops.FractionalAvgPoolGrad(
                orig_input_tensor_shape=np.int64(x.shape),
                out_backprop=back,
                row_pooling_sequence=rows,
                col_pooling_sequence=columns,
                overlapping=overlapping,
            )  # fmt: skip
        )
    return found
