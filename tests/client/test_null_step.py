"""What a step takes beside its nodes."""

from itertools import count

import headrace as tf
from headrace.client.null_step import null_step


def test_a_step_is_run_and_timed_by_the_clock_that_is_given():
    ticks = count()
    assert null_step(tf.Session, lambda: float(next(ticks))) == 1.0  # from one look at the clock to the next
    assert next(ticks) >= 4
