"""tf.contrib.tfprof: the profiler's first form."""

from headrace.contrib.tfprof import model_analyzer as model_analyzer
