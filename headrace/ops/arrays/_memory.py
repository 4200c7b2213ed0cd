"""Keeps the memory of arrays within the process.

glibc's malloc gives pieces of 128 KiB and more back to the system, and the top of its heap likewise, so that each step would
fetch its memory anew, page by page: 45 microseconds for 192 KiB (measured), of which writing it is 6.  Once a larger piece has
come back it keeps everything up to that size, as after any step on large arrays.  Torch has its own allocator.
"""

import numpy as np

_KEPT = 1 << 24  # bytes; never written, so never fetched


def keep() -> None:
    """Hands a large piece back."""
    np.empty(_KEPT, np.uint8)


keep()
