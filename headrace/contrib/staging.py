"""tf.contrib.staging."""

from headrace.library.queue.staging import StagingArea as StagingArea
