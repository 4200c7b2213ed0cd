"""Kernels for 64-bit Arm, where some of torch's own are slow.  Importing this registers them, on any machine.

Only an Arm processor runs them (``machine="aarch64"``).  A kernel is here if a whole network gains from it.  What it does not
speed up, it hands to the family's general kernel.  The families know nothing of this folder.
"""

from headrace.ops.arm import convolution, elementwise, matmul

__all__ = ["convolution", "elementwise", "matmul"]
