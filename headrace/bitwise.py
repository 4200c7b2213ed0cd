"""tf.bitwise: operations on the bits of integers."""

from headrace.library.bitwise import bitwise_and as bitwise_and
from headrace.library.bitwise import bitwise_or as bitwise_or
from headrace.library.bitwise import bitwise_xor as bitwise_xor
from headrace.library.bitwise import invert as invert
from headrace.library.bitwise import left_shift as left_shift
from headrace.library.bitwise import right_shift as right_shift
