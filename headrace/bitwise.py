"""tf.bitwise: operations on the bits of integers."""

from headrace.library.numeric.bitwise import bitwise_and as bitwise_and
from headrace.library.numeric.bitwise import bitwise_or as bitwise_or
from headrace.library.numeric.bitwise import bitwise_xor as bitwise_xor
from headrace.library.numeric.bitwise import invert as invert
from headrace.library.numeric.bitwise import left_shift as left_shift
from headrace.library.numeric.bitwise import right_shift as right_shift
