"""tf.train.queue_runner: threads that keep queues filled."""

from headrace.library.train.queue_runner import QueueRunner as QueueRunner
from headrace.library.train.queue_runner import add_queue_runner as add_queue_runner
from headrace.library.train.queue_runner import start_queue_runners as start_queue_runners
