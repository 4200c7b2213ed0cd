"""Operations on the bits of integers.

>>> tf.Session().run(tf.bitwise.bitwise_and(6, 3))
np.int32(2)
"""

from __future__ import annotations

from functools import partial

from headrace.library.numeric.math import binary, unary

_one = partial(unary, of="integers", prefix="tf.bitwise", module=__name__)
_two = partial(binary, of="integers", prefix="tf.bitwise", module=__name__)

bitwise_and = _two("bitwise_and", "BitwiseAnd", "The bits set in both.", "[12, 10], 6", "[4, 2]")
bitwise_or = _two("bitwise_or", "BitwiseOr", "The bits set in either.", "[12, 10], 6", "[14, 14]")
bitwise_xor = _two("bitwise_xor", "BitwiseXor", "The bits set in exactly one.", "[12, 10], 6", "[10, 12]")
invert = _one("invert", "Invert", "Every bit the other way.", "[0, 5]", "[-1, -6]")
left_shift = _two("left_shift", "LeftShift", "The bits of x moved up by y places.", "[1, 3], 2", "[ 4, 12]")
right_shift = _two(
    "right_shift",
    "RightShift",
    "The bits of x moved down by y places; the sign bit is repeated for signed types.",
    "[12, -12], 2",
    "[ 3, -3]",
)
