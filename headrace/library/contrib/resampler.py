"""contrib.resampler: pictures read between their pixels."""

from __future__ import annotations

from typing import Any

from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.library.scope import name_scope


def resampler(data: Any, warp: Any, name: str = "resampler") -> Any:
    """Pictures at places of your choosing, between four pixels by bilinear interpolation.

    Outside a picture everything is 0; from its edge to one pixel further out the values go to 0 evenly. Gradients go to
    the pictures and to the places, as a spatial transformer needs.

    Args:
      data: The pictures, float16, bfloat16, float32 or float64 [batch, height, width, channels].
      warp: The places, of the type of `data`, [batch, ..., 2]: x, counted to the right, then y, counted downwards.
      name: The name scope of the ops.

    Returns:
      A tensor of the type of `data`, [batch, ..., channels].

    >>> picture = tf.reshape([0.0, 1.0, 2.0, 3.0], [1, 2, 2, 1])
    >>> tf.Session().run(tf.contrib.resampler.resampler(picture, [[[0.5, 0.0], [1.0, 0.5], [2.0, 2.0]]]))
    array([[[0.5],
            [2. ],
            [0. ]]], dtype=float32)
    """
    with name_scope(name, "resampler", [data, warp]):
        data, warp = convert_to_tensor(data, name="data"), convert_to_tensor(warp, name="warp")
        return raw_ops.Resampler(data, warp)
