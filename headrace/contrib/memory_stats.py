"""tf.contrib.memory_stats."""

from headrace.library.contrib.memory_stats import BytesInUse as BytesInUse
from headrace.library.contrib.memory_stats import BytesLimit as BytesLimit
from headrace.library.contrib.memory_stats import MaxBytesInUse as MaxBytesInUse
