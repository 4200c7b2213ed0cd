"""slim.queues: the threads that fill queues, while a block runs."""

from headrace.library.contrib.slim.prefetch_queue import NestedQueueRunnerError as NestedQueueRunnerError
from headrace.library.contrib.slim.prefetch_queue import QueueRunners as QueueRunners
