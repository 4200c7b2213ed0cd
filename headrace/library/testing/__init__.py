"""What tests use: ``tf.test``, gradient and op checks, the profiler."""
