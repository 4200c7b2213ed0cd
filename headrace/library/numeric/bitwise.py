"""Operations on the bits of integers."""

from __future__ import annotations

from headrace.library.numeric.math import binary, unary

bitwise_and = binary("bitwise_and", "BitwiseAnd", "The bits set in both.")
bitwise_or = binary("bitwise_or", "BitwiseOr", "The bits set in either.")
bitwise_xor = binary("bitwise_xor", "BitwiseXor", "The bits set in exactly one.")
invert = unary("invert", "Invert", "Every bit the other way.")
left_shift = binary("left_shift", "LeftShift", "The bits of x moved up by y places.")
right_shift = binary(
    "right_shift",
    "RightShift",
    "The bits of x moved down by y places; the sign bit is repeated for signed types.",
)
