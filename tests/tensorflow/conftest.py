"""The old tests import TensorFlow: they run in a process of their own (test_old_tests.py)."""

collect_ignore = ["old_tests"]
