"""slim.prefetch_queue: a queue of batches."""

from headrace.library.contrib.slim.prefetch_queue import prefetch_queue as prefetch_queue
