"""The version a program sees (``tf.version``): that of the TensorFlow whose interface this is.

Programs decide by ``tf.__version__`` which names to use, so it says 1.15.  Headrace's own version is HEADRACE_VERSION.
"""

from __future__ import annotations

from headrace.core.version import HEADRACE_VERSION as HEADRACE_VERSION

VERSION = "1.15.5"
GIT_VERSION = f"headrace-{HEADRACE_VERSION}"
COMPILER_VERSION = "none: kernels are PyTorch's"
GRAPH_DEF_VERSION = 134
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
CXX11_ABI_FLAG = 1
MONOLITHIC_BUILD = 0
