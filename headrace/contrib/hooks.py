"""tf.contrib.hooks: the profiler, which `tf.train` has too."""

from headrace.library.train.hook.profiler import ProfilerHook as ProfilerHook
