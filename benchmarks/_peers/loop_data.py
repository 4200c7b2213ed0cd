"""The sizes and numbers of the loops of `control_flow`, the same for every framework."""

import functools
import os
import time

import numpy as np

EMPTY = 1000  # iterations
SCAN, ROW = 200, 8
STEPS, BATCH, UNITS = 50, 16, 128
ITERATIONS = {"empty loop": EMPTY, "scan": SCAN, "scan, gradient": SCAN}  # of the others: STEPS

CLOCK = "HEADRACE_BENCH_CLOCK"  # the variable that tells the workers which
CLOCKS = {"elapsed": time.perf_counter, "processor": time.process_time}
clock = CLOCKS[os.environ.get(CLOCK, "elapsed")]


@functools.cache
def array(name, *shape, scale=1.0):
    """Numbers that depend on the name only."""
    seed = sum(name.encode())
    return (np.random.RandomState(seed).standard_normal(shape) * scale).astype(np.float32)


def rows():
    return array("rows", SCAN, ROW)


def inputs():
    return array("inputs", STEPS, BATCH, UNITS)


def kernel():
    return array("kernel", 2 * UNITS, 4 * UNITS, scale=0.08)


def bias():
    return array("bias", 4 * UNITS, scale=0.1)
