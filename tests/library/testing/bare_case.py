"""A test case without tests of its own."""

import headrace as tf


class Case(tf.test.TestCase):
    def runTest(self) -> None:
        """A case to call assertions of."""
