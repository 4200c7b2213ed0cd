"""tf.queue."""

from headrace.library.queue.base import QueueBase as QueueBase
from headrace.library.queue.kinds import FIFOQueue as FIFOQueue
from headrace.library.queue.kinds import PaddingFIFOQueue as PaddingFIFOQueue
from headrace.library.queue.kinds import PriorityQueue as PriorityQueue
from headrace.library.queue.kinds import RandomShuffleQueue as RandomShuffleQueue
