"""tf.data.experimental.service: datasets that tasks of a job compute for others."""

from headrace.library.data.service import distribute as distribute
